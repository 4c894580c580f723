"""Streams: the directory, and one followed."""

from __future__ import annotations

import re
import uuid

import httpx
import pytest
from playwright.sync_api import expect
from support.pages import opened, show
from support.running import RunningBroker
from support.running_tracker import RunningTracker

pytestmark = pytest.mark.xdist_group("browser")


def publish(broker, body):
    """One item to the stream `events`."""
    item = {"Event-Id": str(uuid.uuid4()), "Source-Id": "sensor-1", "Syntax": "text/plain", "Body": body}
    httpx.post(f"{broker.streams}/events/publish", json=item).raise_for_status()


def test_a_stream_is_followed(browser, broker):
    """Its items come as they are published, with their rate."""
    with opened(browser, broker.http, "streams") as page:
        expect(page.get_by_role("row", name=re.compile("events publish"))).to_be_visible()
        page.get_by_role("button", name="Follow events").click()
        expect(page.locator("#stream-state")).to_have_text("following events")
        for number in range(3):
            publish(broker, f"<b>item {number}</b>")
        items = page.locator("#panel-streams .grid tbody tr:not(.gap)")
        expect(items).to_have_count(3)
        expect(items.first).to_contain_text("<b>item 2</b>")
        expect(page.locator("#stream-rate")).to_contain_text("0.3 items a second")
        expect(page.locator("#panel-streams svg.chart")).to_be_visible()
        page.get_by_role("button", name="Stop", exact=True).click()
        expect(page.locator("#stream-state")).to_have_text("stopped")
        page.get_by_role("button", name="Look again").click()
        expect(page.get_by_role("row", name=re.compile("events publish .* 3 .* 1 Follow"))).to_be_visible()


@pytest.fixture
def carried():
    """A broker that has a stream with others, and its tracker."""
    tracker = RunningTracker.start()
    settings = (f"relay.trackers={tracker.http}", "relay.port=0", "streams.a-b.overlay=true")
    broker = RunningBroker.start(*(part for each in settings for part in ("--set", each)))
    yield broker, tracker
    assert broker.stop() == tracker.stop() == 0


def test_the_overlay_of_a_stream_is_shown_by_its_tracker(browser, carried):
    """In a tab of its own, which knows nothing of this one; only streams that have an overlay link to it."""
    broker, tracker = carried
    with opened(browser, broker.http, "streams") as page:
        link = page.get_by_role("link", name="Overlay of a-b")
        expect(link).to_be_visible()
        expect(page.locator("#panel-streams table a")).to_have_count(1)
        assert link.get_attribute("rel") == "noopener noreferrer"
        with page.context.expect_page() as other:
            link.click()
        expect(other.value).to_have_url(f"{tracker.http}/#a-b")
        assert other.value.evaluate("opener") is None


def test_a_link_to_no_page_is_not_shown(browser, broker):
    """Whatever the directory says."""
    shown = []

    def tampered(route):
        answer = route.fetch()
        document = answer.json()
        document["dcat:dataset"][0]["tw:tracker"] = [{"@id": "javascript:alert(1)"}]
        route.fulfill(response=answer, json=document)
        shown.append(document)

    with opened(browser, broker.http, "query") as page:
        page.route("**/streams", tampered)
        show(page, "Streams")
        expect(page.get_by_role("row", name=re.compile("events publish"))).to_be_visible()
        expect(page.locator("#panel-streams table a")).to_have_count(0)
        assert shown


def test_the_policy_lets_it_to_no_other_port(browser, broker, fresh_broker):
    """Of the same host: what answers there is another's."""
    tried = """async url => {
        const told = new Promise(resolve => {
            document.addEventListener("securitypolicyviolation", event => resolve(event.effectiveDirective), { once: true });
        });
        return { failed: await fetch(url).then(() => false, () => true), by: await told };
    }"""
    refused = ("Connecting to", "Fetch API cannot load", "Refused to connect")
    with opened(browser, broker.http, "streams", expected=refused) as page:
        for other in (fresh_broker.http, fresh_broker.streams):
            assert page.evaluate(tried, f"{other}/streams") == {"failed": True, "by": "connect-src"}
        assert page.evaluate("url => fetch(url).then(answer => answer.ok)", f"{broker.streams}/streams")


def test_by_another_name_of_the_host_streams_are_followed_too(browser, broker):
    """The stream port is where the settings have it, whatever name the page was opened by."""
    with opened(
        browser, broker.http.replace("127.0.0.1", "localhost"), "streams", expected=("http",)
    ) as page:
        page.get_by_role("button", name="Follow events").click()
        expect(page.locator("#stream-state")).to_have_text("following events")
