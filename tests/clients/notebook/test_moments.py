from datetime import UTC, datetime

import pytest

from triplewire.clients.notebook.moments import Moment


def nanoseconds(*parts):
    return int(datetime(*parts, tzinfo=UTC).timestamp()) * 10**9


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-05-04T12:30:15Z", nanoseconds(2026, 5, 4, 12, 30, 15)),
        ("2026-05-04T12:30:15+02:00", nanoseconds(2026, 5, 4, 10, 30, 15)),
        ("2026-05-04T12:30:15-05:30", nanoseconds(2026, 5, 4, 18, 0, 15)),
        ("1969-12-31T23:59:59.5Z", -(10**9) // 2),
        ("2026-05-04T12:30:15.000000001Z", nanoseconds(2026, 5, 4, 12, 30, 15) + 1),
        ("2026-05-04T24:00:00Z", nanoseconds(2026, 5, 5)),
        ("2026-05-04T12:30:15.1230000000000Z", nanoseconds(2026, 5, 4, 12, 30, 15) + 123_000_000),
        ("0001-01-01T00:00:00Z", nanoseconds(1, 1, 1)),
    ],
)
def test_moments_are_counted_from_1970(text, expected):
    """Of UTC, and exactly: no float on the way."""
    assert Moment.of(text) == Moment(expected, has_zone=True)


@pytest.mark.parametrize("text", ["2026-05-04T00:00:00", "2026-05-04"])
def test_without_a_zone_they_are_of_a_clock_on_the_wall(text):
    """A date is its beginning."""
    assert Moment.of(text) == Moment(nanoseconds(2026, 5, 4), has_zone=False)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yesterday",
        "2026-02-30T00:00:00Z",
        "2026-05-04T24:00:01Z",
        "2026-05-04T12:60:00Z",
        "2026-05-04T12:30:15.0000000001Z",
        "2026-05-04T12:30:15+14:01",
        "-0044-03-15T12:00:00Z",
        "12026-05-04T12:30:15Z",
        "2026-05-04T12:30:15Z\n",
        "٢٠٢٦-05-04T12:30:15Z",
    ],
)
def test_what_can_not_be_counted_is_none(text):
    """Or is no dateTime at all."""
    assert Moment.of(text) is None
