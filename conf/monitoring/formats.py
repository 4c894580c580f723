r"""How numbers are read out of MQTT messages, whose payloads are whatever their senders agreed on.

A format in `extended.formats` is for the topics that its regular expression `topic` matches as a whole.  Of those that
match, the first that finds a number in the payload is used.  It has one of::

    "value": "^(?<value>\\d+) °C$"              a regular expression with a group `value`; each match is a reading
    "json": {"{topic}/humidity": "air.rh"}     names of readings, and the paths to their members

The name of a reading is what mappings call it: a template in which {topic} is the MQTT topic, {id} and any other group
of the two expressions what they matched, and with JSON {id} the member at the path `id`.  For `value` the template is
`name`, and `{topic}` where there is none.  So an identifier in the topic and one in the payload end up in the same place.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeAlias

from pyoxigraph import Literal, NamedNode

from triplewire.broker.errors import ProfileError
from triplewire.jsap.shape import at, members, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    Groups: TypeAlias = Mapping[str, str]

PATH = "extended.formats"

# More than this is no sensor's message, and a regular expression may take its time.
_LARGEST_BYTES = 64 * 1024

# What every store can hold as a decimal: Oxigraph has 18 digits after the point and not many more before it.
_MOST_DIGITS = 18
_DOUBLES_END = 308  # 1e308 is the last power of ten among doubles

_XSD = "http://www.w3.org/2001/XMLSchema#"
_DECIMAL, _DOUBLE = NamedNode(_XSD + "decimal"), NamedNode(_XSD + "double")
_NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
_PLACEHOLDER = re.compile(r"\{(\w+)\}")
# Other languages write (?<name>...) for Python's (?P<name>...); (?<= and (?<! are the same in all of them.
_NAMED_GROUP = re.compile(r"\(\?<(?=[A-Za-z_])")


@dataclass(frozen=True, slots=True)
class Reading:
    """A number and the name that mappings know it by."""

    name: str
    value: Literal


class Formats:
    """The formats of a profile, in order."""

    def __init__(self, formats: Sequence[Format]) -> None:
        self._formats = formats

    @classmethod
    def of(cls, extended: Mapping[str, Any]) -> Formats:
        """The formats in the `extended` member of a profile.

        Raises:
            ProfileError: one of them is not as it should be.
        """
        found = extended.get("formats")
        if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
            raise ProfileError(PATH, "expected an array of objects")
        return cls([Format.of(item, f"{PATH}[{index}]") for index, item in enumerate(found)])

    def readings(self, topic: str, payload: bytes) -> list[Reading]:
        """The readings in a message; none where no format finds a number."""
        if len(payload) > _LARGEST_BYTES:
            return []
        try:
            content = payload.decode()
        except UnicodeDecodeError:
            return []
        return next(filter(None, (form.readings(topic, content) for form in self._formats)), [])


@dataclass(frozen=True, slots=True)
class Format:
    """One format; either `value` or `json` says where the numbers are."""

    topic: re.Pattern[str]
    name: str = "{topic}"
    value: re.Pattern[str] | None = None
    json: Mapping[str, str] | None = None
    id: str | None = None

    @classmethod
    def of(cls, item: Mapping[str, Any], path: str) -> Format:
        """The format that an object describes; raises ProfileError."""
        topic = _pattern(text(item, "topic", path) or ".*", at(path, "topic"))
        pattern, paths = text(item, "value", path), members(item, "json", path)
        if bool(pattern) == bool(paths):
            raise ProfileError(path, "expected either value or json")
        if pattern:
            value, name = _pattern(pattern, at(path, "value")), text(item, "name", path) or "{topic}"
            if "value" not in value.groupindex:
                raise ProfileError(at(path, "value"), "it has no group (?<value>...)")
            _check(name, {"topic", *topic.groupindex, *value.groupindex}, at(path, "name"))
            return cls(topic, name, value)
        identifier = text(item, "id", path)
        for template in paths:
            text(paths, template, at(path, "json"))
            known = {"topic", *topic.groupindex, *(["id"] if identifier else [])}
            _check(template, known, at(path, "json"))
        return cls(topic, json=paths, id=identifier)

    def readings(self, topic: str, content: str) -> list[Reading]:
        """The readings in a message, none where it is not in this format."""
        matched = self.topic.fullmatch(topic)
        if matched is None:
            return []
        groups = {"topic": topic, **_groups(matched)}
        found = self._in_json(content, groups) if self.json else self._in_text(content, groups)
        return [Reading(name, value) for name, value in found if value is not None]

    def _in_text(self, content: str, groups: Groups) -> Iterator[tuple[str, Literal | None]]:
        assert self.value is not None
        for matched in self.value.finditer(content):
            yield _filled(self.name, {**groups, **_groups(matched)}), number(matched["value"] or "")

    def _in_json(self, content: str, groups: Groups) -> Iterator[tuple[str, Literal | None]]:
        assert self.json is not None
        try:
            # Numbers as they are written, so that 0.1 stays 0.1.
            document = json.loads(content, parse_float=str, parse_int=str, parse_constant=str)
        except (ValueError, RecursionError):
            return
        if self.id is not None:
            identifier = _member(document, self.id)
            if identifier is None:
                return
            groups = {**groups, "id": identifier}
        for template, path in self.json.items():
            yield _filled(template, groups), number(_member(document, path) or "")


def number(written: str) -> Literal | None:
    """The number as a typed literal, None where it is none; NaN and infinity are no readings of a sensor."""
    if _NUMBER.fullmatch(written.strip()) is None:  # stricter than Decimal, which knows NaN and 1_000
        return None
    value = Decimal(written.strip())
    plain = format(value, "f") if abs(value.adjusted()) <= _MOST_DIGITS else ""
    whole, _, fraction = plain.lstrip("+-").partition(".")
    if plain and "e" not in written.lower() and len(fraction) <= _MOST_DIGITS >= len(whole):
        return Literal(plain, datatype=_DECIMAL)
    return Literal(repr(float(value)), datatype=_DOUBLE) if value.adjusted() < _DOUBLES_END else None


def _pattern(written: str, path: str) -> re.Pattern[str]:
    try:
        return re.compile(_NAMED_GROUP.sub("(?P<", written))
    except re.error as error:
        raise ProfileError(path, f"{written!r} is not a regular expression: {error}") from error


def _check(template: str, known: set[str], path: str) -> None:
    unknown = set(_PLACEHOLDER.findall(template)) - known
    if unknown:
        raise ProfileError(
            path, f"{template!r} has {', '.join(sorted(unknown))}; there are {', '.join(sorted(known))}"
        )


def _groups(matched: re.Match[str]) -> Groups:
    return {name: group or "" for name, group in matched.groupdict().items()}


def _filled(template: str, groups: Groups) -> str:
    return _PLACEHOLDER.sub(lambda found: groups[found[1]], template)


def _member(document: Any, path: str) -> str | None:
    """The number or string at a path like `air.sensors.0.t`, None where there is none."""
    for step in path.split("."):
        if isinstance(document, dict):
            document = document.get(step)
        elif isinstance(document, list) and step.isdigit() and int(step) < len(document):
            document = document[int(step)]
        else:
            return None
    return document if isinstance(document, str) else None
