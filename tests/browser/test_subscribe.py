"""Subscribe: what an update changes glows in another tab."""

from __future__ import annotations

import re

import httpx
import pytest
from playwright.sync_api import expect
from support.pages import opened, show, update, write
from support.running import RunningBroker

pytestmark = pytest.mark.xdist_group("browser")


def follow(page, text):
    """Subscribe, by the page."""
    show(page, "Subscribe")
    write(page, "watch", text)
    page.get_by_role("button", name="Follow", exact=True).click()
    expect(page.locator("#followed-state")).to_have_text("following")


def change(broker, text):
    """Send an update past the page."""
    httpx.post(
        f"{broker.http}/update", content=text, headers={"Content-Type": "application/sparql-update"}
    ).raise_for_status()


def test_an_update_in_one_tab_glows_in_another(browser, broker):
    """Added rows glow, removed ones fade; then the bag is what the answer is."""
    with opened(browser, broker.http) as one, opened(browser, broker.http) as other:
        follow(other, "SELECT ?value { <urn:glow> <urn:p> ?value }")
        expect(other.locator("#followed-explained")).to_have_text(
            "Followed by: one pattern, no query needed; shared by all that differ in <urn:glow>."
        )
        update(one, "INSERT DATA { <urn:glow> <urn:p> 21.5 }")
        expect(one.locator("#updated")).to_contain_text("1 notifications")
        expect(other.locator("tr.added")).to_contain_text("21.5")
        expect(other.locator("#live")).to_contain_text("1 row added")
        expect(other.locator("tr.added")).to_have_count(0)
        update(one, "DELETE DATA { <urn:glow> <urn:p> 21.5 } ; INSERT DATA { <urn:glow> <urn:p> 22.5 }")
        expect(other.locator("tr.removed")).to_contain_text("21.5")
        expect(other.locator("tr.removed")).to_have_count(0)
        assert other.locator("#panel-subscribe .grid td:not([colspan])").all_text_contents() == ["22.5"]
        expect(other.locator("#followed-size")).to_have_text("1 row")
        expect(other.locator("#panel-subscribe .log")).to_contain_text("+1 \u22121")
        assert (
            other.locator("#panel-subscribe .timeline")
            .get_attribute("aria-label")
            .endswith("2 rows added, 1 removed")
        )


def test_numbers_are_drawn_as_they_come(browser, broker):
    """One point for each value."""
    with opened(browser, broker.http) as page:
        follow(page, "SELECT ?room ?value { ?room <urn:drawn> ?value }")
        for value in (1, 2, 3):
            change(
                broker,
                f"DELETE WHERE {{ <urn:a> <urn:drawn> ?o }} ; INSERT DATA {{ <urn:a> <urn:drawn> {value} }}",
            )
        expect(page.locator("#followed-chart circle")).to_have_count(3)
        expect(page.locator("#followed-chart svg")).to_have_attribute(
            "aria-label", re.compile("values from 1 to 3")
        )


def test_a_pause_stops_the_display_and_loses_nothing(browser, broker):
    """What came meanwhile is there afterwards."""
    with opened(browser, broker.http) as page:
        follow(page, "SELECT ?o { <urn:paused> <urn:p> ?o }")
        pause = page.get_by_role("button", name="Pause")
        pause.click()
        change(broker, "INSERT DATA { <urn:paused> <urn:p> 'meanwhile' }")
        expect(page.locator("#followed-size")).to_have_text("1 row")
        expect(page.locator("#panel-subscribe .grid")).not_to_contain_text("meanwhile")
        pause.click()
        expect(page.locator("#panel-subscribe .grid")).to_contain_text("meanwhile")


def test_what_is_no_query_is_told(browser, broker):
    """And it can be corrected."""
    with opened(browser, broker.http, "subscribe") as page:
        write(page, "watch", "SELECT oops")
        page.get_by_role("button", name="Follow", exact=True).click()
        expect(page.locator("#followed-state.bad")).to_contain_text("Parsing failed")
        follow(page, "SELECT * { ?s <urn:corrected> ?o }")
        page.get_by_role("button", name="Stop", exact=True).click()
        expect(page.locator("#followed-state")).to_have_text("stopped")


def test_a_lost_connection_is_made_again(browser, tmp_path):
    """The broker was away: the page says so, comes back by itself, and shows what is so now."""
    running = RunningBroker.start("--data", str(tmp_path), memory=False)
    port = running.http.rpartition(":")[2]
    with opened(browser, running.http, expected=("Failed to load resource", "WebSocket connection")) as page:
        follow(page, "SELECT ?o { <urn:back> <urn:p> ?o }")
        change(running, "INSERT DATA { <urn:back> <urn:p> 'before' }")
        expect(page.locator("#panel-subscribe .grid")).to_contain_text("before")
        running.stop()
        expect(page.locator("#followed-state.bad")).to_contain_text("trying again")
        again = RunningBroker.start("--data", str(tmp_path), "--set", f"http.port={port}", memory=False)
        try:
            expect(page.locator("#followed-state")).to_have_text("following")
            change(again, "INSERT DATA { <urn:back> <urn:p> 'after' }")
            expect(page.locator("#followed-size")).to_have_text("2 rows")
        finally:
            again.stop()
