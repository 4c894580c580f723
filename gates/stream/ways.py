"""How a request wants to follow a stream: the lane, and the head of its response."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from triplewire.broker.errors import MalformedRequest

from .handshake import shake_hands
from .lanes import LaneKey
from .responses import stream_head, with_field

if TYPE_CHECKING:
    from .feed import Feed
    from .requests import Past, StreamRequest

# How many seconds before the last item seen the replay begins; where it is missing, that item is not known.
OVERLAP = "Triplewire-Overlap"
# Something is sent at least so often, in seconds; where it is missing there may be nothing for ever.
SIGN_OF_LIFE = "Triplewire-Sign-Of-Life"
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


def head_of(way: Way, feed: Feed, past: Past) -> bytes:
    """The head with what is true of this stream, and of what is asked of it.

    That is how often something is sent at least and, for who asks for an overlap, how far it reaches, as what is kept
    may be less, or not have the item.
    """
    head = way.head
    if feed.sign_of_life_s:
        head = with_field(head, SIGN_OF_LIFE, f"{feed.sign_of_life_s:g}")
    if past.overlap_s is None or past.last_seen is None:
        return head
    covered_s = feed.history.covered_s(past.last_seen, past.overlap_s)
    return head if covered_s is None else with_field(head, OVERLAP, f"{covered_s:.3f}")
