"""The addresses that options put in the place of a profile's."""

from __future__ import annotations

import asyncio
import signal

import click
import pytest
from support.applications import CHAT, MONITORING

from triplewire.broker.errors import ConnectionLost
from triplewire.conf.brokers import endpoint, overrides, run, until_stopped
from triplewire.jsap import Profile


def test_without_options_the_profile_holds():
    """Nothing is overridden."""
    assert overrides(None) == {}


def test_one_url_is_enough():
    """Queries, updates and subscriptions all go to that one port."""
    profile = Profile.load(CHAT, overrides=overrides("http://[::1]:8123/base/"))
    assert profile.query_url("USERS") == "http://[::1]:8123/base/query"
    assert profile.update_url("SEND") == "http://[::1]:8123/base/update"
    assert profile.subscribe_url("SENT") == "ws://[::1]:8123/base/subscribe"


def test_subscriptions_may_have_an_address_of_their_own():
    """As with a broker whose WebSocket port is another."""
    profile = Profile.load(
        CHAT, overrides=overrides("https://broker.example", "wss://broker.example:9443/secure/subscribe")
    )
    assert profile.update_url("SEND") == "https://broker.example:443/update"
    assert profile.subscribe_url("SENT") == "wss://broker.example:9443/secure/subscribe"


def test_the_second_endpoint_stays_where_it_is():
    """An update with a protocol of its own is not moved with the broker."""
    profile = Profile.load(MONITORING, overrides=overrides("https://broker.example"))
    assert profile.update_url("STORE_OBSERVATION") == "http://localhost:7878/update"


def test_the_second_endpoint_can_be_moved_alone():
    """By its own option."""
    members = {
        "updates.STORE_OBSERVATION.sparql11protocol": endpoint("https://store.example/repo/update", "update")
    }
    profile = Profile.load(MONITORING, overrides=members)
    assert profile.update_url("STORE_OBSERVATION") == "https://store.example:443/repo/update"
    assert profile.update_url("UPDATE_VALUE") == "http://localhost:8000/update"


@pytest.mark.parametrize("url", ["broker", "ftp://broker", "http://"])
def test_what_is_no_address_is_refused(url):
    """Before anything is sent."""
    with pytest.raises(ValueError, match="URL starts with"):
        overrides(url)
    with pytest.raises(ValueError, match="URL starts with"):
        endpoint(url, "update")


@pytest.mark.parametrize(
    ("error", "code"),
    [(ConnectionLost("away"), 3), (ValueError("bad"), 1), (click.UsageError("what?"), 2), (None, 0)],
)
def test_errors_are_one_line_and_an_exit_code(monkeypatch, capsys, error, code):
    """No traceback for what is not our bug."""

    @click.command()
    def command() -> None:
        if error is not None:
            raise error

    monkeypatch.setattr("sys.argv", ["program"])
    assert run(command, "program") == code
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_is_a_good_end(number):
    """The work is cancelled, so that it can tidy up, and the exit code is 0."""
    tidied = []

    async def work() -> int:
        asyncio.get_running_loop().call_later(0.05, signal.raise_signal, number)
        try:
            await asyncio.sleep(30)
        finally:
            tidied.append(True)
        return 1

    assert until_stopped(work()) == 0
    assert tidied == [True]
