"""Filters of items for consumers: functions that say whether an item is wanted.

Any function of an item is one, also with a memory of its own: an object with `__call__`, or a closure::

    def changed():
        last = {}

        def passes(item):
            known, last[item.source_id] = last.get(item.source_id), item.body
            return item.body != known

        return passes

`filter_of` makes those that servers know as parameters of a stream's URL.  The last three look at the RDF in the body;
an item that has none, or none that can be read, passes none of them.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from pyoxigraph import Quad, QueryBoolean, Store

from triplewire.broker.errors import UnsupportedMediaType
from triplewire.broker.wire.item_rdf import iris_of, quads_in
from triplewire.broker.wire.items import Item
from triplewire.broker.wire.media import rdf_format

if TYPE_CHECKING:
    from collections.abc import Iterable

Filter: TypeAlias = Callable[[Item], bool]

NAMES = ("source", "application", "event-type", "vocabulary", "triple", "ask")
_ANY = re.compile(r"(?<!\S)\*(?!\S)")


def from_sources(*source_ids: str) -> Filter:
    """Items of one of these sources."""
    return lambda item: item.source_id in source_ids


def of_applications(*application_ids: str) -> Filter:
    """Items of one of these applications."""
    return lambda item: item.application_id in application_ids


def of_types(*event_types: str) -> Filter:
    """Items of one of these event types."""
    return lambda item: item.event_type in event_types


def with_vocabulary(*prefixes: str) -> Filter:
    """Items in whose RDF an IRI, a datatype's too, begins with one of these."""
    return lambda item: any(iri.startswith(prefixes) for quad in quads_of(item) for iri in iris_of(quad))


def with_triple(pattern: str) -> Filter:
    """Items in which a triple matches: three terms as in SPARQL, `*` for any, `?x` for any that is the same again.

    Servers read terms as in N-Triples only.

    Raises:
        ValueError: it is no such pattern.
    """
    numbers = iter(range(3))
    terms = _ANY.sub(lambda _: f"?any{next(numbers, 0)}", pattern)
    if any(mark in terms for mark in "{}"):
        raise ValueError(f"not a triple's pattern: {pattern!r}")
    try:
        return answering(f"ASK {{ {terms} }}")
    except ValueError as error:
        raise ValueError(f"not a triple's pattern, as `* <http://example.org/p> ?v`: {pattern!r}") from error


def answering(ask: str) -> Filter:
    """Items whose RDF, as a default graph, answers a SPARQL ASK by true.

    The query is the user's own, and nothing bounds what it costs.

    Raises:
        ValueError: it is no ASK.
    """
    try:
        answer = Store().query(ask)
    except SyntaxError as error:
        raise ValueError(f"not SPARQL: {error.msg}") from error
    if not isinstance(answer, QueryBoolean):
        raise ValueError("the query must be an ASK")  # noqa: TRY004 - it is a text's value that is wrong

    def passes(item: Item) -> bool:
        quads = quads_of(item)
        if not quads:
            return False
        store = Store()
        store.extend(Quad(*quad.triple) for quad in quads)
        return bool(store.query(ask))

    return passes


def any_of(*filters: Filter) -> Filter:
    """Items that one of the filters wants; those behind the first that does are not asked."""
    return lambda item: any(passes(item) for passes in filters)


def filters_of(given: Iterable[tuple[str, str]]) -> list[Filter]:
    """Those of names, which are some of NAMES, and values: of one name any value counts, all names must be met.

    Raises:
        ValueError: a name is none of them, or a value is wrong for it.
    """
    by_name: dict[str, list[str]] = {}
    for name, value in given:
        if name not in NAMES:
            raise ValueError(f"{name!r} is no filter; there are {', '.join(NAMES)}")
        by_name.setdefault(name, []).append(value)
    # What costs little comes first.
    return [_filter(name, by_name[name]) for name in NAMES if name in by_name]


def _filter(name: str, values: list[str]) -> Filter:
    match name:
        case "source":
            return from_sources(*values)
        case "application":
            return of_applications(*values)
        case "event-type":
            return of_types(*values)
        case "vocabulary":
            return with_vocabulary(*values)
        case "triple":
            return any_of(*map(with_triple, values))
        case _:
            return any_of(*map(answering, values))


class _Last(threading.local):
    """The item that was read last on a thread, as its filters are asked one after the other."""

    item: Item | None = None
    quads: tuple[Quad, ...] = ()


_LAST = _Last()


def quads_of(item: Item) -> tuple[Quad, ...]:
    """What the body says in RDF; nothing where it is not RDF, or not well-formed, or nested too deep to be read."""
    if _LAST.item is not item:
        _LAST.quads = _read(item)
        _LAST.item = item
    return _LAST.quads


def _read(item: Item) -> tuple[Quad, ...]:
    try:
        return quads_in(item.body, rdf_format(item.syntax))
    except UnsupportedMediaType:
        return ()
