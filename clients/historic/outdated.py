"""Taking away results of roll-ups that are not true any more, because an observation came late.

A roll-up's IRI is the same whatever its result is, so without this the old result would stand beside the new one.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from .slices import SOSA

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from triplewire.clients.sparql import SparqlClient

_AT_ONCE: Final = 500


def outdated_updates(results: Iterable[tuple[str, float]], graph: str | None) -> Iterator[str]:
    """SPARQL updates that delete every other result of these observations (IRIs in brackets) in a graph."""
    rest = iter(results)
    while some := list(islice(rest, _AT_ONCE)):
        rows = " ".join(f"({observation} {_double(number)})" for observation, number in some)
        where = f"?o <{SOSA}hasSimpleResult> ?old"
        block = where if graph is None else f"GRAPH <{graph}> {{ {where} }}"
        yield f"DELETE {{ {block} }} WHERE {{ VALUES (?o ?new) {{ {rows} }} {block} FILTER (?old != ?new) }}"


def take_away(client: SparqlClient, results: Iterable[tuple[str, float]], graph: str | None) -> None:
    """Carry them out; what is as it should be changes nothing, and nobody is told.

    Raises:
        BrokerRefused: the broker says no.
        ConnectionLost: it does not answer.
    """
    for update in outdated_updates(results, graph):
        client.update(update)


def _double(number: float) -> str:
    text = repr(number)
    return text if "e" in text else f"{text}e0"  # without an exponent SPARQL takes it for a decimal
