"""The opening handshake: RFC 6455, 4.2, and which form is asked for."""

from __future__ import annotations

import pytest
from websockets.client import ClientProtocol
from websockets.protocol import State
from websockets.uri import parse_uri

from triplewire.broker.errors import MalformedRequest
from triplewire.gates.stream.frames import BINARY, TEXT
from triplewire.gates.stream.handshake import shake_hands
from triplewire.gates.stream.requests import StreamRequest

# The handshake in RFC 6455, 1.3, and what its server answers.
HEADERS = {
    "upgrade": "websocket",
    "connection": "Upgrade",
    "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
    "sec-websocket-version": "13",
}
ACCEPTED = b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo="


def request(version="1.1", **headers):
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    found = {name: value for name, value in (HEADERS | named).items() if value is not None}
    return StreamRequest("GET", "/events/stream", "", found, version, keep_alive=False, websocket=True)


@pytest.mark.parametrize(
    ("headers", "form", "told"),
    [
        ({}, TEXT, None),
        ({"accept": "*/*"}, TEXT, None),
        ({"accept": "application/ztreamy-stream"}, BINARY, None),
        ({"sec_websocket_protocol": "ldjson"}, TEXT, b"ldjson"),
        ({"sec_websocket_protocol": "other, ztreamy-stream, ldjson"}, BINARY, b"ztreamy-stream"),
        ({"sec_websocket_protocol": "ldjson", "accept": "application/ztreamy-stream"}, TEXT, b"ldjson"),
        ({"sec_websocket_extensions": "permessage-deflate; client_max_window_bits"}, TEXT, None),
    ],
)
def test_the_form_that_is_asked_for(headers, form, told):
    """By subprotocol, else by Accept; no extension is taken."""
    head, found = shake_hands(request(**headers))
    assert found is form
    assert head.startswith(b"HTTP/1.1 101 ")
    assert ACCEPTED in head.split(b"\r\n")
    assert b"Extensions" not in head
    assert (told is None) == (b"Sec-WebSocket-Protocol" not in head)
    assert told is None or b"Sec-WebSocket-Protocol: " + told in head.split(b"\r\n")


@pytest.mark.parametrize(
    ("headers", "said"),
    [
        ({"sec_websocket_key": None}, "Sec-WebSocket-Key"),
        ({"sec_websocket_key": "short"}, "Sec-WebSocket-Key"),
        ({"sec_websocket_key": "dGhlIHNhbXBsZSBub25jZQ==, dGhlIHNhbXBsZSBub25jZQ=="}, "Sec-WebSocket-Key"),
        ({"sec_websocket_version": "8"}, "Sec-WebSocket-Version"),
        ({"sec_websocket_protocol": "chat"}, "ldjson, ztreamy-stream"),
        ({"version": "1.0"}, "1.0"),
    ],
)
def test_what_is_no_handshake(headers, said):
    """It is said what is wrong."""
    with pytest.raises(MalformedRequest, match=said):
        shake_hands(request(**headers))


def test_a_client_takes_the_answer():
    """The library's client, face to face."""
    client = ClientProtocol(parse_uri("ws://localhost/events/stream"), subprotocols=["ztreamy-stream"])
    asked = client.connect()
    headers = {name.lower(): value for name, value in asked.headers.raw_items()}
    head, _ = shake_hands(StreamRequest("GET", asked.path, "", headers, "1.1", False, websocket=True))
    client.send_request(asked)
    client.receive_data(head)
    assert client.state is State.OPEN
    assert client.subprotocol == "ztreamy-stream"
