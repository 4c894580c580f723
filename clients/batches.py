"""Cuts a document into updates of bounded size without tearing a blank node apart.

A label means one node within one request only: sent in two requests it would be two nodes.  So quads without blank
nodes go out as they come, and those with them are kept until the document ends, joined with all quads that they share
a blank node with (union-find), and each such component goes out whole.  What is kept is the part with blank nodes; a
component larger than a batch makes a larger batch.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from pyoxigraph import BlankNode, DefaultGraph, NamedNode, Triple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyoxigraph import Quad

    from triplewire.broker.model import Term

Graph: TypeAlias = str | None  # None is the default graph

# About 10,000 triples, and a broker's default bound for one SPARQL text is above it; other updates get their turn
# between two batches.
BATCH_BYTES = 1_000_000


class Unaddressable(ValueError):
    """A graph is named by a blank node, which no request can name."""


@dataclass(slots=True)
class Batch:
    """N-Triples lines by graph, and their size together."""

    lines: dict[Graph, list[str]] = field(default_factory=lambda: defaultdict(list))
    size: int = 0
    count: int = 0

    def add(self, graph: Graph, line: str) -> None:
        """Put a line in."""
        self.lines[graph].append(line)
        self.size += len(line) + 1
        self.count += 1

    def merge(self, other: Batch) -> None:
        """Put all of another one in."""
        for graph, lines in other.lines.items():
            self.lines[graph] += lines
        self.size += other.size
        self.count += other.count

    def triples(self, graph: Graph) -> bytes:
        """One graph's part as N-Triples."""
        return "\n".join([*self.lines[graph], ""]).encode()

    def insert_data(self) -> str:
        """All of it as one update."""
        parts = []
        for graph, lines in self.lines.items():
            triples = "\n".join(lines)
            parts.append(triples if graph is None else f"GRAPH {NamedNode(graph)} {{\n{triples}\n}}")
        return "INSERT DATA {\n" + "\n".join(parts) + "\n}"


def batches(quads: Iterable[Quad], into: Graph = None, size: int = BATCH_BYTES) -> Iterator[Batch]:
    """The quads as batches; those of the default graph go into the graph `into`.

    Raises:
        Unaddressable: a graph is named by a blank node.
    """
    batch = Batch()
    components = Components()
    for quad in quads:
        graph, line = _graph(quad, into), f"{quad.triple} ."
        nodes = tuple(_blank_nodes(quad.subject, quad.object))
        if nodes:
            components.add(nodes, graph, line)
            continue
        batch.add(graph, line)
        if batch.size >= size:
            yield batch
            batch = Batch()
    for component in components:
        if batch.count and batch.size + component.size > size:
            yield batch
            batch = Batch()
        batch.merge(component)
    if batch.count:
        yield batch


class Components:
    """Lines, kept together with those that share a blank node with them."""

    def __init__(self) -> None:
        self._parents: dict[BlankNode, BlankNode] = {}
        self._members: dict[BlankNode, Batch] = {}

    def add(self, nodes: tuple[BlankNode, ...], graph: Graph, line: str) -> None:
        """Put in a line with these blank nodes, at least one."""
        root = self._root(nodes[0])
        for node in nodes[1:]:
            root = self._join(root, self._root(node))
        self._members[root].add(graph, line)

    def __iter__(self) -> Iterator[Batch]:
        return iter(self._members.values())

    def _root(self, node: BlankNode) -> BlankNode:
        if node not in self._parents:
            self._parents[node] = node
            self._members[node] = Batch()
        while self._parents[node] != node:
            # Path halving: a list of a million cells is a chain as long.
            self._parents[node] = self._parents[self._parents[node]]
            node = self._parents[node]
        return node

    def _join(self, one: BlankNode, other: BlankNode) -> BlankNode:
        if one == other:
            return one
        small, large = sorted((one, other), key=lambda node: self._members[node].count)
        self._parents[small] = large
        self._members[large].merge(self._members.pop(small))
        return large


def _blank_nodes(*terms: Term) -> Iterator[BlankNode]:
    for term in terms:
        if isinstance(term, BlankNode):
            yield term
        elif isinstance(term, Triple):
            yield from _blank_nodes(term.subject, term.object)


def _graph(quad: Quad, into: Graph) -> Graph:
    name = quad.graph_name
    if isinstance(name, DefaultGraph):
        return into
    if isinstance(name, NamedNode):
        return name.value
    raise Unaddressable(
        f"the graph {name} has a blank node as its name, which no request to a broker can name"
    )
