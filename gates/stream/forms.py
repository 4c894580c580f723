"""The forms that the items of a stream are written in: Ztreamy's own, lines of JSON, server-sent events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from triplewire.broker.wire.item_json import encode_object
from triplewire.broker.wire.items import TEST_CONNECTION

if TYPE_CHECKING:
    from collections.abc import Callable

    from triplewire.broker.wire.items import Item

    from .entry import Batch


@dataclass(frozen=True, slots=True)
class Form:
    """A media type, and how a batch is written in it.

    `alone`: it is compressed only where the path says so.  `websocket`: what is written are frames.
    """

    media_type: str
    body: Callable[[Batch], bytes]
    alone: bool = False
    websocket: bool = False


def _plain(batch: Batch) -> bytes:
    return batch.plain


def _lines(batch: Batch) -> bytes:
    return batch.ldjson


def _events(batch: Batch) -> bytes:
    return b"".join([_event(entry.item) for entry in batch.entries])


def _event(item: Item) -> bytes:
    """One event: its id is the item's, which a browser sends back as Last-Event-ID; a sign of life is a comment."""
    if item.command == TEST_CONNECTION:
        return b":\n\n"
    return b"id: %b\ndata: %b\n\n" % (item.event_id.encode(), encode_object(item))


ZTREAMY: Final = Form("application/ztreamy-stream", _plain)
LDJSON: Final = Form("application/x-ldjson", _lines)
EVENTS: Final = Form("text/event-stream", _events, alone=True)  # browsers ask for deflate whenever they ask
