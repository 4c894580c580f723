"""Items of a stream: a noun that can't be an invalid one, and its bytes (facts: Ztreamy's wire format, 1.1 and 1.2).

::

    Event-Id: e2
    Source-Id: src-1                               empty in commands only
    Syntax: text/turtle                            or `ztreamy-command`, `ztreamy-test`
    Application-Id: app                            may be absent, as the next three
    Aggregator-Ids: f2bf3339-...,<next>            the streams that it came through
    Event-Type: T
    Timestamp: 2026-01-01T00:00:00.000+00:00       any text
    X-Foo: bar:baz                                 any number of extensions
    Body-Length: 13                                in bytes

    <a> <b> <c> .                                  nothing ends it: the next item follows at once

They are written in this order, lines end in CRLF, and read in any.

A client of Ztreamy's that meets an item it can't read dies without a word and hears nothing more.  So whatever such an
item could be is refused where it is made: header names in another case, one header twice, control characters in a value
(which would be headers of their own, or the end of the item), a command that is not one of the four.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NoReturn

from triplewire.broker.errors import ProtocolError

if TYPE_CHECKING:
    from collections.abc import Iterable

COMMAND: Final = "ztreamy-command"
TEST: Final = "ztreamy-test"
TEST_CONNECTION: Final = "Test-Connection"
SOURCE_STARTED: Final = "Event-Source-Started"
SOURCE_FINISHED: Final = "Event-Source-Finished"
STREAM_FINISHED: Final = "Stream-Finished"
# Any other, `Set-Compression` of the papers too, raises in every client.
COMMANDS: Final = frozenset({TEST_CONNECTION, SOURCE_STARTED, SOURCE_FINISHED, STREAM_FINISHED})
_COMMAND_BODIES: Final = {name.encode(): name for name in COMMANDS}

# Header names are case-sensitive; none of them, in any case, can be an extension's.
KNOWN: Final = {
    "Event-Id": "event_id",
    "Source-Id": "source_id",
    "Syntax": "syntax",
    "Application-Id": "application_id",
    "Aggregator-Ids": "aggregator_ids",
    "Event-Type": "event_type",
    "Timestamp": "timestamp",
    "Body-Length": "body_length",
}
MANDATORY: Final = ("Event-Id", "Source-Id", "Syntax")
_RESERVED: Final = {name.lower(): name for name in (*KNOWN, "Body")}
SPACE: Final = " \t"

# Controls (RFC 9110, 5.5, has tabs but no others), what some readers of lines take for an end of a line, and what has no
# UTF-8.
_UNFIT: Final = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_NAME: Final = re.compile(r"[^\s:\x00-\x20\x7f-\x9f\ud800-\udfff]+")
# RFC 6838, 4.2, and parameters as in RFC 9110, 5.6.6
_TYPE: Final = r"[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]*+"
_PARAMETER: Final = r"[A-Za-z0-9!#$%&'*+.^_`|~-]++"
_QUOTED: Final = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_SYNTAX: Final = re.compile(
    rf"{_TYPE}/{_TYPE}(?:[ \t]*+;[ \t]*+{_PARAMETER}=(?:{_PARAMETER}|{_QUOTED}))*+", re.ASCII
)


class ItemError(ProtocolError):
    """Something that is no item: `what` is wrong, and `where`: a header's name, the body, an item of many."""

    def __init__(self, what: str, where: str) -> None:
        super().__init__(f"{where}: {what}")
        self.what = what
        self.where = where

    def within(self, place: str) -> ItemError:
        """The same error, of an item that is at `place`."""
        return ItemError(self.what, f"{place}, {self.where}")


@dataclass(frozen=True, slots=True)
class ItemLimits:
    """What is read of one item at most: the headers with the empty line behind them, how many there are, the body.

    In JSON a line, or the whole, may be as long as the headers and the body together.
    """

    header_bytes: int = 16_384
    headers: int = 100
    body_bytes: int = 16 * 1024 * 1024


PUBLISHED: Final = ItemLimits()
# Each stream that an item comes through adds to its Aggregator-Ids, and JSON has up to six characters for one of text: who
# follows a stream has to read more than its publishers could say.
FOLLOWED: Final = ItemLimits(header_bytes=65_536, headers=200, body_bytes=64 * 1024 * 1024)


@dataclass(frozen=True, slots=True)
class Item:
    """What is published, passed on and followed; `headers` are the extensions, names and values.

    Values have no space around them, as readers strip it.

    Raises:
        ItemError: it would be no item on the wire.
    """

    event_id: str
    source_id: str
    syntax: str
    body: bytes = field(default=b"", repr=False)
    application_id: str | None = None
    aggregator_ids: tuple[str, ...] = ()
    event_type: str | None = None
    timestamp: str | None = None
    headers: tuple[tuple[str, str], ...] = ()
    _wire: bytes | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self._looks_fit():
            for name, value in self.lines():
                _check_value(name, value)
        if self.headers:
            _check_extensions(self.headers)
        if self.aggregator_ids:
            _check_aggregators(self.aggregator_ids)
        if not self.event_id:
            raise ItemError("must not be empty", "Event-Id")
        if not self.source_id or _SYNTAX.fullmatch(self.syntax) is None:
            self._check_command()

    def _looks_fit(self) -> bool:
        """Whether all values surely are: all printable, and no space at a border, even where a value has the border in it."""
        text = "|".join(
            (
                "",
                self.event_id,
                self.source_id,
                self.syntax,
                self.application_id or "",
                self.event_type or "",
                self.timestamp or "",
                *self.aggregator_ids,
                *[value for _, value in self.headers],
                "",
            )
        )
        return text.isprintable() and "| " not in text and " |" not in text

    def _check_command(self) -> None:
        if self.syntax == COMMAND:
            if self.body not in _COMMAND_BODIES:
                raise ItemError(
                    f"{self.body[:60]!r} is none of the commands {', '.join(sorted(COMMANDS))}", "body"
                )
        elif not self.source_id:
            raise ItemError("must not be empty, but for commands", "Source-Id")
        elif self.syntax != TEST:
            raise ItemError(
                f"must be a media type, {COMMAND} or {TEST}; it is {_elided(self.syntax)}", "Syntax"
            )

    @property
    def command(self) -> str | None:
        """The name of the command that this is, one of COMMANDS; None for what is no command."""
        return _COMMAND_BODIES[self.body] if self.syntax == COMMAND else None

    def lines(self) -> list[tuple[str, str]]:
        """The headers that are there, names and values, in the order in which they are written; without Body-Length."""
        lines = [("Event-Id", self.event_id), ("Source-Id", self.source_id), ("Syntax", self.syntax)]
        if self.application_id is not None:
            lines.append(("Application-Id", self.application_id))
        if self.aggregator_ids:
            lines.append(("Aggregator-Ids", ",".join(self.aggregator_ids)))
        if self.event_type is not None:
            lines.append(("Event-Type", self.event_type))
        if self.timestamp is not None:
            lines.append(("Timestamp", self.timestamp))
        lines.extend(self.headers)
        return lines


def encode_item(item: Item) -> bytes:
    """The item on the wire, the same object each time: it is encoded once, whoever asks."""
    wire = item._wire  # noqa: SLF001 - the cache is the item's, as it lives as long
    if wire is None:
        wire = encode_head(item) + item.body
        object.__setattr__(item, "_wire", wire)
    return wire


def encode_head(item: Item) -> bytes:
    """The item on the wire up to its body."""
    lines = "".join([f"{name}: {value}\r\n" for name, value in item.lines()])
    return f"{lines}Body-Length: {len(item.body)}\r\n\r\n".encode()


def command_item(name: str, event_id: str, source_id: str = "", timestamp: str | None = None) -> Item:
    """A command.

    Raises:
        ItemError: there is no such command.
    """
    return Item(event_id, source_id, COMMAND, name.encode(), timestamp=timestamp)


def why_missing(name: str, others: Iterable[str]) -> str:
    """What to say of a mandatory header that is not there; it may be, in another case."""
    variant = next((other for other in others if other.lower() == name.lower()), None)
    if variant is None:
        return "is missing"
    return f"is missing: names are case-sensitive, and there is {_elided(variant)}"


def split_ids(value: str) -> tuple[str, ...]:
    """The ids of Aggregator-Ids.  Not stripped; empty ones, which relays make of an empty header, are left out."""
    return tuple(each for each in value.split(",") if each)


def _check_value(name: str, value: str) -> None:
    found = _UNFIT.search(value)
    if found is not None:
        raise ItemError(f"must have no {found.group()!a}; it is {_elided(value)}", shown_name(name))
    if value.strip(SPACE) != value:
        raise ItemError(f"must have no space around it; it is {_elided(value)}", shown_name(name))


def _check_extensions(headers: tuple[tuple[str, str], ...]) -> None:
    seen = set()
    for name, _ in headers:
        if _NAME.fullmatch(name) is None:
            raise ItemError(f"{_elided(name)} is no name of a header", "extensions")
        known = _RESERVED.get(name.lower())
        if known is not None:
            _misnamed(name, known)
        if name in seen:
            raise ItemError("must be there once", shown_name(name))
        seen.add(name)


def _misnamed(name: str, known: str) -> NoReturn:
    if name == known:
        raise ItemError("can't be an extension", name)
    raise ItemError(f"must be written {known}", name)


def _check_aggregators(aggregator_ids: tuple[str, ...]) -> None:
    if "" in aggregator_ids or any("," in each for each in aggregator_ids):
        raise ItemError("each must be an id without a comma", "Aggregator-Ids")


def _elided(value: str) -> str:
    return ascii(value if len(value) <= 60 else f"{value[:60]}...")


def shown_name(name: str) -> str:
    """A header's name as it can stand in a sentence, whatever it is."""
    return name if len(name) <= 60 and name.isprintable() else _elided(name)
