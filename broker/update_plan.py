"""What an update will change, exactly, before anything is written (`Store.update` says nothing of it).

Theory of operation.  Each operation is turned into the quads that it deletes and inserts, on an overlay over the store:
what is already so is no change, and several operations net out.  Only the solutions of WHERE need the store's engine:

- The first pattern of a request sees the store as it is: it is asked as a SELECT of the variables that the templates
  need, over the dataset that WITH or USING name.
- A later pattern sees what the operations before it did.  Oxigraph is the only one who knows how to evaluate that, so
  the request is given to it once, as a *rehearsal*: each WHERE ends in a call of a function of ours that writes down
  the solution, and the request ends in an operation that fails, which takes everything back.  Blank nodes of templates
  are made by a function of ours too, so that a later pattern that meets them meets the ones that will be written.

Functions like NOW() or UUID() are evaluated once: the solutions that are written down are the ones that are used.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from pyoxigraph import BlankNode, DefaultGraph, Literal, NamedNode, QuerySolutions

from .errors import RequestError
from .operations import All, Clear, Create, Data, Load, Modify, Transfer
from .overlay import Overlay
from .restriction import NOWHERE, only_named
from .rights import ALL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import pyoxigraph

    from .model import QuadDelta, Term
    from .operations import GraphRef, Operation
    from .rights import Rights
    from .templates import Template

    Solution = Mapping[str, Term | None]

_NOTE = NamedNode("urn:x-triplewire:note")
_BLANK = NamedNode("urn:x-triplewire:blank")
_UNBOUND = NamedNode("urn:x-triplewire:unbound")
_END = "urn:x-triplewire:end-of-rehearsal"
_BLANK_VARIABLE = "triplewire_blank_"


class _NeedsRehearsalError(Exception):
    """A pattern comes after a change."""


class UpdatePlan:
    """One request's operations over one store; `options` are what the store's query and update are called with."""

    def __init__(
        self,
        store: pyoxigraph.Store,
        prologue: str,
        operations: Sequence[Operation],
        options: Mapping[str, Any],
        rights: Rights = ALL,
    ) -> None:
        """What whoever has these `rights` may not do has been taken out of the `operations` (`restriction`)."""
        self._store = store
        self._prologue = prologue
        self._operations = operations
        self._options = options
        self._rights = rights
        self._overlay = Overlay(store, rights)
        self._rehearsed: dict[int, list[Solution]] | None = None

    def delta(self) -> QuadDelta:
        """The net change.

        Raises:
            RequestError: an operation fails (a graph that is not there, or there already).
            SyntaxError: a WHERE is not one (Oxigraph's own error).
        """
        try:
            return self._net()
        except _NeedsRehearsalError:
            rehearsal = _Rehearsal(self._store, self._prologue, self._operations, self._options)
            self._rehearsed = rehearsal.solutions()
            self._overlay = Overlay(self._store, self._rights)
            return self._net()

    def _net(self) -> QuadDelta:
        for number, operation in enumerate(self._operations):
            self._carry_out(number, operation)
        return self._overlay.delta()

    def _carry_out(self, number: int, operation: Operation) -> None:
        match operation:
            case Data():
                self._data(number, operation)
            case Modify():
                self._modify(number, operation)
            case Clear():
                self._clear(operation)
            case Create():
                self._create(operation)
            case Transfer():
                self._transfer(operation)
            case Load():
                raise AssertionError("documents are fetched before a plan is made")

    def _data(self, number: int, operation: Data) -> None:
        template = operation.template
        if self._rehearsed is not None and template.blanks:
            (values,) = self._rehearsed[number]
        else:
            values = _with_blanks({}, template)
        quads = template.fill(values, DefaultGraph())
        if operation.insert:
            self._overlay.insert(quads)
        else:
            self._overlay.delete(quads)

    def _modify(self, number: int, operation: Modify) -> None:
        default = operation.with_graph or DefaultGraph()
        delete, insert = operation.delete, operation.insert
        solutions = self._solutions(number, operation)
        if delete is not None:
            self._overlay.delete(quad for row in solutions for quad in delete.fill(row, default))
        if insert is not None:
            filled = (_with_blanks(row, insert) for row in solutions)
            self._overlay.insert(quad for row in filled for quad in insert.fill(row, default))

    def _solutions(self, number: int, operation: Modify) -> list[Solution]:
        if self._rehearsed is not None:
            return self._rehearsed.get(number, [])
        if not self._overlay.is_empty:
            raise _NeedsRehearsalError
        return list(self._select(operation))

    def _select(self, operation: Modify) -> Iterator[Solution]:
        variables = operation.variables
        names = " ".join([f"?{name}" for name in variables]) or "(1 AS ?solution)"
        options = dict(self._options)
        if operation.seen is not None:
            options["default_graph"] = list(operation.seen.default)
            options["named_graphs"] = list(operation.seen.named)
        elif operation.using or operation.using_named:
            options["default_graph"] = list(operation.using)
            options["named_graphs"] = list(operation.using_named)
        elif operation.with_graph is not None:
            options["default_graph"] = operation.with_graph
        query = f"SELECT {names} WHERE {operation.where}"
        try:
            found = self._store.query(f"{operation.prologue} {query}", **options)
        except SyntaxError:  # perhaps Oxigraph reads the name of a prefix where we don't
            found = self._store.query(f"{self._prologue} {query}", **options)
        assert isinstance(found, QuerySolutions)
        for row in found:
            yield dict(zip(variables, row, strict=False))

    def _clear(self, operation: Clear) -> None:
        if isinstance(operation.target, All):
            targets: list[Any] = list(self._overlay.named_graphs())
            if operation.target is All.ALL:
                targets.append(DefaultGraph())
        else:
            targets = [operation.target]
            if not operation.silent:
                self._must_be_there(operation.target)
        for graph in targets:
            if operation.drop:
                self._overlay.drop(graph)
            else:
                self._overlay.delete(self._overlay.quads(graph))

    def _create(self, operation: Create) -> None:
        if self._overlay.has_graph(operation.graph) and not operation.silent:
            raise RequestError(
                f"the update failed: the graph {operation.graph} already exists", code="update_failed"
            )
        self._overlay.create(operation.graph)

    def _transfer(self, operation: Transfer) -> None:
        """SPARQL 1.1 Update, 3.2.3 to 3.2.5; a graph onto itself is nothing at all."""
        source, target = operation.source, operation.target
        if source == target:
            return
        quads = [_moved(quad, target) for quad in self._overlay.quads(source)]
        if operation.kind != "ADD":
            self._overlay.drop(target)
        self._overlay.insert(quads)
        if operation.kind == "MOVE":
            if not operation.silent:
                self._must_be_there(source)
            self._overlay.drop(source)

    def _must_be_there(self, graph: GraphRef) -> None:
        if not self._overlay.has_graph(graph):
            raise RequestError(f"the update failed: the graph {graph} does not exist", code="update_failed")


def _moved(quad: pyoxigraph.Quad, graph: GraphRef) -> pyoxigraph.Quad:
    return type(quad)(quad.subject, quad.predicate, quad.object, graph)


def _with_blanks(solution: Solution, template: Template) -> Solution:
    if not template.blanks:
        return solution
    fresh: dict[str, Term | None] = {name: BlankNode() for name in template.blanks if name not in solution}
    return {**solution, **fresh}


class _Rehearsal:
    """The request as Oxigraph carries it out and takes it back, and the solutions that came by."""

    def __init__(
        self,
        store: pyoxigraph.Store,
        prologue: str,
        operations: Sequence[Operation],
        options: Mapping[str, Any],
    ) -> None:
        self._store = store
        self._prologue = prologue
        self._operations = operations
        self._options = options
        self._noted: dict[int, list[Solution]] = defaultdict(list)

    def solutions(self) -> dict[int, list[Solution]]:
        """For each Modify, by its place in the request."""
        parts = [self._written(number, operation) for number, operation in enumerate(self._operations)]
        text = f"{self._prologue} {' ; '.join(parts)} ; CREATE GRAPH <{_END}> ; CREATE GRAPH <{_END}>"
        functions: dict[NamedNode, Callable[..., Any]] = {_NOTE: self._note, _BLANK: lambda *_: BlankNode()}
        try:
            self._store.update(text, custom_functions=functions, **self._options)
        except RuntimeError as error:
            if _END not in str(error):
                raise RequestError(f"the update failed: {error!s:.300}", code="update_failed") from error
        return self._noted

    def _note(self, number: Literal, *values: Term) -> Literal:
        place = int(number.value)
        operation = self._operations[place]
        names = _noted_names(operation)
        bound = {
            name: None if value == _UNBOUND else value for name, value in zip(names, values, strict=True)
        }
        self._noted[place].append(bound)
        return Literal(True)

    def _written(self, number: int, operation: Operation) -> str:
        match operation:
            case Modify():
                return self._modify(number, operation)
            case Data() if operation.insert and operation.template.blanks:
                return self._modify(number, Modify(None, operation.template, "{}"))
            case Data():
                return (
                    f"{'INSERT' if operation.insert else 'DELETE'} DATA {{ {operation.template.text('')} }}"
                )
            case Clear():
                target = (
                    operation.target.value if isinstance(operation.target, All) else _graph(operation.target)
                )
                return f"{'DROP' if operation.drop else 'CLEAR'} {_silent(operation.silent)} {target}"
            case Create():
                return f"CREATE {_silent(operation.silent)} {_graph(operation.graph)}"
            case Transfer():
                source, target = _graph(operation.source), _graph(operation.target)
                return f"{operation.kind} {_silent(operation.silent)} {source} TO {target}"
            case Load():
                raise AssertionError("documents are fetched before a plan is made")

    def _modify(self, number: int, operation: Modify) -> str:
        blanks = operation.insert.blanks if operation.insert is not None else ()
        made = [
            f"BIND(<{_BLANK.value}>({place}) AS ?{_BLANK_VARIABLE}{name[1:]})"
            for place, name in enumerate(blanks)
        ]
        values = [f"COALESCE(?{name}, <{_UNBOUND.value}>)" for name in operation.variables]
        values += [f"?{_BLANK_VARIABLE}{name[1:]}" for name in blanks]
        arguments = ", ".join([str(number), *values])
        names = " ".join(f"?{name}" for name in operation.variables) or "(1 AS ?triplewire_solution)"
        note = f"BIND(<{_NOTE.value}>({arguments}) AS ?triplewire_noted)"
        parts = [f"WITH {operation.with_graph}"] if operation.with_graph is not None else []
        if operation.delete is not None:
            parts.append(f"DELETE {{ {operation.delete.text('')} }}")
        if operation.insert is not None:
            parts.append(f"INSERT {{ {operation.insert.text(_BLANK_VARIABLE)} }}")
        using, where = self._dataset(operation)
        parts += using
        parts.append(f"WHERE {{ {{ SELECT {names} WHERE {where} }} {' '.join(made)} {note} }}")
        return " ".join(parts)

    def _dataset(self, operation: Modify) -> tuple[list[str], str]:
        """USING and USING NAMED, and the pattern."""
        default, named = operation.using, operation.using_named
        if operation.seen is not None:
            if DefaultGraph() in operation.seen.default:  # which USING has no name for
                base_iri = self._options["base_iri"]
                return [], only_named(operation.where, operation.prologue, base_iri, operation.seen.named)
            default = tuple(graph for graph in operation.seen.default if isinstance(graph, NamedNode))
            default, named = default or (NOWHERE,), operation.seen.named
        return [f"USING {graph}" for graph in default] + [
            f"USING NAMED {graph}" for graph in named
        ], operation.where


def _noted_names(operation: Operation) -> tuple[str, ...]:
    if isinstance(operation, Data):
        return operation.template.blanks
    assert isinstance(operation, Modify)
    return (*operation.variables, *(operation.insert.blanks if operation.insert is not None else ()))


def _silent(silent: bool) -> str:
    return "SILENT" if silent else ""


def _graph(graph: GraphRef) -> str:
    return f"GRAPH {graph}" if isinstance(graph, NamedNode) else "DEFAULT"
