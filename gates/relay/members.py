"""What a JSON object of a stranger has: each member of its kind and within its bounds, or an error that says where.

A member that is not known is not looked at, so that older programs understand newer ones.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from triplewire.broker.errors import ProtocolError, QueryTooComplex
from triplewire.broker.stream_checks import is_stream_name
from triplewire.broker.wire.depth import json_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

MOST_URL_CHARS = 300
_MOST_SHOWN = 60
_MOST_COUNT = 2**53 - 1  # what every reader of JSON has exactly (RFC 8259, 6)
_NODE = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_WORD = re.compile(r"[A-Za-z0-9_-]{0,64}")
_TEXT = re.compile("[^\x00-\x1f\x7f\ud800-\udfff]{0,64}")
# Of a URL's host and path: nothing that would have to be escaped in a header, a page or a log
_PLAIN = re.compile(r"[A-Za-z0-9_.~!$&'()*+,;=:@%/\[\]-]+")


def is_node(name: str) -> bool:
    """Whether this can be a node's id: 1 to 64 letters, digits, `_`, `-` and `.`, as it is part of URLs."""
    return _NODE.fullmatch(name) is not None and name not in {".", ".."}


class Members:
    """The members of the object at `where`; each reader raises ProtocolError."""

    def __init__(self, found: Any, where: str = "") -> None:
        if not isinstance(found, dict):
            raise ProtocolError(f"{where or 'the body'}: expected a JSON object, not {_shown(found)}")
        self._found: dict[str, Any] = found
        self._where = where

    @classmethod
    def of(cls, body: bytes | str) -> Members:
        """Those of a JSON text."""
        try:
            text = body if isinstance(body, str) else body.decode("utf-8")
            return cls(json_of(text))
        except QueryTooComplex as error:
            raise ProtocolError(error.description) from error
        except ProtocolError:
            raise
        except (ValueError, RecursionError) as error:
            raise ProtocolError(f"the body is not JSON: {error!s:.200}") from error

    def at(self, name: str) -> str:
        """The path of a member, for errors."""
        return f"{self._where}.{name}" if self._where else name

    def wrong(self, name: str, expected: str) -> ProtocolError:
        """The error for a member that is not what it must be."""
        found = _shown(self._found[name]) if name in self._found else "nothing"
        return ProtocolError(f"{self.at(name)}: expected {expected}, not {found}")

    def text(self, name: str, default: str | None = None) -> str:
        """At most 64 characters, none of them a control character."""
        return self._matched(name, default, _TEXT, "a text of at most 64 characters that can be printed")

    def word(self, name: str, default: str | None = None) -> str:
        """At most 64 letters, digits, `_` and `-`."""
        return self._matched(name, default, _WORD, "at most 64 letters, digits, '_', '-'")

    def string(self, name: str, most: int, default: str | None = None) -> str:
        """Any text of at most `most` characters; it is checked where it is used."""
        value = self._found.get(name, default)
        if not isinstance(value, str) or len(value) > most:
            raise self.wrong(name, f"a text of at most {most} characters")
        return value

    def node(self, name: str) -> str:
        """A node's id."""
        value = self._found.get(name)
        if not isinstance(value, str) or not is_node(value):
            raise self.wrong(name, "a node's id: 1 to 64 letters, digits, '_', '-', '.'")
        return value

    def count(self, name: str, default: int | None = None) -> int:
        """A whole number from 0 on."""
        value = self._found.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _MOST_COUNT:
            raise self.wrong(name, "a whole number, at least 0")
        return value

    def number(self, name: str, most: float) -> float:
        """A number from 0 to `most`."""
        value = self._found.get(name)
        if not is_number(value, most):
            raise self.wrong(name, f"a number from 0 to {most:g}")
        return float(value)  # type: ignore[arg-type]  # is_number has looked

    def flag(self, name: str, *, default: bool) -> bool:
        """True or false."""
        value = self._found.get(name, default)
        if not isinstance(value, bool):
            raise self.wrong(name, "true or false")
        return value

    def url(self, name: str, schemes: Collection[str], *, empty: bool = False) -> str:
        """An absolute URL of one of the schemes with a host, without a slash at its end."""
        value = self._found.get(name, "" if empty else None)
        if empty and value == "":
            return ""
        if not isinstance(value, str) or not _is_url(value, schemes):
            raise self.wrong(
                name, f"a URL ({', '.join(schemes)}) with a host, and no user, query or fragment"
            )
        return value.rstrip("/")

    def names(self, name: str, most: int) -> tuple[str, ...]:
        """At most `most` names of streams; none where the member is not there."""
        value = self._found.get(name, [])
        if not isinstance(value, list) or len(value) > most:
            raise self.wrong(name, f"a list of at most {most} names of streams")
        for index, each in enumerate(value):
            if not isinstance(each, str) or not is_stream_name(each):
                raise ProtocolError(f"{self.at(name)}[{index}]: {_shown(each)} is no name of a stream")
        return tuple(value)

    def urls(self, name: str, most: int, schemes: Collection[str]) -> list[str]:
        """The first `most` URLs of a list; see `url`."""
        value = self._found.get(name)
        if not isinstance(value, list):
            raise self.wrong(name, "a list of URLs")
        return [Members({name: each}, self._where).url(name, schemes) for each in value[:most]]

    def objects(self, name: str, most: int) -> Iterator[tuple[str, Members]]:
        """The members of an object whose values are objects, at most `most`, by their names."""
        for key, value in self.table(name, most).items():
            yield key, Members(value, f"{self.at(name)}.{_clipped(key)}")

    def table(self, name: str, most: int) -> dict[str, Any]:
        """An object of at most `most` members, as it is."""
        value = self._found.get(name)
        if not isinstance(value, dict) or len(value) > most:
            raise self.wrong(name, f"an object of at most {most} members")
        return value

    def listed(self, name: str, most: int) -> Iterator[Members]:
        """The objects of a list of at most `most`."""
        value = self._found.get(name)
        if not isinstance(value, list) or len(value) > most:
            raise self.wrong(name, f"a list of at most {most} objects")
        for index, each in enumerate(value):
            yield Members(each, f"{self.at(name)}[{index}]")

    def _matched(self, name: str, default: str | None, pattern: re.Pattern[str], expected: str) -> str:
        value = self._found.get(name, default)
        if not isinstance(value, str) or not pattern.fullmatch(value):
            raise self.wrong(name, expected)
        return value


def is_number(value: Any, most: float) -> bool:
    """Whether it is a JSON number from 0 to `most`; NaN is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return 0 <= value <= most and math.isfinite(value)


def _is_url(value: str, schemes: Collection[str]) -> bool:
    if len(value) > MOST_URL_CHARS or not _PLAIN.fullmatch(value):
        return False
    try:
        parts = urlsplit(value)
        port = parts.port
    except ValueError:
        return False
    return parts.scheme in schemes and bool(parts.hostname) and "@" not in parts.netloc and port != 0


def _shown(value: Any) -> str:
    return _clipped(repr(value) if not isinstance(value, list | dict) else type(value).__name__)


def _clipped(text: str) -> str:
    # What a stranger wrote goes into an error: short, and without lone surrogates, which no answer can be encoded with
    plain = text.encode("utf-8", "replace").decode("utf-8")
    return plain if len(plain) <= _MOST_SHOWN else f"{plain[:_MOST_SHOWN]}..."
