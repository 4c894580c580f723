"""How a broker would follow the answer to a query, as `triplewire explain` says it; loads the engine's analysis."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from triplewire.broker.config import SparqlConfig
from triplewire.broker.model import Query
from triplewire.spu.analysis.analysis import analyse
from triplewire.spu.explanation import explain as in_words

if TYPE_CHECKING:
    from triplewire.spu.analysis.occurrence import Occurrence, Place


def explained(query: Query) -> dict[str, Any]:
    """The way it is followed, and the patterns of the quads that touch it; `_` is anything.

    Raises:
        SparqlSyntaxError: it is not a query.
    """
    config = SparqlConfig()
    known = partial(analyse, base_iri=config.base_iri, prefixes=config.prefixes)
    found = known(Query(query.sparql, query.default_graphs, query.named_graphs))
    if found.anything:
        return {"followed": in_words(found, known), "touched_by": ["every change"]}
    return {
        "followed": in_words(found, known),
        "touched_by": [*dict.fromkeys(map(_pattern, found.occurrences))],
    }


def _pattern(occurrence: Occurrence) -> str:
    if occurrence.graphs.named is None:
        where = "in any graph" if occurrence.graphs.unnamed else "in any named graph"
    else:
        names = [f"<{graph.value}>" for graph in sorted(occurrence.graphs.named, key=str)]
        where = "in " + " or ".join([*(["the default graph"] if occurrence.graphs.unnamed else []), *names])
    places = (occurrence.subject, occurrence.predicate, occurrence.object)
    return f"{' '.join(map(_place, places))} {where}"


def _place(place: Place) -> str:
    return "_" if place is None else str(place)
