"""An item in its place in its stream, and those that leave together.

Numbers rise by one from 1, in the order in which items were taken; it is the same for all who read.  They never go on
the wire in Ztreamy's format: they are what the broker's own parts tell positions by.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from triplewire.broker.wire.item_json import encode_lines
from triplewire.broker.wire.items import encode_item

if TYPE_CHECKING:
    from triplewire.broker.wire.items import Item


@dataclass(frozen=True, slots=True)
class Entry:
    """The item with its number, and when it was taken, in seconds since 1970."""

    number: int
    item: Item
    taken_at: float


@dataclass(frozen=True)
class Batch:
    """Entries of one stream in their order, encoded once for all who are sent them."""

    stream: str
    entries: tuple[Entry, ...]

    def __len__(self) -> int:
        return len(self.entries)

    @property
    def first(self) -> int:
        """The number of the first entry; a batch that is sent has one."""
        return self.entries[0].number

    @property
    def last(self) -> int:
        """The number of the last entry."""
        return self.entries[-1].number

    @cached_property
    def plain(self) -> bytes:
        """The items back to back, nothing between them (facts 0.3)."""
        return b"".join([encode_item(entry.item) for entry in self.entries])

    @cached_property
    def ldjson(self) -> bytes:
        """One JSON object a line, each ended by CRLF (facts 1.7)."""
        return encode_lines([entry.item for entry in self.entries])

    @cached_property
    def answers(self) -> dict[tuple[bool, bool], bytes]:
        """Bodies of answers to long polls that were made of it, by whether they are JSON, and whether compressed."""
        return {}

    def after(self, number: int) -> Batch:
        """What comes after `number`: itself, or the rest of it, which may be empty."""
        if not self.entries or self.first > number:
            return self
        return Batch(self.stream, tuple([entry for entry in self.entries if entry.number > number]))
