import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triplewire.broker.errors import BrokerRefused
from triplewire.broker.wire.items import encode_item
from triplewire.clients.flows import Dropped, Reply, Wait
from triplewire.clients.streams import Item, StreamSettings
from triplewire.clients.streams.publishing import PublishFlows, batches

URL = "http://h/events/publish"


def flow(*items, settings=None, as_json=False, compressed=False):
    flows = PublishFlows(settings or StreamSettings(), None, as_json=as_json, compressed=compressed)
    return flows.publish(URL, items)


def test_items_go_back_to_back(item):
    """Under their own media type."""
    call = next(flow(item(1), item(2)))

    assert (call.method, call.url, call.headers["content-type"]) == ("POST", URL, "application/ztreamy-event")
    assert call.body == encode_item(item(1)) + encode_item(item(2))
    assert "content-encoding" not in call.headers


def test_they_may_be_json(item):
    """An array."""
    call = next(flow(item(1), as_json=True))

    assert call.headers["content-type"] == "application/json"
    assert [each["Event-Id"] for each in json.loads(call.body)] == ["e1"]


def test_they_may_be_compressed(item):
    """As gzip."""
    call = next(flow(item(1), compressed=True))

    assert call.headers["content-encoding"] == "gzip"
    assert gzip.decompress(call.body) == encode_item(item(1))


def test_nothing_is_sent_of_nothing():
    """There would be nothing to take."""
    with pytest.raises(StopIteration):
        next(flow())


def test_many_go_in_several_posts(item):
    """And what was refused stops those behind it."""
    sending = flow(item(1), item(2), item(3), settings=StreamSettings(post_items=1))
    next(sending)
    assert sending.send(Reply(200)).body == encode_item(item(2))
    with pytest.raises(BrokerRefused):
        sending.send(Reply(400))


def test_an_answer_that_was_lost_is_asked_for_again(item):
    """The server passes over ids that it has."""
    sending = flow(item(1))
    call = next(sending)
    assert sending.throw(Dropped("broken")).body == call.body
    with pytest.raises(StopIteration):
        sending.send(Reply(200))


def test_a_server_that_sheds_load_is_left_alone_for_a_while(item):
    """As long as it says."""
    sending = flow(item(1))
    next(sending)
    assert sending.send(Reply(503, {"retry-after": "2"})) == Wait(2)


@given(st.lists(st.binary(max_size=60), max_size=20), st.integers(1, 5), st.integers(1, 400))
def test_batches_have_all_in_order_and_are_within_their_limits(bodies, most_items, most_bytes):
    """But for a single item that is larger."""
    items = [Item(str(number), "s", "a/b", body) for number, body in enumerate(bodies)]
    made = list(batches(items, most_items, most_bytes))

    assert [item for batch in made for item in batch] == items
    for batch in made:
        assert 1 <= len(batch) <= most_items
        assert len(batch) == 1 or sum(len(encode_item(item)) for item in batch) <= most_bytes
