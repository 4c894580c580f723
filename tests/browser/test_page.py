"""The frame of the page: tabs, keys, addresses, themes, and what the browser lets it do."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect
from support.pages import opened, show

pytestmark = pytest.mark.xdist_group("browser")
TABS = ["Query", "Update", "Subscribe", "JSAP", "Streams", "Operations"]


def test_tabs_are_chosen_by_keys_and_stand_in_the_address(browser, broker):
    """Arrows, Home and End; one tab stop for all of them."""
    with opened(browser, broker.http) as page:
        tabs = page.get_by_role("tab")
        assert tabs.all_text_contents() == TABS
        tabs.first.focus()
        page.keyboard.press("ArrowRight")
        expect(page.get_by_role("tab", name="Update")).to_be_focused()
        expect(page.locator("#panel-update")).to_be_visible()
        expect(page.locator("#panel-query")).to_be_hidden()
        assert page.url.endswith("#update")
        page.keyboard.press("End")
        expect(page.get_by_role("tab", name="Operations")).to_have_attribute("aria-selected", "true")
        page.keyboard.press("ArrowRight")
        expect(page.get_by_role("tab", name="Query")).to_be_focused()
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.closest('[role=tablist]')") is None


def test_an_address_opens_its_tab(browser, broker):
    """And goes back to it; what is no tab opens the first."""
    with opened(browser, broker.http, "streams") as page:
        expect(page.locator("#panel-streams")).to_be_visible()
        page.evaluate("location.hash = 'jsap'")
        expect(page.locator("#panel-jsap")).to_be_visible()
        page.go_back()
        expect(page.locator("#panel-streams")).to_be_visible()
        page.evaluate("location.hash = 'nothing'")
        expect(page.locator("#panel-query")).to_be_visible()


def test_the_theme_is_the_systems_or_chosen_and_kept(browser, broker):
    """It is all that is kept."""
    with opened(browser, broker.http, color_scheme="dark") as page:
        color = "getComputedStyle(document.body).backgroundColor"
        assert page.evaluate(color) == "rgb(20, 23, 27)"
        switch = page.locator("#theme")
        switch.click()
        expect(switch).to_have_text("Theme: light")
        assert page.evaluate(color) == "rgb(255, 255, 255)"
        page.reload()
        expect(switch).to_have_text("Theme: light")
        assert page.evaluate("[...Object.entries(localStorage)].join()") == "triplewire-theme,light"
        assert page.evaluate("sessionStorage.length + document.cookie.length") == 0


def test_no_script_but_the_pages_own_runs(browser, broker):
    """Neither one in the page, nor one from elsewhere, nor text that becomes markup."""
    refused = ("Executing inline script", "Loading the script", "This document requires", "Refused to")
    with opened(browser, broker.http, expected=refused) as page:
        page.evaluate("""() => {
            const script = document.createElement("script");
            try { script.textContent = "window.inline = true" } catch (error) { window.stopped = String(error) }
            document.head.append(script);
        }""")
        assert page.evaluate("window.inline") is None
        thrown = page.evaluate(
            "() => { try { document.body.innerHTML = '<p>' } catch (error) { return error.name } }"
        )
        assert thrown == "TypeError"


def test_the_state_of_the_broker_is_told(browser, broker):
    """At the top, on each tab."""
    with opened(browser, broker.http) as page:
        expect(page.locator("#health")).to_contain_text("ok: ")
        show(page, "JSAP")
        expect(page.locator("#health")).to_be_visible()


def test_on_a_telephone_nothing_is_cut(browser, broker):
    """360 pixels are enough."""
    with opened(browser, broker.http, viewport={"width": 360, "height": 640}) as page:
        for tab in TABS:
            show(page, tab)
            assert page.evaluate("document.documentElement.scrollWidth") <= 360, tab
