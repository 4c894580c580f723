"""The W3C's manifests of query, update and syntax tests, read into plain values.

The suites are not part of this project; they are looked for in a folder beside the checkout.  Where they are missing
there are no cases, and pytest skips the tests that would have had them.  All IRIs are those by which the W3C publishes
the suites, so nothing depends on where the folder is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from pyoxigraph import BlankNode, NamedNode, RdfFormat, Store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyoxigraph import Literal

    Term = NamedNode | BlankNode | Literal

ROOT = Path(__file__).parents[3] / "shared" / "w3c"
BASE = "https://w3c.github.io/rdf-tests/sparql/"

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
MF = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#"
QT = "http://www.w3.org/2001/sw/DataAccess/tests/test-query#"
UT = "http://www.w3.org/2009/sparql/tests/test-update#"

# A query's own dataset: the graphs that have to be in the store under these names.
FROM = re.compile(r"^\s*FROM\s+(?:NAMED\s+)?<([^>]*)>", re.IGNORECASE | re.MULTILINE)
ORDER_BY = re.compile(r"ORDER\s+BY", re.IGNORECASE)


@dataclass(frozen=True)
class Data:
    """A dataset in files: those of the default graph, and those of the named graphs with their names."""

    default: tuple[str, ...] = ()
    named: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Case:
    """One test; `sparql` and `result` are the IRIs of files, `result` is a dataset where an update is tested.

    `lax`: duplicates don't count (REDUCED).  `services`: each remote endpoint and the file that it holds.
    """

    name: str
    kind: str
    sparql: str
    data: Data = Data()
    result: str | Data | None = None
    lax: bool = False
    services: tuple[tuple[str, str], ...] = ()

    @property
    def text(self) -> str:
        """The query or update, as it is in its file."""
        return path_of(self.sparql).read_bytes().decode()

    @property
    def is_sorted(self) -> bool:
        """Whether the query as a whole, and not a part in braces, has ORDER BY."""
        return ORDER_BY.search(self.text.rpartition("}")[2]) is not None

    @property
    def is_update(self) -> bool:
        return "Update" in self.kind or self.sparql.endswith(".ru")

    @property
    def based_text(self) -> str:
        """The same, with the base IRI that its relative IRIs mean; its own BASE comes later and wins."""
        return f"BASE <{self.sparql}>\n{self.text}"


class Manifest:
    """A manifest as a graph, and the few questions that are asked of it."""

    def __init__(self, path: Path) -> None:
        self.folder = path.parent.relative_to(ROOT).as_posix()
        self.store = Store()
        self.store.load(path=path, format=RdfFormat.TURTLE, base_iri=BASE + path.relative_to(ROOT).as_posix())

    def all(self, subject: Term, predicate: str) -> list[Term]:
        return [quad.object for quad in self.store.quads_for_pattern(subject, NamedNode(predicate), None)]

    def one(self, subject: Term | None, predicate: str) -> Term | None:
        return next(iter(self.all(subject, predicate)), None) if subject is not None else None

    def text(self, subject: Term | None, predicate: str) -> str | None:
        found = self.one(subject, predicate)
        return None if found is None else found.value

    def items(self, head: Term | None) -> Iterator[Term]:
        """The members of an RDF list."""
        while head is not None and head != NamedNode(RDF + "nil"):
            yield self.one(head, RDF + "first")
            head = self.one(head, RDF + "rest")

    def tests(self) -> Iterator[Term]:
        """In the manifest's order; those that it describes without entering them are not approved."""
        for quad in self.store.quads_for_pattern(None, NamedNode(MF + "entries"), None):
            yield from self.items(quad.object)

    def name(self, test: Term) -> str:
        return f"{self.folder}/{test.value.rpartition('#')[2]}"

    def kind(self, test: Term) -> str:
        kinds = [kind.value.rpartition("#")[2] for kind in self.all(test, RDF + "type")]
        return next(kind for kind in kinds if "Test" in kind)

    def case(self, test: Term) -> Case:
        action, result = self.one(test, MF + "action"), self.one(test, MF + "result")
        name, kind = self.name(test), self.kind(test)
        if "Syntax" in kind:
            return Case(name, kind, action.value)
        if kind == "UpdateEvaluationTest":
            request = self.text(action, UT + "request")
            return Case(name, kind, request, self.data(action, UT), self.data(result, UT))
        query, data = self.text(action, QT + "query"), self.data(action, QT)
        named = tuple(dict.fromkeys(data.named + _dataset_of(query)))
        lax = self.text(test, MF + "resultCardinality") == MF + "LaxCardinality"
        services = tuple(
            (self.text(service, QT + "endpoint"), self.text(service, QT + "data"))
            for service in self.all(action, QT + "serviceData")
        )
        return Case(name, kind, query, Data(data.default, named), result.value, lax, services)

    def data(self, node: Term, vocabulary: str) -> Data:
        default = tuple(file.value for file in self.all(node, vocabulary + "data"))
        named = tuple(self._named(graph, vocabulary) for graph in self.all(node, vocabulary + "graphData"))
        return Data(default, named)

    def _named(self, graph: Term, vocabulary: str) -> tuple[str, str]:
        if isinstance(graph, NamedNode):
            return graph.value, graph.value
        return self.text(graph, RDFS + "label"), self.text(graph, vocabulary + "graph")


def _dataset_of(query: str) -> tuple[tuple[str, str], ...]:
    found = (urljoin(query, iri) for iri in FROM.findall(path_of(query).read_bytes().decode()))
    return tuple((iri, iri) for iri in found if iri.startswith(BASE) and path_of(iri).is_file())


def path_of(iri: str) -> Path:
    """The file of an IRI below BASE."""
    return ROOT / iri.removeprefix(BASE)


@cache
def manifests(pattern: str = "*/*/manifest.ttl") -> list[Manifest]:
    """Those of the suites' folders, entailment aside: the broker entails nothing."""
    found = sorted(ROOT.glob(pattern)) if ROOT.is_dir() else []
    return [Manifest(path) for path in found if path.parent.name != "entailment"]


@cache
def cases(*kinds: str) -> list[Case]:
    """All the tests of these kinds."""
    return [
        manifest.case(test)
        for manifest in manifests()
        for test in manifest.tests()
        if manifest.kind(test) in kinds
    ]
