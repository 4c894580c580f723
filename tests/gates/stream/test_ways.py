"""Which lane a request leads to."""

from __future__ import annotations

from functools import partial

import pytest

from triplewire.broker.errors import MalformedRequest
from triplewire.gates.stream.forms import EVENTS, LDJSON, ZTREAMY
from triplewire.gates.stream.frames import TEXT
from triplewire.gates.stream.lanes import LaneKey
from triplewire.gates.stream.requests import StreamRequest
from triplewire.gates.stream.ways import way_of

from .test_handshake import request


def asked(access, version="1.1", **headers):
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return StreamRequest("GET", f"/events/{access}", "", named, version, keep_alive=True)


@pytest.mark.parametrize(
    ("make", "key"),
    [
        (partial(asked, "stream"), LaneKey(ZTREAMY, deflate=False, framed=True)),
        (partial(asked, "stream", accept_encoding="deflate"), LaneKey(ZTREAMY, deflate=True, framed=True)),
        (partial(asked, "compressed"), LaneKey(ZTREAMY, deflate=True, framed=True)),
        (partial(asked, "priority", accept_encoding="deflate"), LaneKey(ZTREAMY, deflate=False, framed=True)),
        (partial(asked, "stream", "1.0"), LaneKey(ZTREAMY, deflate=False, framed=False)),
        (
            partial(asked, "stream", accept="application/x-ldjson"),
            LaneKey(LDJSON, deflate=False, framed=True),
        ),
        (
            partial(asked, "stream", accept="text/event-stream", accept_encoding="deflate"),
            LaneKey(EVENTS, deflate=False, framed=True),
        ),
        (
            partial(asked, "compressed", accept="text/event-stream"),
            LaneKey(EVENTS, deflate=True, framed=True),
        ),
        (partial(request, accept_encoding="deflate"), LaneKey(TEXT, deflate=False, framed=False)),
    ],
)
def test_the_lane(make, key):
    """Its form, its coding and its framing; the head says the same."""
    way = way_of(make())
    assert way.key == key
    assert (b"Content-Encoding: deflate" in way.head) is key.deflate
    assert (b"Transfer-Encoding: chunked" in way.head) is key.framed
    assert way.head.endswith(b"\r\n\r\n")


@pytest.mark.parametrize("access", ["compressed", "long-polling"])
def test_where_there_are_no_websockets(access):
    """One compression for all is what /compressed is for, and a poll is answered once."""
    there = request()
    with pytest.raises(MalformedRequest, match="/events/stream and /priority"):
        way_of(
            StreamRequest(
                "GET", f"/events/{access}", "", there.headers, "1.1", keep_alive=False, websocket=True
            )
        )
