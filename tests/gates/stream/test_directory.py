"""What streams there are."""

from __future__ import annotations

import json

import pytest
from pyoxigraph import Literal, NamedNode, RdfFormat, Store
from support.stepped import SteppedLoop, item, stream_of

from triplewire.broker.rights import OPEN, Access, Rights
from triplewire.gates.stream.directory import Directory
from triplewire.gates.stream.history import History

BASE = "http://localhost:8001"
DCAT = "http://www.w3.org/ns/dcat#"


@pytest.fixture
def loop():
    return SteppedLoop()


def feeds_of(loop, *names, **settings):
    config = stream_of(loop, **settings).config
    return {
        name: stream_of(loop, history=History(name, config, loop.wall), source_id=f"id-{name}", **settings)
        for name in names
    }


def catalogue(feeds, loop, access=OPEN, accept="application/ld+json"):
    body, media_type = Directory(feeds, loop.wall).page(BASE, accept, access)
    assert media_type == "application/ld+json"
    return json.loads(body)


def test_it_is_a_dcat_catalogue(loop):
    """That an RDF reader understands without the network: title, ways to it, sensors, rate."""
    feeds = feeds_of(loop, "events", title="What happens")
    feeds["events"].take([item(f"e{number}", source_id=f"s{number % 2}") for number in range(6)], "us")
    store = Store()
    body, _ = Directory(feeds, loop.wall).page(BASE, "*/*", OPEN)
    store.load(body, format=RdfFormat.JSON_LD)
    dataset = NamedNode(f"{BASE}/events")

    def told(predicate):
        return {quad.object for quad in store.quads_for_pattern(dataset, NamedNode(predicate), None)}

    assert NamedNode(f"{DCAT}Dataset") in told("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
    assert told("http://purl.org/dc/terms/title") == {Literal("What happens")}
    assert told("http://purl.org/dc/terms/identifier") == {Literal("id-events")}
    assert told("urn:triplewire:publish") == {NamedNode(f"{BASE}/events/publish")}
    ways = {
        str(row["u"].value)
        for row in store.query(f"SELECT ?u {{ <{BASE}/events> <{DCAT}distribution>/<{DCAT}accessURL> ?u }}")
    }
    over_http = {f"{BASE}/events/{way}" for way in ("stream", "compressed", "long-polling", "priority")}
    assert ways == {*over_http, f"{BASE}/events/stream".replace("http://", "ws://")}
    sensors = store.query(
        "SELECT ?i { ?d <http://www.w3.org/ns/sosa/madeBySensor>/<http://purl.org/dc/terms/identifier> ?i }"
    )
    assert {row["i"].value for row in sensors} == {"s0", "s1"}


def test_rate_and_sources_are_those_of_what_is_kept(loop):
    """The last minute's rate; a hundred sources, and how many more."""
    feeds = feeds_of(loop, "events")
    stream, directory = feeds["events"], Directory(feeds, loop.wall)

    def told():
        return json.loads(directory.page(BASE, "", OPEN)[0])["dcat:dataset"][0]

    assert told()["tw:itemsPerSecond"] == 0
    stream.take([item(f"e{number}", source_id=f"s{number}") for number in range(120)], "us")
    assert told()["tw:itemsPerSecond"] == 0, "what was found out is good for a moment"
    loop.advance(2)
    assert told()["tw:itemsPerSecond"] == 2
    assert (len(told()["sosa:madeBySensor"]), told()["tw:sensorsNotListed"]) == (100, 20)
    assert told()["sosa:madeBySensor"][0]["dct:identifier"] == "s119"
    assert told()["dct:temporal"]["dcat:endDate"] == "2026-01-01T00:00:00Z"
    loop.advance(61)
    assert told()["tw:itemsPerSecond"] == 0


def test_only_the_newest_are_looked_at_for_sources(loop):
    """All are for the rate, however many there are."""
    feeds = feeds_of(loop, "events", history_items=10_000)
    items = [item(f"e{number}", source_id="old" if number < 1000 else "new") for number in range(6000)]
    feeds["events"].take(items, "us")
    (told,) = catalogue(feeds, loop)["dcat:dataset"]
    assert (told["tw:itemsKept"], told["tw:itemsPerSecond"]) == (6000, 100)
    assert [each["dct:identifier"] for each in told["sosa:madeBySensor"]] == ["new"]


def test_where_the_overlay_is_shown(loop):
    """At each tracker's page, of streams that have one."""
    feeds = feeds_of(loop, "a.b", overlay=True) | feeds_of(loop, "c")
    trackers = ("http://t.example:8003", "https://u.example/")
    body, _ = Directory(feeds, loop.wall, trackers).page(BASE, "", OPEN)
    shown, other = json.loads(body)["dcat:dataset"]
    assert shown["tw:tracker"] == [
        {"@id": "http://t.example:8003/#a.b"},
        {"@id": "https://u.example/#a.b"},
    ]
    assert "tw:tracker" not in other
    assert all("tw:tracker" not in each for each in catalogue(feeds, loop)["dcat:dataset"])


def test_only_what_one_may_follow_is_there(loop):
    """The rest is not mentioned."""
    feeds = feeds_of(loop, "a", "b")
    some = Access("x", rights=Rights(follow=frozenset({"b"})))
    assert [each["@id"] for each in catalogue(feeds, loop, some)["dcat:dataset"]] == [f"{BASE}/b"]
    assert catalogue(feeds, loop, Access("x", rights=Rights(follow=frozenset())))["dcat:dataset"] == []


def test_streams_that_come_and_go(loop):
    """It is looked at anew each time."""
    feeds = feeds_of(loop, "a")
    directory = Directory(feeds, loop.wall)
    directory.page(BASE, "", OPEN)
    feeds |= feeds_of(loop, "b")
    del feeds["a"]
    (only,) = json.loads(directory.page(BASE, "", OPEN)[0])["dcat:dataset"]
    assert only["@id"] == f"{BASE}/b"
    assert set(directory._known) == {"b"}


@pytest.mark.parametrize(
    ("accept", "html"),
    [
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", True),
        ("application/ld+json, text/html;q=0.5", False),
        ("application/json", False),
        ("*/*", False),
        ("", False),
    ],
)
def test_browsers_get_a_page(loop, accept, html):
    """By Accept."""
    _, media_type = Directory(feeds_of(loop, "a"), loop.wall).page(BASE, accept, OPEN)
    assert media_type.startswith("text/html") is html


def test_the_page_shows_what_others_wrote_as_text(loop):
    """No markup of a title's or a source's; and the page itself may load and run nothing."""
    feeds = feeds_of(loop, "a", title="<script>alert(1)</script>")
    feeds["a"].take([item("e1", source_id="<img src=x onerror=alert(2)>")], "us")
    page = Directory(feeds, loop.wall).page(BASE, "text/html", OPEN)[0].decode()
    assert "<script" not in page
    assert "<img" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "default-src 'none'" in page
