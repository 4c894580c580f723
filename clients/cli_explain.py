"""`triplewire explain`: how a broker would follow the answer to a query."""

from __future__ import annotations

from functools import partial
from typing import IO

import click

from triplewire.broker.model import Query

from .cli_common import sparql_arguments, sparql_text


@click.command()
@sparql_arguments
def explain(sparql: str | None, file: IO[str] | None) -> None:
    """Say which changes touch a subscription's query, and what has to be evaluated then.

    The prefixes are those of the query and the broker's default ones.
    """
    # Here, so that the other commands load no engine.
    from triplewire.broker.config import SparqlConfig  # noqa: PLC0415
    from triplewire.spu.analysis.analysis import analyse  # noqa: PLC0415
    from triplewire.spu.explanation import explanation  # noqa: PLC0415

    config = SparqlConfig()
    known = partial(analyse, base_iri=config.base_iri, prefixes=config.prefixes)
    found = explanation(Query(sparql_text(sparql, file)), known)
    print(found.followed)
    for pattern in found.touched_by:
        print(f"touched by {pattern}")
