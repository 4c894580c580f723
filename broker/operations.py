"""An update taken apart: where its operations begin and end, and what each is (SPARQL 1.1 Update, 3).

Oxigraph has said that the text is well-formed before, or will say so: here a wrong text is one that has no place in the
walk, and is answered by None, never guessed.

Applications send the same update again and again with other constants in it.  `OperationReader` walks over what they have in
common once, with marks in the places of the constants, and remembers what it read; the constants of each text are then
put in their places.  What a text is does not depend on what its constants say, only on where they stand and of which
kind they are.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from pyoxigraph import DefaultGraph, NamedNode

from .errors import SparqlSyntaxError
from .names import in_full
from .prologues import Prologue, with_one_prologue
from .templates import Template, constant_node, has_mark, mark, read_quads, split_at_marks
from .tokens import shape, tokens

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .tokens import Shape, Token

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


class Seen(NamedTuple):
    """The graphs that a pattern sees, where it is not to see more: those of its default graph, and the named ones."""

    default: tuple[GraphRef, ...]
    named: tuple[NamedNode, ...]


@dataclass(frozen=True, slots=True)
class Modify:
    """DELETE and INSERT by the solutions of a pattern; `where` is its group with the braces.

    `prologue` is the declarations that the pattern needs; `seen` stands for WITH and USING where it is set.
    """

    delete: Template | None
    insert: Template | None
    where: str
    with_graph: NamedNode | None = None
    using: tuple[NamedNode, ...] = ()
    using_named: tuple[NamedNode, ...] = ()
    prologue: str = ""
    seen: Seen | None = None

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
    sparql: str, prefixes: Mapping[str, str], base_iri: str
) -> tuple[str, tuple[Operation, ...]] | None:
    """The prologue and the operations of an update whose declarations stand in front; None where it is not one.

    Raises:
        SparqlSyntaxError: a template is not one.
    """
    try:
        reader = _Reader(sparql, prefixes, base_iri)
        return reader.prologue.text, tuple(reader.operations())
    except _NotAnUpdateError:
        return None


# Applications have a few dozen updates; the memory is bounded, as what is remembered of is short (see `tokens.shape`).
_SHAPES = 512


class OperationReader:
    """Reads updates, and remembers the shapes of short ones.  Not thread-safe."""

    def __init__(self, prefixes: Mapping[str, str], base_iri: str) -> None:
        self._prefixes = dict(prefixes)
        self._declared = tuple(prefixes.items())
        self._base_iri = base_iri
        self._shapes: OrderedDict[Shape, _Pattern | None] = OrderedDict()

    def read(self, sparql: str) -> tuple[str, tuple[Operation, ...]] | None:
        """The prologue and the operations of an update, declarations anywhere; None where it is not one.

        Raises:
            SparqlSyntaxError: a template is not one.
        """
        sparql = in_full(sparql, self._declared)
        found = shape(sparql)
        if found is not None:
            pattern = self._pattern(found[0])
            if pattern is not None:
                try:
                    return pattern.prologue, pattern.operations(found[1])
                except ValueError:
                    pass  # one of the constants is for Oxigraph's reader
        return read_operations(with_one_prologue(sparql), self._prefixes, self._base_iri)

    def _pattern(self, shape: Shape) -> _Pattern | None:
        if shape in self._shapes:
            self._shapes.move_to_end(shape)
            return self._shapes[shape]
        pattern = self._shapes[shape] = self._read(shape)
        if len(self._shapes) > _SHAPES:
            self._shapes.popitem(last=False)
        return pattern

    def _read(self, shape: Shape) -> _Pattern | None:
        # Declarations between operations have no place in the walk: such a shape has no pattern.
        text = shape.filled(mark(kind, number) for number, kind in enumerate(shape.kinds))
        try:
            read = read_operations(text, self._prefixes, self._base_iri)
        except SparqlSyntaxError:
            return None
        if read is None or has_mark(read[0]):
            return None
        return _Pattern.of(*read)


@dataclass(frozen=True, slots=True)
class _Pattern:
    """Operations with places for the constants of a text; their patterns' texts come in parts."""

    prologue: str
    parts: tuple[tuple[Data | Modify, list[str | int]], ...]

    @classmethod
    def of(cls, prologue: str, operations: Sequence[Operation]) -> _Pattern | None:
        """None where there is another kind of operation, which is read in no time."""
        parts: list[tuple[Data | Modify, list[str | int]]] = []
        for operation in operations:
            if not isinstance(operation, Data | Modify):
                return None
            parts.append(
                (operation, split_at_marks(operation.where) if isinstance(operation, Modify) else [])
            )
        return cls(prologue, tuple(parts))

    def operations(self, constants: Sequence[str]) -> tuple[Operation, ...]:
        """The operations of a text with these constants.

        Raises:
            ValueError: Oxigraph's reader alone can tell what one of them is.
        """
        return tuple([_bound(operation, where, constants) for operation, where in self.parts])


def _bound(operation: Data | Modify, where: list[str | int], constants: Sequence[str]) -> Operation:
    if isinstance(operation, Data):
        return Data(operation.insert, operation.template.bind(constants))
    delete, insert = operation.delete, operation.insert
    return Modify(
        delete.bind(constants) if delete is not None else None,
        insert.bind(constants) if insert is not None else None,
        "".join([part if isinstance(part, str) else constants[part] for part in where]),
        None if operation.with_graph is None else _node(operation.with_graph, constants),
        tuple([_node(graph, constants) for graph in operation.using]),
        tuple([_node(graph, constants) for graph in operation.using_named]),
        operation.prologue,
    )


def _node(node: NamedNode, constants: Sequence[str]) -> NamedNode:
    place = constant_node(node)
    if isinstance(place, NamedNode):
        return place
    term = place.term(constants[place.number])
    assert isinstance(term, NamedNode), "it was marked as one"
    return term


class _NotAnUpdateError(Exception):
    pass


class _Reader:
    """Goes over the tokens once; `_at` is the next."""

    def __init__(self, sparql: str, prefixes: Mapping[str, str], base_iri: str) -> None:
        self._sparql = sparql
        self._base_iri = base_iri
        self._tokens = list(tokens(sparql))
        self._at = 0
        self.prologue = Prologue(prefixes, base_iri)
        self._declarations()

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

    def _declarations(self) -> None:
        start = self._at
        while True:
            if self._word("BASE"):
                self.prologue.base(self._next().text)
            elif self._word("PREFIX"):
                self.prologue.prefix(self._next().text, self._next().text)
            else:
                break
        if self._at > start:
            read_quads("", self._text(start), self._base_iri)  # those that nobody uses must be right, too

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
            return Modify(template, None, self._text(start), graph, prologue=self._used(start))
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
        where, prologue = self._text(start), self._used(start)
        return Modify(delete, insert, where, graph, tuple(using), tuple(named), prologue)

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
        (quad,) = read_quads(f"<urn:s> <urn:p> {token.text} .", self._used(self._at - 1), self._base_iri)
        assert isinstance(quad.object, NamedNode)
        return quad.object

    def _template(self, *, variables: bool = True, blanks: bool = True) -> Template:
        start = self._at
        self._group()
        template = Template.read(self._text(start)[1:-1], self._used(start), self._base_iri)
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

    def _used(self, start: int) -> str:
        return self.prologue.used_by(self._tokens[start : self._at])

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
