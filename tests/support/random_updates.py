"""Random updates that meet given queries: made of the terms and patterns of the data and of the queries themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pyoxigraph import BlankNode, DefaultGraph, Literal, NamedNode, Quad, Triple, Variable

from triplewire.broker.model import GraphEdit, GraphWrite, Update

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from random import Random

    from triplewire.spu.analysis.analysis import Analysis

_XSD = "http://www.w3.org/2001/XMLSchema#"
OTHER_GRAPH = NamedNode("http://example.org/other")
NUMBERS = tuple(
    Literal(text, datatype=NamedNode(_XSD + kind))
    for text, kind in (
        ("1", "integer"),
        ("01", "integer"),
        ("2", "integer"),
        ("-3", "integer"),
        ("1.0", "decimal"),
        ("2.5", "decimal"),
        ("1e0", "double"),
        ("0.1", "double"),
        ("NaN", "double"),
        ("x", "integer"),
        ("2", "string"),
        ("2001-01-01T00:00:00Z", "dateTime"),
    )
)


class Wish(NamedTuple):
    """A triple that a query looks for; None is any term."""

    subject: NamedNode | None
    predicate: NamedNode | None
    object: NamedNode | Literal | None
    graphs: tuple[NamedNode | DefaultGraph, ...]


def wishes(analysis: Analysis, named: Sequence[NamedNode]) -> list[Wish]:
    """What an analysed query looks for, where `named` are the graphs that there are."""
    found = []
    for one in analysis.occurrences:
        graphs = list(named if one.graphs.named is None else sorted(one.graphs.named, key=str))
        if one.graphs.unnamed or not graphs:
            graphs.append(DefaultGraph())
        terms = [
            None if isinstance(place, Variable | Triple) else place
            for place in (one.subject, one.predicate, one.object)
        ]
        if not isinstance(terms[0], Literal):
            found.append(Wish(*terms, tuple(graphs)))
    return found


class Updates:
    """A source of updates."""

    def __init__(
        self, rng: Random, data: Iterable[Quad], wanted: Iterable[Wish], numbers: Sequence[Literal] = NUMBERS
    ) -> None:
        """`numbers` are put in whatever the data and the queries know."""
        self._rng = rng
        self._numbers = numbers
        self._data = sorted(data, key=str)
        self._wanted = list(wanted)
        terms = [term for quad in self._data for term in (quad.subject, quad.object)]
        terms += [term for wish in self._wanted for term in (wish.subject, wish.object) if term is not None]
        nodes = [term for term in terms if isinstance(term, NamedNode)]
        self._nodes = [*nodes, NamedNode("http://example.org/new")]
        self._objects = [term for term in terms if not isinstance(term, BlankNode | Triple)] + [*numbers[:4]]
        self._predicates = [quad.predicate for quad in self._data]
        self._predicates += [wish.predicate for wish in self._wanted if wish.predicate is not None]
        self._predicates.append(NamedNode("http://example.org/p"))
        graphs = {quad.graph_name for quad in self._data} | {
            graph for wish in self._wanted for graph in wish.graphs
        }
        self._graphs = [*sorted(graphs, key=str), DefaultGraph(), OTHER_GRAPH]

    def any(self, present: Sequence[Quad]) -> Update | GraphWrite:
        """One more, where these quads are there."""
        if self._rng.random() < 0.06:
            return self._graph_write()
        count = self._rng.choice([1, 1, 1, 1, 2, 3])
        return Update(" ;\n".join(self._operation(present) for _ in range(count)))

    # --- operations ---------------------------------------------------------------------------------------------

    def _operation(self, present: Sequence[Quad]) -> str:
        kinds = [
            (30, self._insert),
            (22, self._delete),
            (16, self._replace),
            (8, self._restore),
            (10, self._modify),
            (4, self._delete_where),
            (4, self._blank),
            (6, self._manage),
        ]
        makers = [maker for _, maker in kinds]
        maker = self._rng.choices(makers, [weight for weight, _ in kinds])[0]
        return maker(present)

    def _insert(self, _: Sequence[Quad]) -> str:
        quads = [self._wished() for _ in range(self._rng.choice([1, 1, 2, 4]))]
        return "INSERT DATA { " + " ".join(map(block, quads)) + " }"

    def _restore(self, _: Sequence[Quad]) -> str:
        if not self._data:
            return self._insert(_)
        quads = self._rng.sample(self._data, min(len(self._data), 5))
        return "INSERT DATA { " + " ".join(map(block, quads)) + " }"

    def _delete(self, present: Sequence[Quad]) -> str:
        if not present:
            return self._insert(present)
        quads = self._rng.sample(present, min(len(present), self._rng.choice([1, 1, 2, 4])))
        return " ; ".join(map(_deletion, quads))

    def _replace(self, present: Sequence[Quad]) -> str:
        quad = self._rng.choice(present) if present and self._rng.random() < 0.6 else self._wished()
        subject = quad.subject if isinstance(quad.subject, NamedNode) else self._node()
        new = self._rng.choice(self._numbers) if self._rng.random() < 0.4 else self._object()
        old = block(Quad(subject, quad.predicate, NamedNode("urn:x"), quad.graph_name)).replace(
            "<urn:x>", "?o"
        )
        put = block(Quad(subject, quad.predicate, new, quad.graph_name))
        return f"DELETE {{ {old} }} INSERT {{ {put} }} WHERE {{ OPTIONAL {{ {old} }} }}"

    def _modify(self, _: Sequence[Quad]) -> str:
        first, second = self._predicate(), self._predicate()
        graph = self._rng.choice([graph for graph in self._graphs if graph != DefaultGraph()])
        return self._rng.choice(
            [
                f"DELETE {{ ?s {first} ?o }} INSERT {{ ?s {second} ?o }} WHERE {{ ?s {first} ?o }}",
                f"INSERT {{ GRAPH {graph} {{ ?s {first} ?o }} }} WHERE {{ ?s {first} ?o }}",
                f"INSERT {{ ?s {second} ?o }} WHERE {{ GRAPH {graph} {{ ?s {first} ?o }} }}",
                f"DELETE {{ GRAPH ?g {{ ?s {first} ?o }} }} WHERE {{ GRAPH ?g {{ ?s {first} ?o }} }}",
                f"DELETE {{ ?s {first} ?o }} INSERT {{ ?o {first} ?s }} WHERE {{ ?s {first} ?o FILTER(!ISLITERAL(?o)) }}",
                f"INSERT {{ ?s {second} [ {first} ?o ] }} WHERE {{ SELECT * {{ ?s {first} ?o }} LIMIT 2 }}",
                f"WITH {graph} DELETE {{ ?s ?p ?o }} INSERT {{ ?s {second} ?o }} WHERE {{ ?s ?p ?o }}",
            ]
        )

    def _delete_where(self, _: Sequence[Quad]) -> str:
        predicate = self._predicate()
        inner = f"?s {predicate} {self._object()}" if self._rng.random() < 0.6 else f"?s {predicate} ?o"
        graph = self._graph()
        return f"DELETE WHERE {{ {inner if isinstance(graph, DefaultGraph) else f'GRAPH {graph} {{ {inner} }}'} }}"

    def _blank(self, _: Sequence[Quad]) -> str:
        quad = self._wished()
        inner = self._rng.choice(
            [
                f"_:x {quad.predicate} {quad.object}",
                f"{quad.subject} {quad.predicate} _:x . _:x {self._predicate()} {quad.object}",
                f"_:x {quad.predicate} _:x",
                f"{quad.subject} {quad.predicate} _:x , _:y",
            ]
        )
        graph = quad.graph_name
        return f"INSERT DATA {{ {inner if isinstance(graph, DefaultGraph) else f'GRAPH {graph} {{ {inner} }}'} }}"

    def _manage(self, _: Sequence[Quad]) -> str:
        silent = self._rng.choice(["", "SILENT ", "SILENT "])
        first, second = (
            "DEFAULT" if isinstance(graph, DefaultGraph) else f"GRAPH {graph}"
            for graph in (self._graph(), self._graph())
        )
        return self._rng.choice(
            [
                f"CLEAR {silent}{first}",
                f"DROP {silent}{first}",
                f"CREATE {silent}{first if first != 'DEFAULT' else f'GRAPH {OTHER_GRAPH}'}",
                f"CREATE {silent}GRAPH {OTHER_GRAPH}",
                f"COPY {silent}{first} TO {second}",
                f"MOVE {silent}{first} TO {second}",
                f"ADD {silent}{first} TO {second}",
            ]
        )

    def _graph_write(self) -> GraphWrite:
        graph = self._graph()
        name = None if isinstance(graph, DefaultGraph) else graph.value
        quads = [self._wished() for _ in range(self._rng.randint(0, 3))]
        triples = "\n".join(f"{quad.subject} {quad.predicate} {quad.object} ." for quad in quads)
        edit = self._rng.choice([GraphEdit.MERGE, GraphEdit.MERGE, GraphEdit.REPLACE, GraphEdit.DROP])
        return GraphWrite(edit, name, "" if edit is GraphEdit.DROP else triples)

    # --- terms --------------------------------------------------------------------------------------------------

    def _wished(self) -> Quad:
        """A quad that a query could look for."""
        if not self._wanted or self._rng.random() < 0.15:
            return Quad(self._node(), self._predicate(), self._object(), self._graph())
        wish = self._rng.choice(self._wanted)
        graph = self._rng.choice(wish.graphs) if self._rng.random() < 0.85 else self._graph()
        return Quad(
            wish.subject or self._node(),
            wish.predicate or self._predicate(),
            wish.object or (self._rng.choice(self._numbers) if self._rng.random() < 0.2 else self._object()),
            graph,
        )

    def _node(self) -> NamedNode:
        return self._rng.choice(self._nodes)

    def _object(self) -> NamedNode | Literal:
        return self._rng.choice(self._objects)

    def _predicate(self) -> NamedNode:
        return self._rng.choice(self._predicates)

    def _graph(self) -> NamedNode | DefaultGraph:
        return self._rng.choice(self._graphs)


def block(quad: Quad) -> str:
    """A quad as INSERT DATA has it."""
    triple = f"{quad.subject} {quad.predicate} {quad.object} ."
    return triple if isinstance(quad.graph_name, DefaultGraph) else f"GRAPH {quad.graph_name} {{ {triple} }}"


def _deletion(quad: Quad) -> str:
    """Deletes it; where it has blank nodes, which can't be named, one that is alike."""
    inner = [
        f"?{name}" if isinstance(term, BlankNode | Triple) else str(term)
        for name, term in (("s", quad.subject), ("p", quad.predicate), ("o", quad.object))
    ]
    text = " ".join(inner)
    if not isinstance(quad.graph_name, DefaultGraph):
        text = f"GRAPH {quad.graph_name} {{ {text} }}"
    if "?" not in "".join(part[0] for part in inner):
        return f"DELETE DATA {{ {text} }}"
    return f"DELETE {{ {text} }} WHERE {{ SELECT * {{ {text} }} LIMIT 1 }}"
