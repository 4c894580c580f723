"""Filters: which items of a stream pass, by parameters of a URL or in the settings.

::

    source=ID          Source-Id               application=ID     Application-Id         event-type=T    Event-Type
    vocabulary=IRI     an IRI in the body begins with it
    triple=PATTERN     see triple_filter.py     ask=SPARQL         see ask_filter.py

A parameter that is repeated means any of its values; different ones must all be met.  An item whose body is not RDF, or
not well-formed, passes none of the last three.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlencode

from triplewire.broker.errors import MalformedRequest

from .ask_filter import ask_of
from .triple_filter import triple_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from triplewire.broker.config import LimitsConfig

    from .looked import Looked

NAMES = ("source", "application", "event-type", "vocabulary", "triple", "ask")
_MOST_VALUES = 32
_MOST_CHARS = 4096


class Condition(Protocol):
    """What an item must meet."""

    def passes(self, looked: Looked) -> bool:
        """Whether it does."""
        ...


@dataclass(frozen=True, slots=True)
class _Source:
    values: frozenset[str]

    def passes(self, looked: Looked) -> bool:
        return looked.item.source_id in self.values


@dataclass(frozen=True, slots=True)
class _Application:
    values: frozenset[str]

    def passes(self, looked: Looked) -> bool:
        return looked.item.application_id in self.values


@dataclass(frozen=True, slots=True)
class _EventType:
    values: frozenset[str]

    def passes(self, looked: Looked) -> bool:
        return looked.item.event_type in self.values


@dataclass(frozen=True, slots=True)
class _Vocabulary:
    prefixes: tuple[str, ...]

    def passes(self, looked: Looked) -> bool:
        return any(iri.startswith(self.prefixes) for iri in looked.iris)


@dataclass(frozen=True, slots=True)
class _Any:
    conditions: tuple[Condition, ...]

    def passes(self, looked: Looked) -> bool:
        return any(condition.passes(looked) for condition in self.conditions)


@dataclass(frozen=True, slots=True)
class Filter:
    """Conditions that must all be met; equal filters have the same `key`, "" is the one that lets all pass."""

    key: str
    conditions: tuple[Condition, ...]

    def passes(self, looked: Looked) -> bool:
        """Whether the item meets all."""
        return all(condition.passes(looked) for condition in self.conditions)

    def __bool__(self) -> bool:
        return bool(self.conditions)


def filter_of(parameters: Iterable[tuple[str, str]], limits: LimitsConfig) -> Filter:
    """The filter in a URL's parameters; those that mean something else are passed over.

    Raises:
        RequestError: a value is not one of its kind, or there are too many.
    """
    given = sorted({(name, value) for name, value in parameters if name in NAMES and value})
    if len(given) > _MOST_VALUES or any(len(value) > _MOST_CHARS for _, value in given):
        raise MalformedRequest(f"a filter has at most {_MOST_VALUES} values of {_MOST_CHARS} characters each")
    by_kind: dict[str, list[str]] = {}
    for name, value in given:
        by_kind.setdefault(name, []).append(value)
    kinds = sorted(by_kind, key=NAMES.index)  # what costs little first
    return Filter(urlencode(given), tuple(_condition(kind, by_kind[kind], limits) for kind in kinds))


def _condition(kind: str, values: list[str], limits: LimitsConfig) -> Condition:
    match kind:
        case "source":
            return _Source(frozenset(values))
        case "application":
            return _Application(frozenset(values))
        case "event-type":
            return _EventType(frozenset(values))
        case "vocabulary":
            return _Vocabulary(tuple(values))
        case "triple":
            return _Any(tuple(triple_of(value) for value in values))
        case _:
            return _Any(tuple(ask_of(value, limits) for value in values))
