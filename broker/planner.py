"""From a request to its exact change: the text is read, its documents fetched, its plan made; nothing is written.

A large INSERT DATA or DELETE DATA goes straight to Oxigraph's TriG reader and never meets a tokenizer in Python.
"""

from __future__ import annotations

import contextlib
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyoxigraph
from pyoxigraph import DefaultGraph, NamedNode, RdfFormat

from .errors import GraphNotFound, MalformedRequest, RequestError, SparqlSyntaxError
from .model import GraphEdit, GraphWrite, QuadDelta, Update
from .operations import Data, Load, Modify, OperationReader
from .overlay import Overlay
from .prologues import with_one_prologue
from .restriction import check, restricted
from .rights import name_of
from .templates import Template, plain_data, read_quads
from .tokens import tokens
from .update_plan import UpdatePlan

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyoxigraph import Quad

    from .operations import Operation

_PLAIN = re.compile(
    r"\s*+(?P<prologue>(?:PREFIX\s+[^\s:{}<>]*+:\s*<[^<>\s]*>\s*+|BASE\s*<[^<>\s]*>\s*+)*+)"
    r"(?P<kind>INSERT|DELETE)\s+DATA\s*\{(?P<body>.*)\}\s*(?:;\s*)?",
    re.IGNORECASE | re.DOTALL,
)
# The body is cut at the text's last brace, so what has another operation in it is not plain.
_EXISTS = "urn:x-triplewire:only-parsed"
_REACHES_OUT = re.compile("LOAD|SERVICE", re.IGNORECASE)


class Planner:
    """Makes the plans of requests over one store."""

    def __init__(self, base_iri: str, prefixes: Mapping[str, str], load: Callable[[str], list[Quad]]) -> None:
        self._load = load
        self._base_iri = base_iri
        self._prefixes = dict(prefixes)
        self._declared = declarations(prefixes)
        self._options: dict[str, Any] = {"base_iri": base_iri}
        self._reader = OperationReader(prefixes, base_iri)

    def update(self, store: pyoxigraph.Store, update: Update) -> QuadDelta:
        """What an update will change; its text has been measured by the guard.

        Raises:
            RequestError: it is no update, or one of its operations fails.
            SyntaxError: Oxigraph's own, for the text as it is.
        """
        plain = self._plain(store, update)
        if plain is not None:
            return plain
        try:
            read = self._reader.read(update.sparql)
        except SparqlSyntaxError:
            read = None
        if read is None:
            self._parse(with_one_prologue(update.sparql))
            raise SparqlSyntaxError("Parsing failed: this form of update is not read here")
        prologue, operations = read
        rights = update.rights
        judged = [restricted(_over(one, update), rights) for one in operations]
        try:
            ready = [self._ready(one) for one in judged]
            return UpdatePlan(store, prologue, ready, self._options, rights).delta()
        except SyntaxError:
            self._parse(with_one_prologue(update.sparql))  # for the position in the sender's own text
            raise

    def _ready(self, operation: Operation) -> Operation:
        """LOAD becomes the data that it loads."""
        if not isinstance(operation, Load):
            return operation
        try:
            quads = self._load(operation.source.value)
        except RequestError:
            if not operation.silent:
                raise
            quads = []
        return Data(insert=True, template=Template.of(quads, operation.target))

    def graph(self, store: pyoxigraph.Store, write: GraphWrite) -> QuadDelta:
        """What a Graph Store operation will change (Graph Store Protocol, 5.3 to 5.5).

        Raises:
            GraphNotFound: a graph that is not there is to be dropped.
        """
        graph = DefaultGraph() if write.graph is None else NamedNode(write.graph)
        rights = write.rights
        merges = write.edit is GraphEdit.MERGE
        check(graph, rights.may_append if merges else rights.may_write, "written")
        overlay = Overlay(store, rights)
        told = rights.may_read(name_of(graph))
        if write.edit is GraphEdit.DROP and told and not overlay.has_graph(graph):
            raise GraphNotFound(f"there is no graph <{write.graph}>")
        if write.edit is not GraphEdit.MERGE:
            overlay.drop(graph)
        if write.edit is not GraphEdit.DROP:
            if isinstance(graph, NamedNode):
                overlay.create(graph)
            parsed = pyoxigraph.parse(write.triples, format=RdfFormat.N_TRIPLES, rename_blank_nodes=True)
            overlay.insert(type(quad)(quad.subject, quad.predicate, quad.object, graph) for quad in parsed)
        return overlay.delta()

    def _plain(self, store: pyoxigraph.Store, update: Update) -> QuadDelta | None:
        found = plain_data_quads(update.sparql, self._declared, self._base_iri)
        if found is None:
            return None
        insert, quads = found
        overlay = Overlay(store, update.rights)
        if insert:
            overlay.insert(quads)
        else:
            overlay.delete(quads)
        return overlay.delta()

    def _parse(self, sparql: str) -> None:
        """Have Oxigraph say what is wrong with a text; on an empty store it does no harm.

        Raises:
            SyntaxError: with the position in this text.
        """
        if _REACHES_OUT.search(sparql) is not None:
            # Parsed whole, but the first operation that is carried out fails.
            start = _end_of_prologue(sparql)
            sparql = (
                f"{sparql[:start]} CREATE GRAPH <{_EXISTS}> ; CREATE GRAPH <{_EXISTS}> ; {sparql[start:]}"
            )
        with contextlib.suppress(RuntimeError, OSError):
            pyoxigraph.Store().update(sparql, base_iri=self._base_iri, prefixes=self._prefixes)


def plain_data_quads(sparql: str, declared: str, base_iri: str) -> tuple[bool, list[Quad]] | None:
    """Whether an update is one INSERT DATA or a DELETE DATA, and its quads; None where that takes a closer look.

    `declared` are the declarations that stand before all others.
    """
    if "DATA" not in sparql.upper():
        return None
    match = _PLAIN.fullmatch(sparql)
    body = plain_data(match["body"]) if match is not None else None
    if match is None or body is None:
        return None
    try:
        quads = read_quads(body, f"{declared} {match['prologue']}", base_iri)
    except SparqlSyntaxError:
        return None
    insert = match["kind"].upper() == "INSERT"
    if not insert and any(_has_blank(quad) for quad in quads):
        return None
    return insert, quads


def declarations(prefixes: Mapping[str, str]) -> str:
    """Prefixes as SPARQL declares them."""
    return " ".join(f"PREFIX {name}: <{iri}>" for name, iri in prefixes.items())


def _end_of_prologue(sparql: str) -> int:
    skip = 0
    for token in tokens(sparql):
        if skip:
            skip -= 1
        elif token.is_word("PREFIX"):
            skip = 2
        elif token.is_word("BASE", "VERSION"):
            skip = 1
        else:
            return token.start
    return len(sparql)


def _has_blank(quad: Quad) -> bool:
    return any(
        isinstance(term, pyoxigraph.BlankNode) for term in (quad.subject, quad.object, quad.graph_name)
    )


def _over(operation: Operation, update: Update) -> Operation:
    """The operation over the protocol's dataset, which stands for USING and USING NAMED."""
    if not isinstance(operation, Modify) or not (update.using_graphs or update.using_named_graphs):
        return operation
    if operation.with_graph is not None or operation.using or operation.using_named:
        raise MalformedRequest(
            "the update has USING or WITH and the request has using-graph-uri: "
            "the dataset must be given in one place (SPARQL 1.1 Protocol 2.2.3)"
        )
    return replace(
        operation,
        using=tuple(NamedNode(graph) for graph in update.using_graphs),
        using_named=tuple(NamedNode(graph) for graph in update.using_named_graphs),
    )
