"""What is shown of two readings."""

from __future__ import annotations

import pytest

from triplewire.clients.top import Between, Reading
from triplewire.clients.top_view import duration, lines, number, size

BEFORE = """
triplewire_healthy 1
triplewire_updates_total 100
triplewire_update_seconds_bucket{le="0.001"} 90
triplewire_update_seconds_bucket{le="0.01"} 100
triplewire_update_seconds_bucket{le="+Inf"} 100
triplewire_errors_total{gate="http",status="401"} 1
"""
NOW = """
triplewire_healthy 0
triplewire_build_info{version="1.2.3\x1b[31m"} 1
triplewire_uptime_seconds 7500
triplewire_updates_total 300
triplewire_update_seconds_bucket{le="0.001"} 190
triplewire_update_seconds_bucket{le="0.01"} 300
triplewire_update_seconds_bucket{le="+Inf"} 300
triplewire_errors_total{gate="http",status="401"} 5
triplewire_requests_waiting 7
triplewire_requests_waiting_limit 1000
triplewire_subscriptions 12345
triplewire_units 3
triplewire_subscriptions_by_kind{followed="joined",form="select"} 12340
triplewire_subscriptions_by_kind{followed="whole",form="ask"} 5
triplewire_subscriptions_by_kind{followed="keyed",form="ask"} 0
triplewire_journal_bytes 1048576
triplewire_journal_unsynced_bytes 0
triplewire_following_connected 0
triplewire_following_lag_seconds 12.5
"""


def shown(before=BEFORE, now=NOW):
    return list(lines(Between(Reading.of(before, 0), Reading.of(now, 2)), "http://there"))


def test_the_first_line_says_how_it_is():
    """Its release, where it is, and for how long; what a terminal would obey is not passed on."""
    assert shown()[0].startswith("triplewire 1.2.3")
    assert shown()[0].endswith("at http://there: STUCK, up for 2 h 5 min")
    assert "\x1b" not in shown()[0]
    assert ": well, up" in shown(now=NOW.replace("healthy 0", "healthy 1"))[0]


def test_rates_and_quantiles_stand_in_columns():
    """Of 200 updates in two seconds, half took at most a millisecond."""
    told = {line[:20].strip(): line[20:].split() for line in shown() if line[:1].isalpha()}
    assert told["updates"] == ["100", "1", "ms", "8.2", "ms", "9.82", "ms"]
    assert told["errors"] == ["2", "401:", "2"]
    assert told["queries"] == ["-"]


def test_what_is_held_is_told():
    """The queue with its limit, subscriptions by kind; what is not there has no line."""
    text = "\n".join(shown())
    assert "queue          7 of 1,000" in text
    assert "subscriptions  12,345 to 3 queries" in text
    assert "joined select" in text
    assert "keyed ask" not in text
    assert "journal        1 MiB, 0 B not synced;" in text
    assert "leader         NOT CONNECTED, 12.5 s behind" in text
    assert "journal  " not in "\n".join(shown(now=BEFORE))


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "-"), (0, "0"), (0.123, "0.12"), (12.0, "12"), (12.34, "12"), (1234567.8, "1,234,568")],
)
def test_a_number(value, text):
    """As many digits as matter."""
    assert number(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 us"),
        (0.00042, "420 us"),
        (0.0123, "12.3 ms"),
        (1.5, "1.5 s"),
        (600, "10 min"),
        (7260, "2 h 1 min"),
    ],
)
def test_a_duration(seconds, text):
    """In the unit that suits."""
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "-"), (0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (5 << 30, "5 GiB"), (3 << 40, "3 TiB")],
)
def test_a_size(value, text):
    """In the unit that suits."""
    assert size(value) == text
