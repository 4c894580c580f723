"""Operations: what the broker says of itself."""

from __future__ import annotations

import re

import httpx
import pytest
from playwright.sync_api import expect
from support.pages import opened, show, write

pytestmark = pytest.mark.xdist_group("browser")


def test_the_figures_are_the_brokers(browser, fresh_broker):
    """Cards, the rate of updates, their latency, the queries that stand by kind."""
    with opened(browser, fresh_broker.http, "subscribe") as page:
        write(page, "watch", "SELECT * { ?s <urn:operations> ?o }")
        page.get_by_role("button", name="Follow", exact=True).click()
        expect(page.locator("#followed-state")).to_have_text("following")
        for number in range(5):
            update = f"INSERT DATA {{ <urn:s> <urn:operations> {number} }}"
            httpx.post(f"{fresh_broker.http}/update", data={"update": update}).raise_for_status()
        show(page, "Operations")
        cards = page.locator(".cards div")
        expect(cards.filter(has_text="Subscriptions").first).to_have_text("Subscriptions1")
        expect(cards.filter(has_text="Quads")).to_have_text("Quads5")
        expect(page.get_by_role("img", name=re.compile("Latency of updates: .* within"))).to_be_visible()
        expect(page.get_by_role("img", name=re.compile("Updates a second: 1 series"))).to_be_visible()
        expect(page.locator("#units")).to_contain_text("urn:operations")
        kinds = page.get_by_role("table", name="Subscriptions by kind")
        expect(kinds.get_by_role("row").nth(1)).to_have_text("1joinedselect")


def test_rates_are_of_what_happens_now(browser, fresh_broker):
    """Updates between two readings are seen in the rate and the quantiles."""
    with opened(browser, fresh_broker.http, "operations") as page:
        rate = page.locator(".cards dd").first
        expect(rate).to_have_text("0 /s")
        expect(page.locator("#quantiles")).to_contain_text("p50 \u2013")
        for number in range(20):
            update = f"INSERT DATA {{ <urn:s> <urn:p> {number} }}"
            httpx.post(f"{fresh_broker.http}/update", data={"update": update}).raise_for_status()
        expect(rate).to_have_text(re.compile(r"^[1-9][0-9.]* /s$"))
        expect(page.locator("#quantiles")).to_have_text(re.compile(r"p50 [0-9.]+ ms, p99 [0-9.]+ m?s"))
