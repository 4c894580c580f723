"""What an update can change at most, worked out from its text, for a store that does not tell its changes.

Theory of operation.  A quad that an update adds or removes is made by one of its templates, so it meets the template
with anything in the place of a variable: ``DELETE { ?s :value ?old } INSERT { ?s :value 5 } WHERE ..`` touches nothing
but quads with the predicate `:value`.  That holds whatever the data is, and whoever else writes at the same time, and
costs no question.  CLEAR and the like can touch any quad of their graphs.  Literals are those that Oxigraph would keep, as in
the queries' analyses: an endpoint that keeps `01` apart from `1` has both routed as `1`.

Where such patterns lead to many queries, the solutions of WHERE tell more.  They may be asked for where the pattern is
the first operation's, so that it sees the dataset as it is, and where a query for it means the same
(`CandidateReader.question`).  A blank node of a solution is some blank node: it stands against variables only.

Stores disagree on what the default graph is: a graph apart, as in the standard, or all graphs together, or one of the
named ones.  Unless the settings say that graphs are apart, what is written into the default graph may be anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyoxigraph
from pyoxigraph import BlankNode, DefaultGraph, Literal, NamedNode, Quad, RdfFormat, Triple

from .canonical import canonical
from .errors import RequestError
from .model import Candidates, GraphEdit, QuadPattern, Query
from .operations import All, Clear, Create, Data, Load, Modify, OperationReader, Transfer
from .planner import declarations, plain_data_quads
from .tokens import tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from .model import Bindings, GraphName, GraphWrite, Term, Update
    from .operations import Operation
    from .templates import Template

NOTHING = Candidates(frozenset())
_ANY = NamedNode("urn:x-triplewire:any")
# What has other solutions each time, or may have, and what the query would carry out a second time.
_VOLATILE = (
    "RAND",
    "UUID",
    "STRUUID",
    "NOW",
    "BNODE",
    "LIMIT",
    "OFFSET",
    "SAMPLE",
    "GROUP_CONCAT",
    "SERVICE",
)


@dataclass(frozen=True, slots=True)
class Foreseen:
    """What the text of an update tells; the solutions of `first` would tell more, where there is one."""

    candidates: Candidates
    first: Modify | None = None
    rest: Candidates = NOTHING


class CandidateReader:
    """Reads updates, and remembers the shapes of short ones.  Not thread-safe."""

    def __init__(self, prefixes: Mapping[str, str], base_iri: str, *, graphs_apart: bool) -> None:
        self._apart = graphs_apart
        self._base_iri = base_iri
        self._declared = declarations(prefixes)
        self._reader = OperationReader(prefixes, base_iri)

    def update(self, sparql: str) -> Foreseen | None:
        """What an update can change; None where it is not understood."""
        if (
            "<<" in sparql or "{|" in sparql
        ):  # what that says about triples depends on the store's version of RDF
            return None
        try:
            plain = plain_data_quads(sparql, self._declared, self._base_iri)
            if plain is not None:
                return Foreseen(self._quads(plain[1]))
            read = self._reader.read(sparql)
        except (RequestError, SyntaxError, ValueError):
            return None
        return None if read is None else self._foreseen(read[1])

    def graph(self, write: GraphWrite) -> Candidates:
        """What a Graph Store operation can change.

        Raises:
            SyntaxError: its triples can't be read.
        """
        graph = DefaultGraph() if write.graph is None else NamedNode(write.graph)
        graphs = frozenset({graph}) if isinstance(graph, NamedNode) else frozenset()
        if write.edit is not GraphEdit.MERGE:
            return Candidates(frozenset({self._whole(graph)}), graphs)
        triples = pyoxigraph.parse(write.triples, format=RdfFormat.N_TRIPLES, rename_blank_nodes=True)
        quads = [Quad(one.subject, one.predicate, one.object, graph) for one in triples]
        return self._quads(quads) | Candidates(frozenset(), graphs)

    def question(self, foreseen: Foreseen, update: Update, most: int) -> Query | None:
        """The query for solutions that tell more, for at most `most` of them; None where none would, or means the same."""
        first = foreseen.first
        if first is None or not first.variables or not _is_settled(first.where):
            return None
        default, named = update.using_graphs, update.using_named_graphs
        if default or named:
            if first.with_graph is not None or first.using or first.using_named:
                return None
        elif first.using or first.using_named:
            default = tuple(graph.value for graph in first.using)
            named = tuple(graph.value for graph in first.using_named)
        elif first.with_graph is not None:
            if "GRAPH" in first.where.upper():  # a query that names its default graph has no other named ones
                return None
            default = (first.with_graph.value,)
        names = " ".join(f"?{name}" for name in first.variables)
        text = f"{first.prologue} SELECT DISTINCT {names} WHERE {first.where} LIMIT {most}"
        return Query(text, default, named)

    def narrowed(self, foreseen: Foreseen, answer: Bindings) -> Candidates:
        """What the update can change, where these are all solutions of its first pattern."""
        first = foreseen.first
        assert first is not None, "there was a question"
        solutions = [dict(zip(answer.vars, row, strict=True)) for row in answer.rows]
        default = first.with_graph or DefaultGraph()
        templates = [template for template in (first.delete, first.insert) if template is not None]
        quads = {
            quad
            for template in templates
            for values in solutions
            for quad in template.fill(_with_blanks(values, template), default)
        }
        return self._quads(quads) | foreseen.rest

    def _foreseen(self, operations: tuple[Operation, ...]) -> Foreseen:
        each = [self._operation(operation) for operation in operations]
        first = operations[0] if operations else None
        rest = _united(each[1:])
        return Foreseen(_united(each), first if isinstance(first, Modify) else None, rest)

    def _operation(self, operation: Operation) -> Candidates:
        match operation:
            case Data():
                template = operation.template
                return self._quads(template.fill(_with_blanks({}, template), DefaultGraph()))
            case Modify():
                return Candidates(frozenset(self._made(operation)))
            case Clear():
                target = operation.target
                return self._graphs([target] if not isinstance(target, All) else [None])
            case Create():
                return Candidates(frozenset(), frozenset({operation.graph}))
            case Transfer():
                moved = [operation.source] if operation.kind == "MOVE" else []
                return self._graphs([operation.target, *moved])
            case Load():
                return self._graphs([operation.target])

    def _made(self, operation: Modify) -> Iterator[QuadPattern]:
        default = operation.with_graph or DefaultGraph()
        for template in (operation.delete, operation.insert):
            for subject, predicate, object_, graph in () if template is None else template.quads:
                place = default if isinstance(graph, DefaultGraph) else _known(graph)
                yield QuadPattern(_known(subject), _known(predicate), _known(object_), self._graph(place))  # type: ignore[arg-type]  # IRIs where there must be

    def _quads(self, quads: Iterable[Quad]) -> Candidates:
        found = [
            QuadPattern(quad.subject, quad.predicate, quad.object, self._graph(quad.graph_name))
            for quad in canonical(quads)
        ]
        return Candidates(frozenset(found))

    def _graphs(self, graphs: Iterable[GraphName | None]) -> Candidates:
        return Candidates(frozenset(map(self._whole, graphs)))

    def _whole(self, graph: GraphName | None) -> QuadPattern:
        return QuadPattern(None, None, None, self._graph(graph))

    def _graph(self, graph: GraphName | None) -> GraphName | None:
        return None if isinstance(graph, DefaultGraph) and not self._apart else graph


def _known(place: object) -> Term | None:
    if isinstance(place, Literal | Triple):
        return canonical([Quad(_ANY, _ANY, place)])[0].object
    return place if isinstance(place, NamedNode) else None


def _with_blanks(values: Mapping[str, Term | None], template: Template) -> Mapping[str, Term | None]:
    if not template.blanks:
        return values
    return {**values, **{name: BlankNode() for name in template.blanks}}


def _united(each: Iterable[Candidates]) -> Candidates:
    found = NOTHING
    for one in each:
        found = found | one if found else one
    return found


def _is_settled(where: str) -> bool:
    """Whether a pattern has the same solutions whenever it is asked, as far as one can tell."""
    before = None
    for token in tokens(where):
        if token.is_word(*_VOLATILE):
            return False
        if token.text == "(" and before is not None and before.kind in {"iri", "pname"}:
            return False  # a function that may do anything
        before = token
    return True
