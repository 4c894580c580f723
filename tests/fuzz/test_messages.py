"""Any message on a WebSocket: an answer to each, and the socket, its neighbour and the broker go on.

TRIPLEWIRE_FUZZ_S is how long each is fuzzed.
"""

from __future__ import annotations

import json
import struct

import pytest
from hypothesis import strategies as st
from support.fuzzing import FUZZ_S, MESSAGE_CHECKS, fuzz, real, spoilt, texts
from support.raw import Raw
from support.sparql import Sparql
from support.subscriber import FENCE, Subscriber

pytestmark = [pytest.mark.xdist_group("fuzz-messages"), pytest.mark.timeout(FUZZ_S * 2 + 120)]

MEMBERS = [
    "subscribe",
    "unsubscribe",
    "renew",
    "sparql",
    "alias",
    "spuid",
    "sequence",
    "authorization",
    "resume",
]
MEMBERS += ["default-graph-uri", "named-graph-uri", "notification", "error", "status_code", "unsubscribed"]
MEMBERS += ["addedResults", "removedResults", "head", "vars", "results", "bindings", "type", "value"]
names = st.one_of(st.sampled_from(MEMBERS), st.text(max_size=3))
leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=10),
    st.sampled_from(["Bearer x", "Bearer ", FENCE, "http://ex/g", "uri", "literal"]),
)
values = st.recursive(
    leaves, lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(names, inner, max_size=5))
)
subscribes = st.fixed_dictionaries(
    {"sparql": st.one_of(real, spoilt(), texts)},
    optional={
        name: st.one_of(leaves, values)
        for name in ("alias", "authorization", "default-graph-uri", "named-graph-uri", "resume")
    },
)
messages = st.one_of(
    st.builds(lambda body, more: more | {"subscribe": body}, subscribes, st.dictionaries(names, leaves)),
    st.builds(
        lambda body: {"unsubscribe": body}, st.one_of(values, st.fixed_dictionaries({"spuid": leaves}))
    ),
    st.dictionaries(names, values, max_size=3),
    values,
).map(json.dumps)
anything = st.one_of(messages, texts, messages.map(lambda text: text[: len(text) // 2]))


def frame(first: int, masked: bool, length: int, payload: bytes) -> bytes:
    """A frame whose head says what it likes: its kind, FIN, reserved bits, a length that need not be the payload's."""
    mask = 0x80 if masked else 0
    if length < 126:
        head = bytes((first, mask | length))
    elif length < 65536:
        head = struct.pack("!BBH", first, mask | 126, length)
    else:
        head = struct.pack("!BBQ", first, mask | 127, length)
    return head + (bytes(4) if masked else b"") + payload


payloads = st.one_of(
    st.binary(max_size=200), messages.map(lambda text: text.encode("utf-8", "surrogatepass"))
)
firsts = st.one_of(
    st.sampled_from([0x81, 0x01, 0x80, 0x00, 0x82, 0x88, 0x89, 0x8A, 0xC1]), st.integers(0, 255)
)
frames = st.lists(
    st.one_of(
        st.builds(lambda first, payload: frame(first, True, len(payload), payload), firsts, payloads),
        st.builds(frame, firsts, st.booleans(), st.integers(0, 2**64 - 1), payloads),
    ),
    max_size=5,
).map(b"".join)


@pytest.fixture(scope="module")
def listener(broker):
    """The socket of all messages; at the end nothing in the log is an error of the broker's own."""
    with Subscriber(broker.ws) as client:
        yield client
    assert broker.alive
    assert " ERROR " not in broker.log
    assert "Traceback" not in broker.log


@pytest.mark.parametrize("check", MESSAGE_CHECKS, ids=lambda check: check.__name__)
def test_any_message_is_read_or_refused_in_time(check):
    """No other error leaves, in either direction."""
    assert fuzz(anything, check, FUZZ_S / 5) > 0


def test_any_message_is_answered(listener):
    """By a notification, an end or an error, and each once; what was subscribed to is left again."""

    def check(text: str) -> None:
        heard = listener.exchange(text)
        assert set(heard) & {"notification", "unsubscribed", "renewed", "error"}
        if "notification" in heard:
            listener.exchange({"unsubscribe": {"spuid": heard["notification"]["spuid"]}})
        if "error" in heard:
            assert 400 <= heard["status_code"] <= 500
            assert "internal error" not in heard["error_description"], text

    assert fuzz(anything, check, FUZZ_S) > 0


@pytest.mark.filterwarnings("ignore:Generating overly large repr")
def test_any_frames_harm_nobody(broker, listener):
    """Whatever is wrong with them, the others' sockets go on."""
    opening = (
        "GET /subscribe HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )

    def check(data: bytes) -> None:
        for url in (broker.ws.replace("ws", "http", 1), broker.http):
            with Raw(url) as raw:
                raw.send(opening, data)
        assert listener.exchange({"unsubscribe": {"spuid": FENCE}})["error"] == "sid_not_found"

    assert fuzz(frames, check, FUZZ_S / 2) > 0
    with Sparql(broker.http) as sparql:
        sparql.wait_for_health(status="ok", sockets=1)
