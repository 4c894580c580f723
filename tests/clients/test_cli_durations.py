"""Durations and times as people write them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import click
import pytest

from triplewire.clients.cli_durations import Duration, Time


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("500ms", timedelta(milliseconds=500)),
        ("10s", timedelta(seconds=10)),
        ("1.5 h", timedelta(minutes=90)),
        ("2d", timedelta(days=2)),
        ("0m", timedelta(0)),
    ],
)
def test_durations(text, wanted):
    """A number and a unit."""
    assert Duration().convert(text, None, None) == wanted
    assert Duration().convert(wanted, None, None) == wanted


@pytest.mark.parametrize("text", ["", "10", "s", "-1s", "1y", "1 000s", "9" * 30 + "d"])
def test_no_durations(text):
    """Anything else is said to be none."""
    with pytest.raises(click.BadParameter, match=r"duration|too long"):
        Duration().convert(text, None, None)


def test_times():
    """With a zone as they are, without one as the clock here shows them."""
    convert = Time().convert
    assert convert("2026-05-04T10:00:00+02:00", None, None) == datetime(2026, 5, 4, 8, tzinfo=UTC)
    assert convert("2026-05-04", None, None) == datetime(2026, 5, 4).astimezone()
    assert abs(convert("now", None, None) - datetime.now(UTC)) < timedelta(minutes=1)
    with pytest.raises(click.BadParameter, match="no time"):
        convert("yesterday", None, None)
    with pytest.raises(click.BadParameter, match="no time"):
        convert("0001-01-01T00:00:00+05:00", None, None)
