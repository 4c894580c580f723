"""Items as JSON: an object, an array of them, or one a line (facts: Ztreamy's wire format, 1.7 and 1.8).

::

    {"Event-Id":"e2","Source-Id":"src-1","Syntax":"text/turtle","Aggregator-Ids":["a","b"],"X-Foo":"bar:baz","Body":"<a> <b> <c> ."}

The headers are strings, Aggregator-Ids a list, and there is no Body-Length.  `Body` is what the body says where Syntax is
`application/json`, else a string: the body as UTF-8.  Bytes that are no UTF-8 become U+FFFD, so who follows pictures has to
read items as they are.

Ztreamy writes RDF bodies as expanded JSON-LD and puts `application/ld+json` in the place of their Syntax.  Here they stay
what they are: a consumer that parses RDF reads Turtle as well, one that doesn't wants the text its publisher wrote, and an
item has the same Syntax whichever way it is followed.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NoReturn

from triplewire.broker.errors import QueryTooComplex

from .depth import json_of
from .item_bodies import JSON, json_value
from .item_reader import PieceReader
from .items import (
    KNOWN,
    MANDATORY,
    PUBLISHED,
    SPACE,
    Item,
    ItemError,
    ItemLimits,
    encode_head,
    shown_name,
    split_ids,
    why_missing,
)
from .media import essence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_COMPACT: Final = (",", ":")
# Ids and names that are written as they are; Body-Length is known, and no member.
_STRINGS: Final = {
    name: field for name, field in KNOWN.items() if name not in {"Aggregator-Ids", "Body-Length"}
}


def encode_object(item: Item) -> bytes:
    """The item as one JSON object, in ASCII and without an end of line in it."""
    members: dict[str, Any] = dict(item.lines())
    if item.aggregator_ids:
        members["Aggregator-Ids"] = item.aggregator_ids
    head = json.dumps(members, separators=_COMPACT)
    return f'{head[:-1]},"Body":{_body(item)}}}'.encode()


def encode_array(items: Iterable[Item]) -> bytes:
    """A JSON array, as the answer to a long poll."""
    return b"[" + b",".join([encode_object(item) for item in items]) + b"]"


def encode_lines(items: Iterable[Item]) -> bytes:
    """An object a line, each line with its end: CRLF, which consumers split at."""
    return b"".join([encode_object(item) + b"\r\n" for item in items])


def decode_json(data: bytes, limits: ItemLimits = PUBLISHED) -> list[Item]:
    """The items of one object, or of an array of objects.

    Raises:
        ItemError: it is not JSON or nests too deeply, or one of them is no item or over a limit.
    """
    document = _document(data, "body")
    if not isinstance(document, list):
        return [_item(document, limits)]
    items = []
    for number, each in enumerate(document, 1):
        try:
            items.append(_item(each, limits))
        except ItemError as error:
            raise error.within(f"item {number}") from error
    return items


class LineReader(PieceReader):
    """Items from lines of JSON.  An empty line is no item; LF alone ends a line, too."""

    def __init__(
        self, limits: ItemLimits = PUBLISHED, on_unfit: Callable[[ItemError], None] | None = None
    ) -> None:
        super().__init__(limits, on_unfit)
        self._most = limits.header_bytes + limits.body_bytes
        self._rest = bytearray()

    def finish(self) -> list[Item]:
        """No bytes follow; the item of a last line that has no end, if there is one.

        Raises:
            ItemError: that line is no item, or one was refused.
        """
        return self.feed(b"\n")

    def _drop(self) -> None:
        self._rest = bytearray()

    def _place(self) -> str:
        return f"line {self._number}"

    def _take(self, data: bytes, items: list[Item]) -> None:
        *lines, rest = data.split(b"\n")
        for line in lines:
            self._line(line, items)
        self._keep(rest)

    def _line(self, line: bytes, items: list[Item]) -> None:
        if self._rest:
            self._keep(line)
            line = bytes(self._rest)
            self._rest = bytearray()
        elif len(line) > self._most:
            self._too_long()
        if line.strip():
            try:
                items.append(_item(_document(line, "object"), self._limits))
            except ItemError as error:
                self._unfit(error)
        self._number += 1

    def _keep(self, part: bytes) -> None:
        if len(self._rest) + len(part) > self._most:
            self._too_long()
        self._rest += part

    def _too_long(self) -> NoReturn:
        raise ItemError(f"longer than {self._most} bytes", "object")


def _body(item: Item) -> str:
    """The body as JSON; what is none, whatever it says that it is, as its text."""
    if essence(item.syntax) == JSON:
        with suppress(ItemError):
            return json.dumps(json_value(item.body), separators=_COMPACT)
    return json.dumps(item.body.decode("utf-8", "replace"))


def _document(data: bytes, where: str) -> Any:
    try:
        return json_of(data.decode())
    except QueryTooComplex as error:
        raise ItemError(error.description, where) from error
    except UnicodeDecodeError as error:
        raise ItemError(f"byte {error.start} is not UTF-8", where) from error
    except ValueError as error:
        raise ItemError(f"is not JSON: {error}", where) from error


def _item(said: Any, limits: ItemLimits) -> Item:
    """The item that an object of a stranger is."""
    if not isinstance(said, dict):
        raise ItemError(f"must be a JSON object; it is {said!a:.60}", "object")
    members = {name: value for name, value in said.items() if value is not None or name == "Body"}
    for name in (*MANDATORY, "Body"):
        if name not in members:
            raise ItemError(why_missing(name, members), name)
    said_body = members.pop("Body")
    aggregators = _aggregators(members.pop("Aggregator-Ids", []))
    values = {name: _string(name, value) for name, value in members.items()}
    fields = {field: values.pop(name) for name, field in _STRINGS.items() if name in values}
    item = Item(
        body=_body_bytes(fields["syntax"], said_body),
        aggregator_ids=aggregators,
        headers=tuple(values.items()),
        **fields,
    )
    _check_size(item, limits)
    return item


def _string(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ItemError(f"must be a string; it is {value!a:.60}", shown_name(name))
    return value.strip(SPACE)


def _aggregators(said: Any) -> tuple[str, ...]:
    if isinstance(said, str):
        return split_ids(said.strip(SPACE))
    if not isinstance(said, list) or not all(isinstance(each, str) for each in said):
        raise ItemError("must be a list of strings", "Aggregator-Ids")
    return tuple(each for each in said if each)


def _body_bytes(syntax: str, said: Any) -> bytes:
    media_type = essence(syntax)
    if isinstance(said, str) and media_type != JSON:
        try:
            return said.encode()
        except UnicodeEncodeError as error:
            raise ItemError("a lone surrogate has no UTF-8", "Body") from error
    if media_type != JSON and not media_type.endswith("+json"):
        raise ItemError(f"must be a string where Syntax is {syntax!a:.60}", "Body")
    try:
        return json.dumps(said, separators=_COMPACT, allow_nan=False).encode()
    except ValueError as error:
        raise ItemError(f"is not JSON: {error}", "Body") from error


def _check_size(item: Item, limits: ItemLimits) -> None:
    """What was read in one form can be passed on in the other."""
    if len(item.lines()) >= limits.headers:  # Body-Length is one more
        raise ItemError(f"more than {limits.headers}", "headers")
    if len(encode_head(item)) > limits.header_bytes:
        raise ItemError(f"longer than {limits.header_bytes} bytes", "headers")
    if len(item.body) > limits.body_bytes:
        raise ItemError(f"{len(item.body)} bytes; {limits.body_bytes} are read", "Body")
