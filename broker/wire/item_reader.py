"""Bytes become items, whatever pieces they come in (facts: Ztreamy's wire format, 1.1, 1.8, and what its clients tolerate).

Lines end in CRLF, LF is tolerated.  Nothing stands between items, nor behind the last: an empty line where an item must
begin is refused, as it would end Ztreamy's own clients.

A reader goes from head to head by two searches: one for the empty line, one slice for the body.  What it keeps between
two pieces is a head that has not ended, or a body that has not, so its memory is bounded by its limits.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from .items import KNOWN, MANDATORY, PUBLISHED, SPACE, Item, ItemError, ItemLimits, split_ids, why_missing

if TYPE_CHECKING:
    from collections.abc import Callable

_END: Final = re.compile(rb"\n\r?\n")
_DIGITS: Final = re.compile(r"[0-9]{1,18}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Head:
    """An item without its body: what the constructor needs, how many bytes it had, and how many of body follow."""

    fields: dict[str, Any]
    length: int
    body_length: int

    def item(self, body: bytes) -> Item:
        """The item with its body.

        Raises:
            ItemError: a mandatory header is missing, or it is none for another reason.
        """
        try:
            return Item(body=body, **self.fields)
        except TypeError:
            for name in MANDATORY:
                if KNOWN[name] not in self.fields:
                    others = [other for other, _ in self.fields.get("headers", ())]
                    raise ItemError(why_missing(name, others), name) from None
            raise


class PieceReader(ABC):
    """What readers of items from pieces of bytes promise, whichever form the items have.

    What stands before a mistake is still given: the piece that has the mistake gives the items before it, and the error is
    raised by the next call, or by the same if there are none.  So whoever reads gets the same items and the same error,
    however the bytes were cut; `error` tells it at once.  There is no way on from an error: it is raised again.

    Whoever follows another's stream can give `on_unfit`: what has a beginning and an end but is no item is told to it and
    left out, and the next is read.  Else one such item would stop a relay for ever, as it comes again with every reconnect.
    """

    def __init__(
        self, limits: ItemLimits = PUBLISHED, on_unfit: Callable[[ItemError], None] | None = None
    ) -> None:
        self._limits = limits
        self._on_unfit = on_unfit
        self._number = 1  # of the item or line that is being read
        self.error: ItemError | None = None

    def feed(self, data: bytes) -> list[Item]:
        """The items that end within `data`.

        Raises:
            ItemError: what comes is no item, or is over a limit.
        """
        self._raise()
        items: list[Item] = []
        try:
            self._take(data, items)
        except ItemError as error:
            self._refuse(error)
        if not items:
            self._raise()
        return items

    @abstractmethod
    def finish(self) -> list[Item]:
        """No bytes follow; the items that this completes.

        Raises:
            ItemError: an item has begun that has not ended, or one was refused.
        """

    @abstractmethod
    def _take(self, data: bytes, items: list[Item]) -> None:
        """Put the items that end within `data` behind the others."""

    @abstractmethod
    def _drop(self) -> None:
        """Keep nothing more."""

    @abstractmethod
    def _place(self) -> str:
        """Where the item that is being read is."""

    def _raise(self) -> None:
        if self.error is not None:
            raise ItemError(self.error.what, self.error.where)

    def _refuse(self, error: ItemError) -> None:
        self.error = error.within(self._place())
        self._drop()

    def _unfit(self, error: ItemError) -> None:
        if self._on_unfit is None:
            raise error
        self._on_unfit(error.within(self._place()))


class ItemReader(PieceReader):
    """Items from bytes as they are on the wire."""

    def __init__(
        self, limits: ItemLimits = PUBLISHED, on_unfit: Callable[[ItemError], None] | None = None
    ) -> None:
        super().__init__(limits, on_unfit)
        self._rest = b""  # of a head that has not ended
        self._head: Head | None = None
        self._body = bytearray()  # of that head, as far as it is there
        self._read = 0  # bytes of items that are complete

    def finish(self) -> list[Item]:
        """No bytes follow.

        Raises:
            ItemError: an item has begun that has not ended, or one was refused.
        """
        self._raise()
        if self._head is not None:
            missing = self._head.body_length - len(self._body)
            self._refuse(ItemError(f"{missing} bytes of {self._head.body_length} are missing", "body"))
        elif self._rest:
            self._refuse(ItemError("the empty line behind them is missing", "headers"))
        self._raise()
        return []

    def _drop(self) -> None:
        self._rest, self._head, self._body = b"", None, bytearray()

    def _place(self) -> str:
        return f"item {self._number} at byte {self._read}"

    def _take(self, data: bytes, items: list[Item]) -> None:
        position = 0
        seen = 0  # bytes of the head that need not be searched again, or a head in tiny pieces would be quadratic work
        if self._head is not None:
            position = self._body_goes_on(data, self._head, items)
        elif self._rest:
            seen = max(len(self._rest) - 2, 0)
            data = self._rest + data
            self._rest = b""
        while position < len(data):
            end = self._end_of_head(data, position, seen)
            seen = 0
            if end is None:
                self._rest = data[position:]
                return
            head = read_head(data[position:end], self._limits)
            position = end + head.body_length
            if position > len(data):
                self._head, self._body = head, bytearray(data[end:])
                return
            self._complete(head, data[end:position], items)

    def _body_goes_on(self, data: bytes, head: Head, items: list[Item]) -> int:
        """Takes what belongs to the body that has begun; where in `data` the next item begins."""
        missing = head.body_length - len(self._body)
        self._body += data[:missing]
        if len(data) >= missing:
            body = bytes(self._body)
            self._head, self._body = None, bytearray()
            self._complete(head, body, items)
        return missing

    def _complete(self, head: Head, body: bytes, items: list[Item]) -> None:
        try:
            items.append(head.item(body))
        except ItemError as error:
            self._unfit(error)
        self._read += head.length + head.body_length
        self._number += 1

    def _end_of_head(self, data: bytes, start: int, seen: int) -> int | None:
        """Where the body begins; None while that is to come.  There is no end within the first `seen` bytes."""
        if data.startswith((b"\n", b"\r\n"), start):
            raise ItemError(
                "an empty line, or bytes behind the last item, where an item must begin", "headers"
            )
        most = self._limits.header_bytes
        found = _END.search(data, start + seen, start + most)
        if found is not None:
            return found.end()
        if len(data) - start >= most:
            raise ItemError(f"longer than {most} bytes", "headers")
        return None


def read_head(block: bytes, limits: ItemLimits) -> Head:
    """The headers up to the empty line, which is the end of `block`.

    Raises:
        ItemError: a line is no header, a known one is there twice, or it is over a limit.
    """
    try:
        text = block.decode()
    except UnicodeDecodeError as error:
        raise ItemError(f"byte {error.start} is not UTF-8", "headers") from error
    lines = text.replace("\r\n", "\n").split("\n")
    del lines[-2:]  # behind the last line's end, and behind the empty line's
    if len(lines) > limits.headers:
        raise ItemError(f"more than {limits.headers}", "headers")
    fields: dict[str, Any] = {}
    extensions: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        field = KNOWN.get(name)
        if field is None:
            if not colon:
                raise ItemError(f"the line {line[:60]!a} has no colon", "headers")
            extensions[name] = value.strip(SPACE)  # twice: the last one counts
        elif not colon or field in fields:
            raise ItemError("must be there once" if colon else "must have a colon behind it", name)
        else:
            fields[field] = value.strip(SPACE)
    return _head(fields, extensions, len(block), limits)


def _head(fields: dict[str, Any], extensions: dict[str, str], length: int, limits: ItemLimits) -> Head:
    body_length = _body_length(fields.pop("body_length", "0"), limits)
    if "aggregator_ids" in fields:
        fields["aggregator_ids"] = split_ids(fields["aggregator_ids"])
    if extensions:
        fields["headers"] = tuple(extensions.items())
    return Head(fields, length, body_length)


def _body_length(value: str, limits: ItemLimits) -> int:
    if _DIGITS.fullmatch(value) is None:
        raise ItemError(f"must be a number of bytes; it is {value[:60]!a}", "Body-Length")
    length = int(value)
    if length > limits.body_bytes:
        raise ItemError(f"{length} bytes; {limits.body_bytes} are read", "Body-Length")
    return length
