"""A triple pattern at one place of a query, and which quads it meets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from pyoxigraph import BlankNode, DefaultGraph, NamedNode, Variable

if TYPE_CHECKING:
    from pyoxigraph import Quad

    from triplewire.broker.model import Term

# None: anything, and nobody asks what; blank nodes of a pattern and the inner nodes of a path are so.
Place: TypeAlias = "Term | Variable | None"


@dataclass(frozen=True, slots=True)
class Graphs:
    """The graphs that a pattern looks into: some by name, or all (None); and the unnamed one.

    `variable` is that of `GRAPH ?g`, where it is the same variable outside.
    """

    named: frozenset[NamedNode] | None
    unnamed: bool = False
    variable: Variable | None = None

    @property
    def is_one(self) -> bool:
        """Whether it is one graph, always the same."""
        if self.variable is not None or self.named is None:
            return False
        return len(self.named) + self.unnamed == 1

    @property
    def is_each(self) -> bool:
        """Whether it is each named graph, one by one."""
        return self.variable is not None and not self.unnamed

    def __contains__(self, graph: NamedNode | BlankNode | DefaultGraph) -> bool:
        if isinstance(graph, DefaultGraph):
            return self.unnamed
        return self.named is None or graph in self.named


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A triple pattern at one place of a query.

    All rows that change by a quad agree with its `bindings` on `keys`; without keys any row can change.
    """

    subject: Place
    predicate: Place
    object: Place
    graphs: Graphs
    keys: tuple[Variable, ...] = ()
    closure: bool = (
        False  # it is in what `*`, `+` or `?` repeat, or stands for the nodes that a path of no length meets
    )
    existence: bool = False  # that a graph is there, with or without quads, makes a difference
    blank_subject: bool = False  # the subject is a blank node: what DESCRIBE follows

    def matches(self, quad: Quad) -> bool:
        """Whether the quad's coming or going could make a difference."""
        return self.bindings(quad) is not None

    def bindings(self, quad: Quad) -> dict[Variable, Term] | None:
        """What the quad stands for by the pattern's variables; None where it does not match."""
        if quad.graph_name not in self.graphs:
            return None
        if self.blank_subject and not isinstance(quad.subject, BlankNode):
            return None
        found: dict[Variable, Term] = {}
        pairs = ((self.subject, quad.subject), (self.predicate, quad.predicate), (self.object, quad.object))
        for place, term in pairs:
            if isinstance(place, Variable):
                if found.setdefault(place, term) != term:
                    return None
            elif place is not None and place != term:
                return None
        if self.graphs.variable is not None:
            found[self.graphs.variable] = quad.graph_name  # type: ignore[assignment]  # the unnamed graph is not in `GRAPH ?g`
        return found

    def matches_graph(self, graph: NamedNode) -> bool:
        """Whether it makes a difference that this graph comes or goes, be it without a quad."""
        return self.existence and graph in self.graphs

    def graph_bindings(self, graph: NamedNode) -> dict[Variable, Term] | None:
        """Like `bindings`, for a graph that comes or goes."""
        if not self.matches_graph(graph):
            return None
        return {} if self.graphs.variable is None else {self.graphs.variable: graph}
