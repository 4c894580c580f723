"""What is published, from the bytes of a file or a pipe as they come: items, or bodies that become new items."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from triplewire.broker.wire.item_reader import ItemReader
from triplewire.broker.wire.items import PUBLISHED, Item, ItemError

from .new_items import new_item

if TYPE_CHECKING:
    from collections.abc import Callable


class Source(Protocol):
    """Items from bytes; both methods raise ItemError where they are none."""

    def feed(self, data: bytes) -> list[Item]:
        """The items that end in these bytes."""
        ...

    def finish(self) -> list[Item]:
        """Those that end with the last byte."""
        ...


class WireItems:
    """Items as they are on the wire."""

    def __init__(self) -> None:
        self._reader = ItemReader()

    def feed(self, data: bytes) -> list[Item]:
        """See `Source`."""
        return self._reader.feed(data)

    def finish(self) -> list[Item]:
        """See `Source`."""
        return self._reader.finish()


class _Bodies:
    """Bodies, which all get the same headers but for the id and the time."""

    def __init__(
        self, source_id: str, syntax: str, *, application_id: str | None = None, event_type: str | None = None
    ) -> None:
        """Raises ItemError: there can be no item with these."""

        def item(body: bytes) -> Item:
            return new_item(source_id, syntax, body, application_id=application_id, event_type=event_type)

        item(b"")
        self._item: Callable[[bytes], Item] = item
        self._rest = bytearray()

    def _keep(self, data: bytes) -> None:
        self._rest += data
        if len(self._rest) > PUBLISHED.body_bytes:
            raise ItemError(f"longer than {PUBLISHED.body_bytes} bytes", "body")


class Whole(_Bodies):
    """All is one body."""

    def feed(self, data: bytes) -> list[Item]:
        """See `Source`."""
        self._keep(data)
        return []

    def finish(self) -> list[Item]:
        """See `Source`."""
        return [self._item(bytes(self._rest))]


class Lines(_Bodies):
    """Each line that is not empty is a body, without its end (LF or CRLF)."""

    def feed(self, data: bytes) -> list[Item]:
        """See `Source`."""
        whole, newline, rest = data.rpartition(b"\n")
        if not newline:
            self._keep(data)
            return []
        lines = bytes(self._rest + whole).split(b"\n")
        self._rest.clear()
        self._keep(rest)
        return self._items(lines)

    def finish(self) -> list[Item]:
        """See `Source`."""
        return self._items([bytes(self._rest)])

    def _items(self, lines: list[bytes]) -> list[Item]:
        return [self._item(body) for line in lines if (body := line.removesuffix(b"\r"))]
