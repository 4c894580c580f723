"""Mappings in RML and R2RML (Turtle) as plans: each triples map becomes a rule for each shape of quad that it makes.

What is read is RML-Core and the sources of RML-IO that are files (https://w3id.org/rml/core/spec, /io/spec), the older RML with
`rr:` and `ql:`, and R2RML over tables that were exported as CSV; all mixed, as people do.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyoxigraph import BlankNode, NamedNode

from .mapping_problems import Problem, Problems
from .plan import Constant, Join, Mapping, Rule, TermMap, TermType
from .rml_document import Document
from .rml_sources import Sources
from .rml_terms import RDF, terms_of
from .rml_vocabulary import word

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .plan import Source
    from .rml_document import Node, Term
    from .rml_terms import Terms

_TYPE = TermMap(Constant(RDF + "type"), TermType.IRI)


def read_rml(path: Path, base_iri: str = "http://localhost/") -> Mapping:
    """The plan of the RML or R2RML document at `path`.

    `base_iri` is for IRIs that rows make without a scheme, and for relative ones in the document.

    Raises:
        MappingError: it can't be read, or something in it is wrong or not supported: all that is, at once.
    """
    document = Document(path, base_iri)
    problems = Problems(str(path))
    sources = Sources(path.parent)
    found = {node.term: node for node in document.triples_maps()}
    if not found:
        problems.add("", "there is no triples map in it")
    maps = _Maps(found, sources)
    rules: list[Rule] = []
    for node in found.values():
        _collect(maps.rules(node), rules, problems, node)
    problems.raise_if_any()
    return Mapping(sources.all(), tuple(dict.fromkeys(rules)), base_iri)


def _collect(found: Iterator[Rule | Problem], rules: list[Rule], problems: Problems, node: Node) -> None:
    try:
        for rule in found:
            if isinstance(rule, Problem):
                problems.add(str(node), rule)
            else:
                rules.append(rule)
    except Problem as problem:
        problems.add(str(node), problem)


class _Maps:
    """The triples maps of a document, which refer to each other."""

    def __init__(self, nodes: dict[Term, Node], sources: Sources) -> None:
        self._nodes = nodes
        self._sources = sources

    def rules(self, node: Node) -> Iterator[Rule | Problem]:
        """The rules of a triples map, and what is wrong with its predicate-object maps."""
        node.check()
        read = _read(node, self._sources.of(node))
        for class_ in read.classes:
            for graph in _or_default(read.graphs):
                yield Rule(read.source.name, read.subject, _TYPE, _iri(class_, "class"), graph)
        for term in node.terms("predicateObjectMap"):
            try:
                yield from self._predicate_object(
                    node.at(term, "predicateObjectMap", "predicate-object map"), read
                )
            except Problem as problem:
                yield problem

    def _predicate_object(self, pair: Node, read: _Read) -> Iterator[Rule]:
        terms = read.terms
        predicates = [
            *(terms.constant(found, "predicate map") for found in pair.terms("predicate")),
            *(terms.of(found) for found in pair.nodes("predicateMap", "predicate map")),
        ]
        objects: list[tuple[TermMap, Join | None]] = [
            *((terms.constant(found, "object map"), None) for found in pair.terms("object")),
            *(self._object(found, read) for found in pair.nodes("objectMap", "object map")),
        ]
        for name, parts in (("predicate", predicates), ("object", objects)):
            if not parts:
                raise Problem(f"predicate-object map: there is no {name}")
        graphs = _or_default([*read.graphs, *_graphs(pair, terms)])
        for predicate, (object_, join), graph in itertools.product(predicates, objects, graphs):
            yield Rule(read.source.name, read.subject, predicate, object_, graph, join)

    def _object(self, node: Node, read: _Read) -> tuple[TermMap, Join | None]:
        parent_term = node.term_of("parentTriplesMap")
        if parent_term is None:
            if node.terms("joinCondition"):
                raise Problem("object map: a joinCondition needs a parentTriplesMap")
            return read.terms.of(node), None
        parent = self._nodes.get(parent_term)
        if parent is None:
            raise Problem(
                f"object map: the parentTriplesMap {parent_term} is no triples map of this document"
            )
        other = _read(parent, self._sources.of(parent))
        conditions = node.nodes("joinCondition", "join condition")
        if conditions:
            on = tuple(
                (
                    read.terms.join_side(found, "child", "childMap"),
                    other.terms.join_side(found, "parent", "parentMap"),
                )
                for found in conditions
            )
            return other.subject, Join(other.source.name, on)
        if other.source != read.source:
            raise Problem(
                f"object map: without a joinCondition {parent} must have the same source (R2RML 8): "
                f"{read.source.name} would be joined with all rows of {other.source.name}"
            )
        return other.subject, None


@dataclass(frozen=True, slots=True)
class _Read:
    """What a triples map's rules share."""

    source: Source
    terms: Terms
    subject: TermMap
    graphs: list[TermMap | None]
    classes: list[Term]


def _read(node: Node, source: Source) -> _Read:
    terms = terms_of(node, source)
    maps = node.nodes("subjectMap", "subject map")
    shortcuts = node.terms("subject")
    if len(maps) + len(shortcuts) != 1:
        raise Problem(f"there must be one subjectMap or subject, and there are {len(maps) + len(shortcuts)}")
    if shortcuts:
        return _Read(source, terms, terms.constant(shortcuts[0], "subject map"), [], [])
    return _Read(source, terms, terms.of(maps[0]), _graphs(maps[0], terms), maps[0].terms("class"))


def _graphs(node: Node, terms: Terms) -> list[TermMap | None]:
    """The graphs that a map names; None is the default graph."""
    found: list[TermMap | None] = []
    for term in node.terms("graph"):
        if isinstance(term, BlankNode):  # a graph map, by the older RML's habit
            found += [
                _graph(terms.of(map_)) for map_ in node.nodes("graph", "graph map") if map_.term == term
            ]
        else:
            found.append(_graph(terms.constant(term, "graph map")))
    found += [_graph(terms.of(map_)) for map_ in node.nodes("graphMap", "graph map")]
    return found


def _graph(made: TermMap) -> TermMap | None:
    is_default = isinstance(made.expression, Constant) and word(made.expression.value) == "defaultGraph"
    return None if is_default else made


def _or_default(graphs: list[TermMap | None]) -> list[TermMap | None]:
    """R2RML 11.1: no graph is the default graph; each stands once."""
    return list(dict.fromkeys(graphs)) or [None]


def _iri(term: Term, name: str) -> TermMap:
    if not isinstance(term, NamedNode):
        raise Problem(f"subject map: the {name} {term} is no IRI")
    return TermMap(Constant(term.value), TermType.IRI)
