"""`triplewire explain`: how a broker would follow the answer to a query."""

from __future__ import annotations

from functools import partial
from typing import IO, TYPE_CHECKING

import click

from triplewire.broker.model import Query

from .cli_common import sparql_arguments, sparql_text

if TYPE_CHECKING:
    from triplewire.spu.analysis.occurrence import Occurrence, Place


@click.command()
@sparql_arguments
def explain(sparql: str | None, file: IO[str] | None) -> None:
    """Say which changes touch a subscription's query, and what has to be evaluated then.

    The prefixes are those of the query and the broker's default ones.
    """
    # Here, so that the other commands load no engine.
    from triplewire.broker.config import SparqlConfig  # noqa: PLC0415
    from triplewire.spu.analysis.analysis import analyse  # noqa: PLC0415
    from triplewire.spu.explanation import explain as in_words  # noqa: PLC0415

    config = SparqlConfig()
    known = partial(analyse, base_iri=config.base_iri, prefixes=config.prefixes)
    found = known(Query(sparql_text(sparql, file)))
    print(in_words(found, known))
    if found.anything:
        print("touched by every change")
        return
    for line in dict.fromkeys(map(_line, found.occurrences)):
        print(f"touched by {line}")


def _line(occurrence: Occurrence) -> str:
    if occurrence.graphs.named is None:
        where = "in any graph" if occurrence.graphs.unnamed else "in any named graph"
    else:
        names = [f"<{graph.value}>" for graph in sorted(occurrence.graphs.named, key=str)]
        where = "in " + " or ".join([*(["the default graph"] if occurrence.graphs.unnamed else []), *names])
    places = (occurrence.subject, occurrence.predicate, occurrence.object)
    return f"{' '.join(map(_place, places))} {where}"


def _place(place: Place) -> str:
    return "_" if place is None else str(place)
