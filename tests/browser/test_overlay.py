"""The tracker's page in Chromium: the picture of an overlay, what it follows, who can use it.

What it looks like is kept in build/screenshots.
"""

from __future__ import annotations

import re
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import expect
from support.aws_delays import REGIONS
from support.npm import installed
from support.pages import opened
from support.running_tracker import FakeNodes, RunningTracker
from support.secured import SecuredBroker

from triplewire.gates.relay.paths import fastest
from triplewire.gates.relay.tracker_page import overlay_assets

pytestmark = pytest.mark.xdist_group("browser")
HERE = Path(__file__).parent
SCREENSHOTS = HERE.parents[1] / "build" / "screenshots"
PATIENT = (
    "tracker.heartbeat_s=60",
    "tracker.silent_s=600",
    "tracker.collect_s=0",
    "tracker.statuses_per_s=1000",
    "tracker.improve_s=0",
)
BOUNDS = (2, 10, 30, 60, 100)
VIEW = {"width": 1240, "height": 920}
SOON_MS = 15_000  # for what is read every two seconds, on a busy machine
NODES = "svg.overlay g.node"
LINKS = "svg.overlay path.link"


def started(*settings):
    return RunningTracker.start(*(part for setting in (*PATIENT, *settings) for part in ("--set", setting)))


@pytest.fixture(scope="module")
def axe():
    """The source of axe-core."""
    return (installed("axe", HERE / "axe") / "node_modules" / "axe-core" / "axe.min.js").read_text(
        encoding="utf-8"
    )


@pytest.fixture(scope="module")
def tracker():
    """One tracker for the module; each test has a stream of its own."""
    running = started()
    yield running
    assert running.stop() == 0


@pytest.fixture(scope="module")
def world(tracker):
    """Thirty-two nodes of a stream, two in each region."""
    with FakeNodes(tracker.http, "traffic", 32) as nodes:
        nodes.settle()
        yield nodes


def barriers(page, axe):
    """What is serious or critical, with where it is."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(axe)
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    return [
        (one["id"], one["help"], [node["target"] for node in one["nodes"]])
        for one in found["violations"]
        if one["impact"] in {"serious", "critical"}
    ]


def bands(page):
    """How many links have which color."""
    classes = page.eval_on_selector_all(LINKS, "all => all.map(one => one.getAttribute('class'))")
    return [sum(f"b{number}" in one.split() for one in classes) for number in range(len(BOUNDS) + 1)]


def told(tracker, stream):
    """The overlay as the tracker tells it."""
    return httpx.get(f"{tracker.http}/topology/{stream}").raise_for_status().json()


def test_the_picture_is_the_trackers(browser, tracker, world):
    """A node for each, a line for each link, in the color of its delay; regions side by side, figures beside it."""
    overlay = told(tracker, "traffic")
    pairs = {
        frozenset((one, other)): ms
        for one, node in overlay["nodes"].items()
        for other, ms in node["neighbours"].items()
    }
    expected = [0] * (len(BOUNDS) + 1)
    for ms in pairs.values():
        expected[sum(ms > bound for bound in BOUNDS)] += 1
    with opened(browser, tracker.http, "traffic", viewport=VIEW) as page:
        expect(page.locator(NODES)).to_have_count(32, timeout=SOON_MS)
        expect(page.locator(LINKS)).to_have_count(len(pairs))
        assert bands(page) == expected
        assert sum(map(bool, expected)) >= 4, "a world of one color would prove nothing"
        expect(page.locator("svg.overlay .arcs text")).to_have_count(16)
        for region in REGIONS:
            expect(page.locator("svg.overlay .arcs text", has_text=region)).to_be_visible()
        cards = page.locator(".cards div")
        expect(cards.filter(has_text="Nodes")).to_have_text("Nodes32")
        expect(cards.filter(has_text="Links")).to_have_text(f"Links{len(pairs)}")
        expect(cards.filter(has_text="Mean delay")).to_have_text(re.compile(r"Mean delay\d+ ms"))
        expect(page.locator(f"{NODES}.publishes")).to_have_count(1)


def test_a_node_is_looked_at(browser, tracker, world):
    """By pointing at it and by keys: its links stand out, and what is known of it is said beside the picture."""
    neighbours = told(tracker, "traffic")["nodes"]["eu-west-1-a"]["neighbours"]
    with opened(browser, tracker.http, "traffic", viewport=VIEW) as page:
        node = page.locator(f'{NODES}[aria-label^="eu-west-1-a,"]')
        node.hover()
        side = page.get_by_role("region", name="The node that is looked at")
        expect(side.get_by_role("heading", name="eu-west-1-a")).to_be_visible()
        expect(page.locator(f"{LINKS}.on")).to_have_count(len(neighbours))
        expect(side.get_by_role("listitem")).to_have_count(len(neighbours))
        for name in neighbours:
            expect(side).to_contain_text(name)
        expect(side).to_contain_text(re.compile(r"Mean to all others\d+ ms"))
        page.mouse.move(0, 0)
        expect(page.locator(f"{LINKS}.on")).to_have_count(0)
        first = page.locator(f'{NODES}[tabindex="0"]')
        expect(first).to_have_count(1)
        first.focus()
        name = first.get_attribute("aria-label")
        page.keyboard.press("ArrowRight")
        focused = page.locator(f"{NODES}:focus")
        expect(focused).not_to_have_attribute("aria-label", name)
        page.keyboard.press("Enter")
        expect(focused).to_have_attribute("aria-pressed", "true")
        page.get_by_label("Stream").focus()
        expect(page.locator(f"{NODES}.on")).to_have_count(1)
        page.locator(f'{NODES}[tabindex="0"]').focus()
        page.keyboard.press("Escape")
        expect(page.locator(f'{NODES}[aria-pressed="true"]')).to_have_count(0)


def test_the_table_says_the_same(browser, tracker, world):
    """For those who can't see a picture."""
    overlay = told(tracker, "traffic")["nodes"]
    with opened(browser, tracker.http, "traffic", viewport=VIEW) as page:
        page.get_by_text("The same as a table").click()
        table = page.get_by_role("table", name="Nodes")
        expect(table).to_have_attribute("aria-rowcount", "33")
        row = table.get_by_role("row").filter(
            has=page.get_by_role("cell", name="ap-northeast-1-a", exact=True)
        )
        for name in overlay["ap-northeast-1-a"]["neighbours"]:
            expect(row).to_contain_text(name)


def test_the_picture_follows(browser, tracker):
    """Nodes that come and go, without a reload; the focus stays where it is."""
    with FakeNodes(tracker.http, "following", 8, letters="x") as nodes:
        nodes.settle()
        with opened(browser, tracker.http, "following", viewport=VIEW) as page:
            expect(page.locator(NODES)).to_have_count(8, timeout=SOON_MS)
            kept, gone = (
                page.locator(f'{NODES}[aria-label^="{name},"]') for name in ("us-east-1-x", "eu-west-1-x")
            )
            kept.focus()
            page.keyboard.press("Enter")
            nodes.leave("eu-west-1-x")
            expect(gone).to_have_count(0, timeout=SOON_MS)
            expect(page.locator(NODES)).to_have_count(7)
            expect(page.locator("svg.overlay .arcs text", has_text="eu-west-1")).to_have_count(0)
            expect(page.locator(LINKS)).to_have_count(
                sum(map(len, nodes.links().values())) // 2, timeout=SOON_MS
            )
            expect(kept).to_be_focused()
            expect(kept).to_have_attribute("aria-pressed", "true")
            expect(page.locator("#live")).to_have_text("following: 7 nodes")


def test_the_streams_of_a_tracker(browser, tracker, world):
    """Another one is chosen; its name stands in the address."""
    with FakeNodes(tracker.http, "another", 3, letters="y") as nodes:
        nodes.settle()
        with opened(browser, tracker.http, viewport=VIEW) as page:
            expect(page.locator(NODES)).not_to_have_count(0)
            page.get_by_label("Stream").select_option("traffic")
            expect(page.locator(NODES)).to_have_count(32, timeout=SOON_MS)
            page.get_by_label("Stream").select_option("another")
            expect(page.locator(NODES)).to_have_count(3, timeout=SOON_MS)
            assert page.url.endswith("#another")


def test_a_tracker_without_streams_says_so(browser):
    """And shows the first as soon as it is there."""
    running = started()
    try:
        with opened(browser, running.http, viewport=VIEW) as page:
            expect(page.locator("#nothing")).to_be_visible()
            expect(page.get_by_label("Stream")).to_be_hidden()
            with FakeNodes(running.http, "first", 1) as nodes:
                nodes.settle()
            expect(page.locator(NODES)).to_have_count(1, timeout=SOON_MS)
            expect(page.locator("#nothing")).to_be_hidden()
    finally:
        assert running.stop() == 0


def test_it_says_when_the_tracker_waits_for_what_relays_have(browser, tracker, world):
    """There are no links to show then, and no delays; which is not to say that these are 0."""
    running = started("tracker.collect_s=3600")
    try:
        with (
            FakeNodes(running.http, "young", 3) as nodes,
            opened(browser, running.http, viewport=VIEW) as page,
        ):
            nodes.settle()
            expect(page.locator(NODES)).to_have_count(3, timeout=SOON_MS)
            expect(page.locator("#waiting")).to_be_visible()
            expect(page.locator(".cards div").filter(has_text="Mean delay")).to_have_text("Mean delay\u2013")
    finally:
        assert running.stop() == 0
    with opened(browser, tracker.http, "traffic", viewport=VIEW) as page:
        expect(page.locator(NODES)).to_have_count(32, timeout=SOON_MS)
        expect(page.locator("#waiting")).to_be_hidden()


def test_a_closed_tracker_wants_a_token(browser, tmp_path):
    """Which stays in this page; what its client may not see is not there, and without it nothing is."""
    issuer = "https://broker.example:8443"
    permissions = '[clients.relay]\nscopes = ["subscribe"]\n[clients.reader]\nscopes = ["subscribe"]\nfollow = ["seen"]\n'
    with SecuredBroker(tmp_path, f"security.issuer={issuer}", permissions=permissions) as broker:
        running = started(
            "security.enabled=true",
            f"security.provider={issuer}",
            f"security.provider_jwks={broker.running.https}/oauth/jwks",
            f"security.provider_ca={broker.authority.ca}",
            f"security.permissions={broker.permissions}",
        )
        headers = broker.headers("relay")
        try:
            with ExitStack() as stack:
                for stream, letters in (("seen", "v"), ("secret", "w")):
                    stack.enter_context(
                        FakeNodes(running.http, stream, 4, letters=letters, headers=headers)
                    ).settle()
                refused = "Failed to load resource"
                page = stack.enter_context(opened(browser, running.http, viewport=VIEW, expected=(refused,)))
                form = page.get_by_role("form", name="Token")
                expect(form).to_be_visible()
                expect(page.locator("#state")).to_contain_text("no token")
                expect(page.locator(NODES)).to_have_count(0)
                form.get_by_label("Token").fill("no token at all")
                form.get_by_role("button", name="Use it").click()
                expect(form).to_contain_text("no bearer token")
                form.get_by_label("Token").fill(broker.token("reader"))
                form.get_by_role("button", name="Use it").click()
                expect(page.locator(NODES)).to_have_count(4, timeout=SOON_MS)
                expect(page.get_by_label("Stream").locator("option")).to_have_text(["seen"])
                assert (
                    page.evaluate("Object.keys(localStorage).length + Object.keys(sessionStorage).length")
                    == 0
                )
                assert page.context.cookies() == []
                form.get_by_role("button", name="Forget it").click()
                expect(page.locator("svg.overlay")).to_be_hidden()
        finally:
            assert running.stop() == 0


def test_it_reads_only_while_it_is_seen(browser, tracker, world):
    """A page in the background asks for nothing."""
    with opened(browser, tracker.http, "traffic", viewport=VIEW) as page:
        expect(page.locator(NODES)).to_have_count(32, timeout=SOON_MS)
        asked = []
        page.on("request", lambda request: asked.append(request.url))
        page.evaluate(
            "Object.defineProperty(document, 'hidden', { get: () => window.away, configurable: true }); window.away = true"
        )
        page.wait_for_timeout(2200)  # what was under way
        asked.clear()
        page.wait_for_timeout(2500)
        assert asked == []
        page.evaluate("window.away = false; document.dispatchEvent(new Event('visibilitychange'))")
        page.wait_for_timeout(500)
        assert f"{tracker.http}/topology/traffic" in asked


def test_many_nodes_are_their_regions(browser, tracker, call):
    """Of more than 256 each circle is a region; lines are all links between two, of their mean delay."""
    graph = call(
        "overlay_graph",
        "it.graphOf(arguments[0], 3)",
        {
            "nodes": {
                "a": {"region": "x", "consumers": 1, "neighbours": {"c": 10, "b": 0.1}},
                "b": {"region": "x", "consumers": 2, "neighbours": {"d": 30, "a": 0.1}},
                "c": {"region": "y", "consumers": 4, "neighbours": {"a": 10, "d": 0.1}},
                "d": {"region": "y", "consumers": 8, "neighbours": {"b": 30, "c": 0.1, "gone": 5, "d": 1}},
            }
        },
    )
    assert graph["bundled"] is True
    assert graph["total"] == {"nodes": 4, "links": 4, "consumers": 15}
    assert [(node["id"], node["count"], node["consumers"]) for node in graph["nodes"]] == [
        ("x", 2, 3),
        ("y", 2, 12),
    ]
    assert [(link["from"], link["to"], link["count"], link["ms"]) for link in graph["links"]] == [
        ("x", "y", 2, 20)
    ]


def test_the_smallest_of_many_regions_are_one(browser, tracker, call):
    """Regions are what nodes say: a picture of thousands would never be done.  No node, consumer or link is left out."""
    told = {
        "nodes": {
            f"n{number}": {
                "region": f"r{min(number, 2000 - number):04}" if number < 1990 else "large",
                "consumers": 1,
                "neighbours": {f"n{(number + 1) % 2000}": 5},
            }
            for number in range(2000)
        }
    }
    ring = f"(await import('{overlay_assets().base}/overlay_ring.js'))"
    found = call(
        "overlay_graph",
        f"""await (async graph => {{
          const began = performance.now();
          {ring}.ordered(graph.nodes, graph.links);
          return [graph.nodes.map(node => [node.region, node.count]), graph.total, performance.now() - began];
        }})(it.graphOf(arguments[0]))""",
        told,
    )
    counts, total, took_ms = dict(found[0]), found[1], found[2]
    assert len(found[0]) == 256
    assert sum(counts.values()) == 2000 == total["consumers"]
    assert counts["large"] == 10
    assert counts["other regions"] >= 1000
    assert took_ms < 3000


@pytest.fixture(scope="module")
def call(browser, tracker):
    """Call a function of a module."""
    with opened(browser, tracker.http) as page:

        def called(module, expression, *arguments):
            return page.evaluate(
                f"async arguments => {{ const it = await import('{overlay_assets().base}/{module}.js'); return ({expression}) }}",
                list(arguments),
            )

        yield called


def test_delays_to_all_are_those_of_the_tracker(call, tracker, world):
    """The page's fastest ways are Dijkstra's, as the tracker's own are; here without what a hop costs."""
    overlay = told(tracker, "traffic")
    nodes = overlay["nodes"]
    for source in ("eu-west-1-a", "sa-east-1-b"):
        routes = fastest(
            lambda node: nodes[node]["neighbours"], lambda a, b: nodes[a]["neighbours"][b], source
        )
        others = [route.delay_ms for node, route in routes.items() if node != source]
        mean = call("overlay_graph", "it.meanTo(it.graphOf(arguments[0]), arguments[1])", overlay, source)
        assert mean == pytest.approx(sum(others) / len(others))


def test_the_order_of_regions_is_kept(call, tracker, world):
    """While they are the same; and it is the same for the same overlay, in whatever order it is told."""
    overlay = told(tracker, "traffic")
    nodes = overlay["nodes"]
    turned = overlay | {"nodes": dict(reversed(nodes.items()))}
    order = "(graph => it.ordered(graph.nodes, graph.links))((await import('./overlay_graph.js')).graphOf(arguments[0]))"
    order = order.replace("./", f"{overlay_assets().base}/")
    found = call("overlay_ring", order, overlay)
    assert sorted(found) == sorted(REGIONS)
    assert call("overlay_ring", order, turned) == found
    kept = call(
        "overlay_ring", "it.ordered([{ region: 'a', id: 1 }, { region: 'b', id: 2 }], [], ['b', 'a'])"
    )
    assert kept == ["b", "a"]


def test_regions_that_are_near_are_side_by_side(call):
    """Of places on a line, in whatever order they come, neighbours stay neighbours."""
    places = {"h": 0, "c": 10, "f": 25, "a": 31, "e": 60, "b": 64, "g": 90, "d": 95}
    nodes = [{"id": name, "region": name} for name in places]
    links = [
        {"from": one, "to": other, "ms": abs(places[one] - places[other])}
        for one in places
        for other in places
        if one < other
    ]
    found = call("overlay_ring", "it.ordered(arguments[0], arguments[1])", nodes, links)
    length = sum(
        abs(places[one] - places[other]) for one, other in zip(found, [*found[1:], found[0]], strict=True)
    )
    assert length == 2 * 95, "there and back again, which no ring beats"


@pytest.mark.parametrize(("regions", "count"), [(3, 6), (16, 32), (40, 120), (16, 300), (1, 1)])
def test_all_names_are_within_the_picture(call, regions, count):
    """However many regions there are, and however long their names."""
    told = {
        "nodes": {
            f"n{n}": {"region": f"WWWW-of-WWWWW-{n % regions:02}", "neighbours": {}} for n in range(count)
        }
    }
    graph = f"(await import('{overlay_assets().base}/overlay_graph.js')).graphOf(arguments[0])"
    outside = call(
        "overlay_picture",
        f"""(graph => {{
          const picture = new it.Picture(() => {{}});
          document.querySelector("main").prepend(picture.element);
          picture.show(graph);
          const box = picture.element.viewBox.baseVal;
          const outside = [...picture.element.querySelectorAll("text")].map(text => text.getBoundingClientRect());
          const frame = picture.element.getBoundingClientRect();
          picture.element.remove();
          return [box.width > 0, outside.length, outside.filter(name => name.left < frame.left - 1 || name.right > frame.right + 1
            || name.top < frame.top - 1 || name.bottom > frame.bottom + 1).length];
        }})({graph})""",
        told,
    )
    assert outside == [True, regions, 0]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_page_has_no_serious_barrier(browser, tracker, world, axe, theme):
    """In either theme, with a node chosen and the table open."""
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    with opened(browser, tracker.http, "traffic", color_scheme=theme, viewport=VIEW) as page:
        expect(page.locator(NODES)).to_have_count(32, timeout=SOON_MS)
        page.wait_for_timeout(700)  # what appears has appeared
        page.screenshot(path=SCREENSHOTS / f"overlay-{theme}.png")
        page.locator(f'{NODES}[aria-label^="eu-west-1-a,"]').click()
        page.get_by_text("The same as a table").click()
        page.mouse.move(0, 0)
        page.wait_for_timeout(700)
        assert barriers(page, axe) == []
