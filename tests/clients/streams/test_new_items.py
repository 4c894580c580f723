import datetime as dt

import pytest

from triplewire.broker.wire.items import ItemError
from triplewire.clients.streams import new_item


def test_each_has_an_id_of_its_own_and_the_time():
    """With milliseconds and an offset."""
    one, two = (new_item("s", "text/turtle", b"", event_type="T", headers=[("X-A", "b")]) for _ in "ab")

    assert one.event_id != two.event_id
    assert (one.source_id, one.syntax, one.event_type, one.headers) == (
        "s",
        "text/turtle",
        "T",
        (("X-A", "b"),),
    )
    stamp = dt.datetime.fromisoformat(one.timestamp)
    assert abs((dt.datetime.now(dt.UTC) - stamp).total_seconds()) < 60
    assert len(one.timestamp.partition(".")[2]) == len("000+00:00")


def test_what_would_be_no_item_is_refused():
    """As by the item itself."""
    with pytest.raises(ItemError, match="Source-Id"):
        new_item("a\r\nX: y", "text/turtle", b"")
