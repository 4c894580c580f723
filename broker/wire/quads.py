"""The quads that an update added and removed, in the shape of SEPA's engine ("AR quads").

``{"added":[{"graph":{..},"subject":{..},"predicate":{..},"object":{..}}],"removed":[..]}``, terms as in Results JSON; the
default graph has the name that Jena gives it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyoxigraph import DefaultGraph, NamedNode

from .results import encode_term

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyoxigraph import Quad

    from triplewire.broker.model import QuadDelta

_DEFAULT_GRAPH = NamedNode("urn:x-arq:DefaultGraphNode")


def encode_quad_delta(delta: QuadDelta) -> str:
    """Both sides as one JSON object."""
    return f'{{"added":{_quads(delta.inserted)},"removed":{_quads(delta.deleted)}}}'


def _quads(quads: Iterable[Quad]) -> str:
    return f"[{','.join(map(_quad, quads))}]"


def _quad(quad: Quad) -> str:
    graph = _DEFAULT_GRAPH if isinstance(quad.graph_name, DefaultGraph) else quad.graph_name
    parts = (
        ("graph", graph),
        ("subject", quad.subject),
        ("predicate", quad.predicate),
        ("object", quad.object),
    )
    return "{" + ",".join(f'"{name}":{encode_term(term)}' for name, term in parts) + "}"
