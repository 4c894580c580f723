"""Query: the editor, the answer as a table of any length, as a drawing, as a file."""

from __future__ import annotations

import csv
import json
import time
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import expect
from support.pages import opened, update, write

pytestmark = pytest.mark.xdist_group("browser")


@pytest.fixture(scope="module")
def page(browser, broker):
    """On Query."""
    with opened(browser, broker.http, "query", expected=("Failed to load resource",)) as page:
        yield page


@pytest.fixture
def ask(page):
    """Ask, by the page."""

    def asked(text):
        page.goto(f"{page.url.partition('#')[0]}#query")
        write(page, "query", text)
        page.get_by_role("button", name="Ask", exact=True).click()

    return asked


def test_rows_are_shown_and_saved(page, ask):
    """CSV as SPARQL has it, JSON as it came."""
    ask("SELECT ?a ?b { VALUES (?a ?b) { ('a \"b\", c' 1) (<urn:x> UNDEF) } }")
    expect(page.locator("#asked")).to_contain_text("2 rows")
    expect(page.locator("#panel-query tbody tr:not(.gap) td").first).to_have_text('"a \\"b\\", c"')
    with page.expect_download() as saved:
        page.locator("#panel-query").get_by_role("button", name="CSV").click()
    text = Path(saved.value.path()).read_bytes().decode()
    rows = list(csv.reader(text.splitlines()))
    assert rows == [["a", "b"], ['a "b", c', "1"], ["urn:x", ""]]
    with page.expect_download() as saved:
        page.locator("#panel-query").get_by_role("button", name="JSON").click()
    assert len(json.loads(Path(saved.value.path()).read_text())["results"]["bindings"]) == 2


def test_ten_thousand_rows_are_a_few_dozen_elements(page, ask):
    """Scrolling brings the others; screen readers know how many there are."""
    digits = " ".join(map(str, range(10)))
    values = " ".join(f"VALUES ?{name} {{ {digits} }}" for name in "abcd")
    ask(f"SELECT ?n {{ {values} BIND(?a * 1000 + ?b * 100 + ?c * 10 + ?d AS ?n) }} ORDER BY ?n")
    expect(page.locator("#asked")).to_contain_text("10000 rows")
    grid = page.locator("#panel-query .grid")
    assert grid.locator("tr").count() < 60
    expect(grid.locator("table")).to_have_attribute("aria-rowcount", "10001")
    grid.evaluate("node => { node.scrollTop = node.scrollHeight }")
    expect(grid.get_by_text("9999", exact=True)).to_be_visible()
    expect(grid.locator("tr", has_text="9999")).to_have_attribute("aria-rowindex", "10001")
    grid.focus()
    page.keyboard.press("Home")
    expect(grid.get_by_text("0", exact=True)).to_be_visible()


def test_a_time_and_a_number_are_drawn(page, ask):
    """A series for each sensor, told in words as well."""
    rows = " ".join(
        f"(<urn:{sensor}> '2026-05-0{day}T00:00:00Z'^^<http://www.w3.org/2001/XMLSchema#dateTime> {day}.5)"
        for sensor in "ab"
        for day in range(1, 6)
    )
    ask(f"SELECT ?sensor ?when ?value {{ VALUES (?sensor ?when ?value) {{ {rows} }} }}")
    chart = page.locator("#panel-query svg.chart")
    expect(chart).to_have_attribute(
        "aria-label",
        "Answer: 2 series, 10 points from 2026-05-01T00:00:00 to 2026-05-05T00:00:00, values from 1.5 to 5.5",
    )
    assert chart.locator("path").count() == 2
    assert chart.locator("circle").count() == 10
    assert page.locator("#panel-query .legend li").all_text_contents() == ["<urn:a>", "<urn:b>"]
    ask("SELECT * { VALUES ?a { 'no number' } }")
    expect(chart).to_have_count(0)


def test_ask_and_construct_are_answered_too(page, ask):
    """As one row, and as Turtle."""
    ask("ASK {}")
    expect(page.locator("#panel-query td", has_text="true")).to_be_visible()
    ask("CONSTRUCT { <urn:a> <urn:b> 'c' } {}")
    expect(page.locator("#panel-query pre")).to_contain_text("<urn:a> <urn:b>")
    expect(page.locator("#panel-query .grid")).to_be_hidden()


def test_an_error_is_told_in_words(page, ask):
    """Oxigraph's complaint stands under the text, and nothing of the last answer."""
    ask("SELECT")
    expect(page.locator("#asked.bad")).to_contain_text("Parsing failed")
    expect(page.locator("#panel-query .grid")).to_be_hidden()


def test_what_is_shown_is_text_never_markup(page, ask):
    """A literal with markup in it stays a literal."""
    update(page, "INSERT DATA { <urn:x> <urn:html> '<img src=x onerror=alert(1)>' }")
    expect(page.locator("#updated")).to_contain_text("notifications")
    ask("SELECT ?o { <urn:x> <urn:html> ?o }")
    expect(page.locator("#panel-query .grid")).to_contain_text("onerror=alert(1)")
    assert page.locator("main img").count() == 0


def test_the_editor_completes_and_runs_by_keys(page, ask):
    """Keywords, variables, prefixes; Ctrl-Enter asks; Tab leaves."""
    ask("SELECT ?room { }")
    content = page.locator("#query .cm-content")
    choices = page.locator("#query .cm-tooltip-autocomplete li")
    content.press("Control+End")
    for typed, wanted in ((" LIM", "LIMIT"), (" ?ro", "?room"), (" PREFIX so", "sosa:")):
        content.press_sequentially(typed, delay=20)
        expect(choices.filter(has_text=wanted).first).to_be_visible()
        content.press("Escape")
    write(page, "query", "ASK { VALUES ?x { 1 } }")
    content.press("Control+Enter")
    expect(page.locator("#asked")).to_contain_text("1 row,")
    content.press("Tab")
    expect(page.get_by_role("button", name="Ask", exact=True)).to_be_focused()


def test_the_editor_has_colors(page, ask):
    """Keywords, variables and IRIs differ."""
    ask("SELECT ?s { ?s <urn:p> 'o' }")
    colors = page.locator("#query .cm-line span").evaluate_all(
        "all => Object.fromEntries(all.map(node => [node.textContent, getComputedStyle(node).color]))"
    )
    assert len({colors["SELECT"], colors["?s"], colors["<urn:p>"], colors["'o'"]}) == 4


def test_a_query_that_takes_long_is_stopped(page, ask, broker):
    """The broker ends it as well, as its client has hung up."""
    numbers = " ".join(map(str, range(60)))
    crossed = " ".join(f"VALUES ?{name} {{ {numbers} }}" for name in "abcdef")
    ask(f"SELECT (COUNT(*) AS ?n) {{ {crossed} FILTER(?a + ?b + ?c + ?d + ?e + ?f < 0) }}")
    expect(page.locator("#asked")).to_have_text("asking \u2026")
    page.locator("#panel-query").get_by_role("button", name="Stop", exact=True).click()
    expect(page.locator("#asked")).to_have_text("stopped")
    expect(page.get_by_role("button", name="Ask", exact=True)).to_be_visible()
    deadline = time.monotonic() + 10
    while httpx.get(f"{broker.http}/health").json()["reading"]:
        assert time.monotonic() < deadline
        time.sleep(0.1)
