"""How a broker would follow the answer to a query, as `triplewire explain` says it; loads the engine's analysis."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import Any

from triplewire.broker.config import SparqlConfig
from triplewire.broker.model import Query
from triplewire.spu.analysis.analysis import analyse
from triplewire.spu.explanation import explanation


def explained(query: Query) -> dict[str, Any]:
    """The way it is followed (`followed`), and the patterns of the quads that touch it (`touched_by`)."""
    config = SparqlConfig()
    known = partial(analyse, base_iri=config.base_iri, prefixes=config.prefixes)
    return asdict(explanation(Query(query.sparql, query.default_graphs, query.named_graphs), known))
