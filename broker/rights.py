"""What a client may do: operations by scopes (RFC 6749, 3.3), and graphs by what it may do with each."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

from pyoxigraph import DefaultGraph, NamedNode

from .errors import Forbidden

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .model import GraphName

# Graphs by their IRIs, the default graph by DEFAULT; None is all graphs, those to come as well.
Graphs: TypeAlias = frozenset[str] | None
# Streams by their names; None is all streams.
Streams: TypeAlias = frozenset[str] | None
DEFAULT = ""


class Scope(Enum):
    """What a token is good for."""

    QUERY = "query"
    UPDATE = "update"
    SUBSCRIBE = "subscribe"
    PUBLISH = "publish"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class Rights:
    """What may be done with graphs.  Who may write one, may append to it; reading is a right of its own.

    And into which streams may be published, and which followed; rights to the same graphs are equal, whatever streams.
    """

    read: Graphs = None
    append: Graphs = None
    write: Graphs = None
    publish: Streams = field(default=None, compare=False)
    follow: Streams = field(default=None, compare=False)

    def may_read(self, graph: str) -> bool:
        """Whether what is in the graph may be seen."""
        return self.read is None or graph in self.read

    def may_append(self, graph: str) -> bool:
        """Whether quads may be added to the graph."""
        return self.append is None or graph in self.append or self.may_write(graph)

    def may_write(self, graph: str) -> bool:
        """Whether quads may be added to the graph and taken from it, and it may be dropped."""
        return self.write is None or graph in self.write

    def may_publish(self, stream: str) -> bool:
        """Whether items may be published into the stream."""
        return self.publish is None or stream in self.publish

    def may_follow(self, stream: str) -> bool:
        """Whether what is in the stream may be seen."""
        return self.follow is None or stream in self.follow

    def __or__(self, other: Rights) -> Rights:
        return Rights(
            _united(self.read, other.read),
            _united(self.append, other.append),
            _united(self.write, other.write),
            _united(self.publish, other.publish),
            _united(self.follow, other.follow),
        )


def _united(one: Graphs, other: Graphs) -> Graphs:
    return None if one is None or other is None else one | other


ALL = Rights()
NONE = Rights(frozenset(), frozenset(), frozenset(), frozenset(), frozenset())


def name_of(graph: GraphName) -> str:
    """A graph as `Rights` names it; of a graph that a blank node names, something that no right names."""
    if isinstance(graph, NamedNode):
        return graph.value
    return DEFAULT if isinstance(graph, DefaultGraph) else str(graph)


def visible(
    readable: frozenset[str],
    given: Sequence[Sequence[str]],
    own: Sequence[Sequence[str]],
    *,
    union: bool,
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The dataset of a query as one sees it who may read these graphs: those of its default graph, and the named ones.

    `given` are the two lists of graphs of the request, `own` those of FROM and FROM NAMED, both before it is looked at
    who asks; `union`: the default graph of the store is all graphs together (SPARQL 1.1 Protocol, 2.1.4; Query, 13.2).
    """
    everything = tuple(sorted(readable))
    all_named = tuple(name for name in everything if name != DEFAULT)
    if any(given):
        default, named = given
    elif any(own):
        default, named = everything if union else own[0], own[1]
    else:
        default, named = everything if union else (DEFAULT,), all_named
    return tuple(filter(readable.__contains__, default)), tuple(filter(all_named.__contains__, named))


@dataclass(frozen=True, slots=True)
class Access:
    """What the bearer of a token may do until it `expires`, in seconds since the epoch; `client` is its client_id.

    `issuer` and `jti` are the token's own claims: who gave it, and its identifier (RFC 7519, 4.1).
    """

    client: str
    scopes: frozenset[Scope] = field(default_factory=lambda: frozenset(Scope))
    rights: Rights = ALL
    expires: float = math.inf
    issuer: str = ""
    jti: str = ""

    def need(self, scope: Scope) -> None:
        """Raises Forbidden where the token is not good for that."""
        if scope not in self.scopes:
            raise Forbidden(f"the token has no scope {scope.value}", code="insufficient_scope")


# Where nobody has to say who they are.
OPEN = Access("")
