"""The page at the root of the HTTP port, in Chromium."""

from __future__ import annotations

import os
import shutil

import pytest
from playwright.sync_api import expect, sync_playwright
from support.secured import SecuredBroker

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
pytestmark = [
    pytest.mark.xdist_group("browser"),
    pytest.mark.skipif(CHROMIUM is None and not os.environ.get("CI"), reason="Chromium is not installed"),
]


@pytest.fixture(scope="module")
def browser():
    """One headless Chromium."""
    assert CHROMIUM is not None, "CI must have Chromium"
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser, broker):
    """The page, which must load nothing from elsewhere and write no error on the console."""
    page = browser.new_page()
    problems = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", lambda r: None if r.url.startswith((broker.http, "data:")) else problems.append(r.url))
    page.goto(broker.http)
    yield page
    page.close()
    assert not problems


def test_an_update_is_seen_by_a_query_and_a_subscription(page):
    """Follow a query, send an update: the new row glows, and the query has it."""
    page.get_by_role("button", name="Follow").click()
    expect(page.locator("#followed")).to_have_text("following")
    page.get_by_role("button", name="Send").click()
    expect(page.locator("#updated")).to_contain_text("1 notifications")
    expect(page.locator("tr.added")).to_contain_text("21.5")
    page.get_by_role("button", name="Ask").click()
    expect(page.locator("#answer")).to_contain_text("kitchen")
    expect(page.locator("#health")).to_contain_text("ok")


def test_an_error_is_told_in_words(page):
    """Oxigraph's complaint with its place stands under the text."""
    page.get_by_label("Update", exact=True).fill("INSERT DATA { oops")
    page.get_by_role("button", name="Send").click()
    expect(page.locator("#updated.bad")).to_contain_text("line 1")
    page.get_by_label("Query", exact=True).fill("SELECT")
    page.get_by_role("button", name="Ask").click()
    expect(page.locator("#asked.bad")).to_contain_text("Parsing failed")


def test_what_is_shown_is_text_never_markup(page):
    """A literal with markup in it stays a literal."""
    page.get_by_label("Update", exact=True).fill(
        "INSERT DATA { <http://example.org/x> <http://example.org/html> '<img src=x onerror=alert(1)>' }"
    )
    page.get_by_role("button", name="Send").click()
    expect(page.locator("#updated")).to_contain_text("notifications")
    page.get_by_role("button", name="Ask").click()
    expect(page.locator("#answer")).to_contain_text("onerror=alert(1)")
    assert page.locator("#answer img").count() == 0


def test_a_closed_broker_asks_for_a_token(browser, tmp_path):
    """With it everything works as ever, and it is kept nowhere."""
    with SecuredBroker(tmp_path) as closed:
        page = browser.new_page(ignore_https_errors=True)
        page.goto(closed.running.https)
        expect(page.locator("#health")).to_have_text("ok")
        page.get_by_role("button", name="Ask").click()
        expect(page.locator("#asked")).to_contain_text("no token")
        page.get_by_label("Token").fill(closed.token("admin"))
        page.get_by_role("button", name="Follow").click()
        expect(page.locator("#followed")).to_have_text("following")
        page.get_by_role("button", name="Send").click()
        expect(page.locator("tr.added")).to_contain_text("21.5")
        expect(page.locator("#units")).to_contain_text("temperature")
        page.get_by_role("button", name="Stop").click()
        expect(page.locator("#followed")).to_have_text("stopped")
        assert page.evaluate("localStorage.length + sessionStorage.length + document.cookie.length") == 0
        page.close()
