"""An update taken apart: where its operations begin and end, and what each is (SPARQL 1.1 Update, 3).

Oxigraph has said that the text is well-formed before, or will say so: here a wrong text is one that has no place in the
walk, and is answered by None, never guessed.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

from pyoxigraph import DefaultGraph, NamedNode

from .templates import Template, read_quads
from .tokens import tokens

if TYPE_CHECKING:
    from .tokens import Token

GraphRef: TypeAlias = NamedNode | DefaultGraph


class All(Enum):
    """The targets of CLEAR and DROP that are no single graph."""

    NAMED = "NAMED"
    ALL = "ALL"


@dataclass(frozen=True, slots=True)
class Data:
    """INSERT DATA or DELETE DATA."""

    insert: bool
    template: Template


@dataclass(frozen=True, slots=True)
class Modify:
    """DELETE and INSERT by the solutions of a pattern; `where` is its group with the braces."""

    delete: Template | None
    insert: Template | None
    where: str
    with_graph: NamedNode | None = None
    using: tuple[NamedNode, ...] = ()
    using_named: tuple[NamedNode, ...] = ()

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables whose values the templates need."""
        templates = [template for template in (self.delete, self.insert) if template is not None]
        return tuple(dict.fromkeys(name for template in templates for name in template.variables))


@dataclass(frozen=True, slots=True)
class Clear:
    """CLEAR, or DROP where `drop`."""

    target: GraphRef | All
    drop: bool
    silent: bool


@dataclass(frozen=True, slots=True)
class Create:
    """CREATE GRAPH."""

    graph: NamedNode
    silent: bool


@dataclass(frozen=True, slots=True)
class Transfer:
    """ADD, COPY or MOVE."""

    kind: str
    source: GraphRef
    target: GraphRef
    silent: bool


@dataclass(frozen=True, slots=True)
class Load:
    """LOAD of a document."""

    source: NamedNode
    target: GraphRef
    silent: bool


Operation: TypeAlias = Data | Modify | Clear | Create | Transfer | Load


def read_operations(
    sparql: str, prefixes: dict[str, str], base_iri: str
) -> tuple[str, tuple[Operation, ...]] | None:
    """The prologue and the operations of an update whose declarations stand in front; None where it is not one.

    Raises:
        SparqlSyntaxError: a template is not one.
    """
    reader = _Reader(sparql, prefixes, base_iri)
    try:
        return reader.prologue, tuple(reader.operations())
    except _NotAnUpdateError:
        return None


class _NotAnUpdateError(Exception):
    pass


class _Reader:
    """Goes over the tokens once; `_at` is the next."""

    def __init__(self, sparql: str, prefixes: dict[str, str], base_iri: str) -> None:
        self._sparql = sparql
        self._base_iri = base_iri
        self._tokens = list(tokens(sparql))
        self._at = 0
        self.prologue = self._prologue(prefixes)

    def operations(self) -> list[Operation]:
        found: list[Operation] = []
        labels: set[str] = set()
        while self._at < len(self._tokens):
            start = self._at
            found.append(self._operation())
            if isinstance(found[-1], Data):  # grammar note 8: two INSERT DATA have no label in common
                mine = {token.text for token in self._tokens[start : self._at] if token.kind == "bnode"}
                if mine & labels:
                    raise _NotAnUpdateError
                labels |= mine
            if self._at < len(self._tokens):
                self._symbol(";")
        return found

    def _prologue(self, prefixes: dict[str, str]) -> str:
        parts = [f"PREFIX {name}: <{iri}>" for name, iri in prefixes.items()]
        while True:
            if self._word("BASE"):
                parts.append(f"BASE {self._next().text}")
            elif self._word("PREFIX"):
                parts.append(f"PREFIX {self._next().text} {self._next().text}")
            else:
                return " ".join(parts)

    def _operation(self) -> Operation:
        token = self._next()
        match token.text.upper() if token.kind == "word" else "":
            case "INSERT":
                return self._insert()
            case "DELETE":
                return self._delete(None)
            case "WITH":
                graph = self._iri()
                if self._word("DELETE"):
                    return self._delete(graph)
                self._expect("INSERT")
                return self._modify(graph, None)
            case "CLEAR" | "DROP" as kind:
                return self._clear(drop=kind == "DROP")
            case "CREATE":
                silent = self._word("SILENT")
                self._expect("GRAPH")
                return Create(self._iri(), silent)
            case "ADD" | "COPY" | "MOVE" as kind:
                silent, source = self._word("SILENT"), self._graph()
                self._expect("TO")
                return Transfer(kind, source, self._graph(), silent)
            case "LOAD":
                return self._load()
        raise _NotAnUpdateError

    def _insert(self) -> Operation:
        if self._word("DATA"):
            return Data(insert=True, template=self._template(variables=False))
        return self._modify(None, None)

    def _delete(self, graph: NamedNode | None) -> Operation:
        if self._word("DATA"):
            return Data(insert=False, template=self._template(variables=False, blanks=False))
        if self._word("WHERE"):
            start = self._at
            template = self._template(blanks=False)
            return Modify(template, None, self._text(start), graph)
        template = self._template(blanks=False)
        if self._word("INSERT"):
            return self._modify(graph, template)
        return self._where(graph, template, None)

    def _modify(self, graph: NamedNode | None, delete: Template | None) -> Operation:
        return self._where(graph, delete, self._template())

    def _where(self, graph: NamedNode | None, delete: Template | None, insert: Template | None) -> Modify:
        using: list[NamedNode] = []
        named: list[NamedNode] = []
        while self._word("USING"):
            (named if self._word("NAMED") else using).append(self._iri())
        self._word("WHERE")
        start = self._at
        self._group()
        return Modify(delete, insert, self._text(start), graph, tuple(using), tuple(named))

    def _clear(self, *, drop: bool) -> Clear:
        silent = self._word("SILENT")
        for target in All:
            if self._word(target.value):
                return Clear(target, drop, silent)
        if not (self._peek("DEFAULT") or self._peek("GRAPH")):
            raise _NotAnUpdateError
        return Clear(self._graph(), drop, silent)

    def _load(self) -> Load:
        silent, source = self._word("SILENT"), self._iri()
        target: GraphRef = DefaultGraph()
        if self._word("INTO"):
            self._expect("GRAPH")
            target = self._iri()
        return Load(source, target, silent)

    def _graph(self) -> GraphRef:
        if self._word("DEFAULT"):
            return DefaultGraph()
        self._word("GRAPH")
        return self._iri()

    def _iri(self) -> NamedNode:
        token = self._next()
        if token.kind not in {"iri", "pname"}:
            raise _NotAnUpdateError
        (quad,) = read_quads(f"<urn:s> <urn:p> {token.text} .", self.prologue, self._base_iri)
        assert isinstance(quad.object, NamedNode)
        return quad.object

    def _template(self, *, variables: bool = True, blanks: bool = True) -> Template:
        start = self._at
        self._group()
        template = Template.read(self._text(start)[1:-1], self.prologue, self._base_iri)
        if (template.variables and not variables) or (template.blanks and not blanks):
            raise _NotAnUpdateError
        return template

    def _group(self) -> None:
        depth = 0
        while True:
            depth += {"{": 1, "}": -1}.get(self._next().text, 0)
            if depth <= 0:
                break
        if self._tokens[self._at - 1].text != "}":
            raise _NotAnUpdateError

    def _text(self, start: int) -> str:
        return self._sparql[self._tokens[start].start : self._tokens[self._at - 1].end]

    def _next(self) -> Token:
        if self._at >= len(self._tokens):
            raise _NotAnUpdateError
        self._at += 1
        return self._tokens[self._at - 1]

    def _peek(self, word: str) -> bool:
        return self._at < len(self._tokens) and self._tokens[self._at].is_word(word)

    def _word(self, word: str) -> bool:
        found = self._peek(word)
        self._at += found
        return found

    def _expect(self, word: str) -> None:
        if not self._word(word):
            raise _NotAnUpdateError

    def _symbol(self, symbol: str) -> None:
        if self._next().text != symbol:
            raise _NotAnUpdateError
