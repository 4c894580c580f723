"""Login: a closed broker wants a token, which is kept in the page alone."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect
from support.pages import opened, show, update, write
from support.secured import SecuredBroker

pytestmark = pytest.mark.xdist_group("browser")
REFUSED = ("Failed to load resource",)


@pytest.fixture(scope="module")
def closed(tmp_path_factory):
    """A broker with security on."""
    with SecuredBroker(tmp_path_factory.mktemp("closed")) as closed:
        yield closed


@pytest.fixture
def page(browser, closed):
    """Its page, before anybody has logged in."""
    with opened(browser, closed.running.https, expected=REFUSED, ignore_https_errors=True) as page:
        expect(page.locator("#health")).to_have_text("ok")
        yield page


def log_in(page, closed, identity):
    """By credentials."""
    show(page, "Login")
    page.get_by_label("Client identity").fill(identity)
    page.get_by_label("Secret", exact=True).fill(closed.secret(identity))
    page.get_by_role("button", name="Log in").click()
    expect(page.locator("#login-state")).to_have_text("Logged in, for 60 minutes.")


def test_an_open_broker_asks_for_nothing(browser, broker):
    """There is no such tab."""
    with opened(browser, broker.http, "login") as page:
        expect(page.locator("#health")).to_contain_text("ok:")
        expect(page.get_by_role("tab", name="Login")).to_be_hidden()
        expect(page.locator("#panel-query")).to_be_visible()


def test_with_credentials_everything_works(page, closed):
    """A query, a subscription, an update, operations; and neither secret nor token is anywhere to be found."""
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.locator("#asked.bad")).to_contain_text("no token")
    log_in(page, closed, "admin")
    show(page, "Query")
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.locator("#asked")).to_contain_text("rows,")
    show(page, "Subscribe")
    page.get_by_role("button", name="Follow", exact=True).click()
    expect(page.locator("#followed-state")).to_have_text("following")
    update(page, "INSERT DATA { <urn:kitchen> <http://example.org/temperature> 21.5 }")
    expect(page.locator("#updated")).to_contain_text("1 notifications")
    show(page, "Subscribe")
    expect(page.locator("#panel-subscribe .grid")).to_contain_text("21.5")
    show(page, "Operations")
    expect(page.locator("#units")).to_contain_text("temperature")
    show(page, "Streams")
    expect(page.get_by_role("button", name="Follow events")).to_be_visible()
    assert page.evaluate("localStorage.length + sessionStorage.length + document.cookie.length") == 0
    shown = page.content() + page.evaluate(
        "[...document.querySelectorAll('input')].map(node => node.value).join()"
    )
    assert closed.secret("admin") not in shown
    assert re.search(r"eyJ[\w-]+\.", shown) is None
    show(page, "Login")
    page.get_by_role("button", name="Log out").click()
    expect(page.locator("#login-state")).to_have_text("Logged out.")
    show(page, "Subscribe")
    expect(page.locator("#followed-state")).to_have_text("stopped")
    show(page, "Query")
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.locator("#asked.bad")).to_contain_text("no token")


def test_a_stream_is_followed_with_a_token(page, closed):
    """It goes in a header, also to the other port; no URL has it."""
    urls = []
    page.on("request", lambda asked: urls.append(asked.url))
    log_in(page, closed, "all")
    show(page, "Streams")
    page.get_by_role("button", name="Follow events").click()
    expect(page.locator("#stream-state")).to_have_text("following events")
    assert any(url.endswith("/events/stream") for url in urls)
    assert not any("eyJ" in url or "access_token" in url for url in urls)


def test_a_token_can_be_given_as_it_is(page, closed):
    """Where credentials are somebody else's business."""
    show(page, "Login")
    page.get_by_label("Token", exact=True).fill("no token \u2026")
    page.get_by_role("button", name="Use it").click()
    expect(page.locator("#login-state.bad")).to_contain_text("no bearer token")
    page.get_by_label("Token", exact=True).fill(closed.token("reader"))
    page.get_by_role("button", name="Use it").click()
    expect(page.locator("#login-state")).to_have_text("Logged in.")
    expect(page.get_by_label("Token", exact=True)).to_have_value("")
    show(page, "Operations")
    expect(page.locator("#operations-state.bad")).to_contain_text("For administrators")
    update(page, "INSERT DATA { <urn:a> <urn:b> 1 }")
    expect(page.locator("#updated.bad")).to_contain_text("scope")


def test_a_wrong_secret_is_told_and_forgotten(page, closed):
    """In the broker's words; the field is empty again."""
    show(page, "Login")
    page.get_by_label("Client identity").fill("admin")
    page.get_by_label("Secret", exact=True).fill("wrong")
    page.get_by_role("button", name="Log in").click()
    expect(page.locator("#login-state.bad")).not_to_be_empty()
    expect(page.get_by_label("Secret", exact=True)).to_have_value("")


def test_a_subscription_lives_on_with_the_next_token(browser, tmp_path):
    """When the token runs out the page says so; with another the subscription hears what it missed."""
    with (
        SecuredBroker(tmp_path, "security.token_s=4", "security.renew_s=30") as closed,
        opened(browser, closed.running.https, expected=REFUSED, ignore_https_errors=True) as page,
    ):
        show(page, "Login")
        page.get_by_label("Client identity").fill("all")
        page.get_by_label("Secret", exact=True).fill(closed.secret("all"))
        page.get_by_role("button", name="Log in").click()
        show(page, "Subscribe")
        write(page, "watch", "SELECT ?o { <urn:lapse> <urn:p> ?o }")
        page.get_by_role("button", name="Follow", exact=True).click()
        expect(page.locator("#followed-state")).to_have_text("following")
        expect(page.locator("#followed-state.bad")).to_be_visible(timeout=10_000)
        assert closed.update("INSERT DATA { <urn:lapse> <urn:p> 'missed' }").status_code == 200
        show(page, "Login")
        expect(page.locator("#login-state")).to_have_text("The token has run out: log in again.")
        page.get_by_label("Token", exact=True).fill(closed.token("all"))
        page.get_by_role("button", name="Use it").click()
        show(page, "Subscribe")
        expect(page.locator("#panel-subscribe .grid")).to_contain_text("missed")
        expect(page.locator("#followed-state")).to_have_text("following")
