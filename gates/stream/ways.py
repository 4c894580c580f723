"""How a request wants to follow a stream: the lane, and the head of its response."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from triplewire.broker.errors import MalformedRequest

from .handshake import shake_hands
from .lanes import LaneKey
from .responses import stream_head

if TYPE_CHECKING:
    from .requests import StreamRequest

_SOCKETS = frozenset({"stream", "priority"})


class Way(NamedTuple):
    """The lane, and the head as it is sent."""

    key: LaneKey
    head: bytes


def way_of(request: StreamRequest) -> Way:
    """For the accesses stream, compressed and priority.

    Raises:
        MalformedRequest: it asks for a WebSocket and can't have it.
    """
    target = request.target()
    if request.websocket:
        if target.access not in _SOCKETS:
            raise MalformedRequest(f"WebSockets are at /{target.stream:.100}/stream and /priority")
        head, form = shake_hands(request)
        return Way(LaneKey(form, deflate=False, framed=False), head)
    form = request.form()
    # To whoever takes deflate /stream is /compressed (facts 1.3)
    wants_deflate = target.access == "compressed" or (not form.alone and request.takes_deflate)
    key = LaneKey(form, deflate=target.access != "priority" and wants_deflate, framed=request.framed)
    return Way(key, stream_head(key.form, deflate=key.deflate, framed=key.framed))
