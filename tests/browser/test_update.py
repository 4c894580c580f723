"""Update: what was changed is told, what was wrong too."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect
from support.pages import opened, update

pytestmark = pytest.mark.xdist_group("browser")


def test_an_update_is_sent_and_can_be_sent_again(browser, broker):
    """The list of what was sent brings it back into the editor."""
    with opened(browser, broker.http, "update", expected=("Failed to load resource",)) as page:
        update(page, "INSERT DATA { <urn:one> <urn:p> 1 }")
        expect(page.locator("#updated")).to_have_text("Update done, 0 notifications")
        update(page, "INSERT DATA { oops")
        expect(page.locator("#updated.bad")).to_contain_text("line 1")
        page.get_by_role("button", name="Edit again").click()
        expect(page.locator("#update .cm-content")).to_have_text("INSERT DATA { <urn:one> <urn:p> 1 }")
        assert page.locator("#panel-update .log li").count() == 1
