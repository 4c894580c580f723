"""axe-core finds no barrier in any tab, in either theme; what the tabs look like is kept in build/screenshots."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from playwright.sync_api import expect
from support.npm import installed
from support.pages import opened, show, write
from support.secured import SecuredBroker

pytestmark = pytest.mark.xdist_group("browser")
HERE = Path(__file__).parent
SCREENSHOTS = HERE.parents[1] / "build" / "screenshots"
PREFIXES = "PREFIX ex: <http://example.org/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>"
ROOMS = {
    "kitchen": (21.5, 22.4, 23.9, 22.8),
    "cellar": (12.1, 12.0, 12.3, 12.2),
    "attic": (26.0, 27.5, 29.1, 28.4),
}


@pytest.fixture(scope="session")
def axe():
    """The source of axe-core."""
    return (installed("axe", HERE / "axe") / "node_modules" / "axe-core" / "axe.min.js").read_text(
        encoding="utf-8"
    )


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


def change(broker, text):
    """Send an update past the page."""
    httpx.post(f"{broker.http}/update", data={"update": f"{PREFIXES} {text}"}).raise_for_status()


def observations():
    """Some hours of some rooms."""
    return (
        "INSERT DATA { "
        + " ".join(
            f"[] ex:room ex:{room} ; ex:at '2026-05-01T{6 + 3 * number:02}:00:00Z'^^xsd:dateTime ; ex:value {value} ."
            for room, values in ROOMS.items()
            for number, value in enumerate(values)
        )
        + " }"
    )


def use_query(page, broker):
    """A table and a drawing."""
    write(
        page,
        "query",
        f"{PREFIXES}\nSELECT ?room ?at ?value\nWHERE {{ ?o ex:room ?room ; ex:at ?at ; ex:value ?value }}\nORDER BY ?at",
    )
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.locator("#asked")).to_contain_text("12 rows")


def use_update(page, broker):
    """Something sent."""
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.locator("#updated")).to_contain_text("notifications")


def use_subscribe(page, broker):
    """Rows that glow."""
    write(page, "watch", "PREFIX ex: <http://example.org/>\nSELECT ?room ?now\nWHERE { ?room ex:now ?now }")
    page.get_by_role("button", name="Follow", exact=True).click()
    expect(page.locator("#followed-state")).to_have_text("following")
    for number in range(4):
        for room, values in ROOMS.items():
            change(
                broker,
                f"DELETE WHERE {{ ex:{room} ex:now ?o }} ; INSERT DATA {{ ex:{room} ex:now {values[number]} }}",
            )
    expect(page.locator("#followed-size")).to_have_text("3 rows")
    expect(page.locator("#followed-chart circle")).to_have_count(12)


def use_jsap(page, broker):
    """Forms of the profile that comes with the broker."""
    page.get_by_label("Profile (.jsap)").set_input_files(HERE.parents[1] / "conf" / "chat" / "chat.jsap")
    page.get_by_role("form", name="Query USERS").get_by_role("button", name="Follow").click()
    expect(page.locator("#jsap-state")).to_have_text("following")
    form = page.get_by_role("form", name="Update REGISTER_USER")
    for name in ("Ann", "Bob"):
        form.get_by_label("userName").fill(name)
        form.get_by_role("button", name="Send").click()
        expect(page.locator("#panel-jsap .grid", has_text=name)).to_be_visible()


def drawn(page, tab, count):
    """So many points at least are in the tab's drawing."""
    if count:
        expect(page.locator(f"#panel-{tab} figure circle").nth(count - 1)).to_be_visible()


def use_streams(page, broker):
    """One followed."""
    page.get_by_role("button", name="Follow events").click()
    expect(page.locator("#stream-state")).to_have_text("following events")
    sent = 0
    for seconds, count in enumerate((2, 3, 1)):
        drawn(page, "streams", seconds)
        items = [
            {
                "Event-Id": f"{page.url}-{n}-{id(page)}",
                "Source-Id": "sensor-1",
                "Syntax": "text/plain",
                "Body": f"{n} degrees",
            }
            for n in range(sent, sent + count)
        ]
        httpx.post(f"{broker.streams}/events/publish", json=items).raise_for_status()
        sent += count
    expect(page.locator("#panel-streams .grid tbody tr:not(.gap)")).to_have_count(sent)
    drawn(page, "streams", 4)
    page.get_by_role("button", name="Look again").click()
    expect(page.get_by_role("table", name="Streams").locator("td").nth(3)).to_have_text(str(sent))


def use_operations(page, broker):
    """All figures there, and some updates while they are looked at."""
    for readings in range(3):
        drawn(page, "operations", readings)
        for number in range(10 + 20 * readings):
            change(broker, f"INSERT DATA {{ ex:operations ex:value {number} }}")
    drawn(page, "operations", 3)
    expect(page.locator("#quantiles")).to_contain_text("p99 ")


USES = {
    "Query": use_query,
    "Update": use_update,
    "Subscribe": use_subscribe,
    "JSAP": use_jsap,
    "Streams": use_streams,
    "Operations": use_operations,
}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_tab_has_a_serious_barrier(browser, fresh_broker, axe, theme):
    """Each after it was used."""
    change(fresh_broker, observations())
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    with opened(
        browser, fresh_broker.http, color_scheme=theme, viewport={"width": 1200, "height": 500}
    ) as page:
        found = {}
        for tab, use in USES.items():
            show(page, tab)
            use(page, fresh_broker)
            page.mouse.move(0, 0)
            page.screenshot(path=SCREENSHOTS / f"{tab.lower()}-{theme}.png", full_page=True)
            # A color on its way is no color to be measured
            page.wait_for_timeout(2300 if tab in {"Subscribe", "JSAP"} else 0)
            found[tab] = barriers(page, axe)
        assert not any(found.values()), found


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_login_has_no_serious_barrier(browser, tmp_path, axe, theme):
    """Nor what a closed broker shows to strangers."""
    settings = {
        "color_scheme": theme,
        "ignore_https_errors": True,
        "viewport": {"width": 1200, "height": 500},
    }
    with (
        SecuredBroker(tmp_path) as closed,
        opened(browser, closed.running.https, "login", **settings) as page,
    ):
        expect(page.get_by_role("tab", name="Login")).to_be_visible()
        expect(page.locator("#panel-login")).to_be_visible()
        page.screenshot(path=SCREENSHOTS / f"login-{theme}.png", full_page=True)
        assert barriers(page, axe) == []


def test_a_barrier_is_found(browser, broker, axe):
    """What looks for them can tell one: a button without a name."""
    with opened(browser, broker.http) as page:
        assert barriers(page, axe) == []
        page.evaluate("document.getElementById('theme').textContent = ''")
        assert [one[0] for one in barriers(page, axe)] == ["button-name"]
