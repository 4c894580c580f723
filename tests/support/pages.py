"""Tabs of a browser with the broker's page, which load nothing from elsewhere and complain of nothing."""

from __future__ import annotations

from contextlib import contextmanager

# Chromium's own editing writes a style when text of a color is typed over; the policy stops it, as it should
_HARMLESS = "Applying inline style violates"


@contextmanager
def opened(browser, url, tab="", *, expected=(), **settings):
    """A tab of its own at `url`; what is wrong in it but the `expected` fails when it is closed."""
    context = browser.new_context(**settings)
    context.set_default_timeout(15_000)
    page = context.new_page()
    problems = []
    host = url.rpartition(":")[0].partition("//")[2]
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda said: said.type == "error" and problems.append(said.text))
    page.on(
        "request",
        lambda asked: host in asked.url or asked.url.startswith("blob:") or problems.append(asked.url),
    )
    page.goto(f"{url}/#{tab}")
    try:
        yield page
    finally:
        context.close()
    wrong = [one for one in problems if not one.startswith((_HARMLESS, *expected))]
    assert not wrong


def write(page, place, text):
    """Put `text` into the editor `place`."""
    content = page.locator(f"#{place} .cm-content")
    content.click()
    content.fill(text)


def show(page, tab):
    """Choose a tab."""
    page.get_by_role("tab", name=tab, exact=True).click()


def update(page, text):
    """Send an update by the page."""
    show(page, "Update")
    write(page, "update", text)
    page.get_by_role("button", name="Send", exact=True).click()
