"""Writing an exact change into Oxigraph: all or nothing, at once for every reader, blank nodes by their labels.

SPARQL has no way to name a blank node that is already there.  What it has is variables and functions: a function of
ours gives back the term that the text can't name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyoxigraph import DefaultGraph, Literal, NamedNode

from .errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import pyoxigraph
    from pyoxigraph import Quad

    from .model import QuadDelta

    Functions = dict[NamedNode, Callable[..., Any]]

_TERM = NamedNode("urn:x-triplewire:term")
_POSITIONS = ("subject", "predicate", "object", "graph_name")
_FUNCTIONS = tuple(NamedNode(f"urn:x-triplewire:{position}") for position in _POSITIONS)
# Each variable is one more level of Oxigraph's plan: 16 are fast, 5000 overflow its stack.
_VARIABLES = 16


def write_delta(store: pyoxigraph.Store, delta: QuadDelta) -> None:
    """Make `store` be what it is after `delta`; a reader sees all of it or nothing.

    Raises:
        StoreError: Oxigraph failed; nothing has changed.
    """
    try:
        if delta.deleted or delta.created or delta.dropped:
            _write_mixed(store, delta)
        elif delta.inserted:
            store.extend(delta.inserted)
    except (OSError, RuntimeError, SyntaxError, ValueError) as error:
        raise StoreError(f"the store could not be written: {error!s:.300}") from error


def _write_mixed(store: pyoxigraph.Store, delta: QuadDelta) -> None:
    if len(delta.deleted) == 1 and not (delta.inserted or delta.created or delta.dropped):
        (quad,) = delta.deleted
        store.remove(quad)
        return
    graphs = [f"DROP SILENT GRAPH {graph}" for graph in delta.dropped]
    graphs += [f"CREATE SILENT GRAPH {graph}" for graph in delta.created]
    quads, functions = _operations(delta)
    try:
        store.update(" ; ".join(graphs + quads), custom_functions=functions)
    except SyntaxError:  # an IRI that only a lenient reader let in: no text may name it
        quads, functions = _by_rows(list(delta.deleted), list(delta.inserted))
        store.update(" ; ".join(graphs + quads), custom_functions=functions)


def _operations(delta: QuadDelta) -> tuple[list[str], Functions]:
    deleted, inserted = _data(delta.deleted), _data(delta.inserted)
    operations: list[str] = []
    functions: Functions = {}
    # Literals and IRIs may have these characters too; then the long way is taken for nothing.
    if "_:" in deleted or "_:" in inserted or "<<(" in deleted or "<<(" in inserted:
        odd_deleted = [quad for quad in delta.deleted if not _is_plain(quad)]
        odd_inserted = [quad for quad in delta.inserted if not _is_plain(quad)]
        deleted = _data(quad for quad in delta.deleted if _is_plain(quad))
        inserted = _data(quad for quad in delta.inserted if _is_plain(quad))
        if odd_deleted or odd_inserted:
            operations, functions = _odd(odd_deleted, odd_inserted)
    if deleted:
        operations.append(f"DELETE DATA {{ {deleted} }}")
    if inserted:
        operations.append(f"INSERT DATA {{ {inserted} }}")
    return operations, functions


def _is_plain(quad: Quad) -> bool:
    """Whether SPARQL can name all of it."""
    return (
        isinstance(quad.subject, NamedNode)
        and isinstance(quad.object, NamedNode | Literal)
        and isinstance(quad.graph_name, NamedNode | DefaultGraph)
    )


def _data(quads: Iterable[Quad]) -> str:
    return " ".join([_pattern(str(quad.triple), quad.graph_name, str(quad.graph_name)) for quad in quads])


def _pattern(triple: str, graph: object, name: str) -> str:
    return f"{triple} ." if isinstance(graph, DefaultGraph) else f"GRAPH {name} {{ {triple} }}"


def _odd(deleted: Sequence[Quad], inserted: Sequence[Quad]) -> tuple[list[str], Functions]:
    terms = {
        term: f"?t{number}"
        for number, term in enumerate(
            dict.fromkeys(
                term
                for quad in (*deleted, *inserted)
                for term in (quad.subject, quad.object, quad.graph_name)
                if not isinstance(term, NamedNode | Literal | DefaultGraph)
            )
        )
    }
    if len(terms) <= _VARIABLES:
        return _by_variables(deleted, inserted, terms)
    return _by_rows(deleted, inserted)


def _by_variables(
    deleted: Sequence[Quad], inserted: Sequence[Quad], variables: dict[Any, str]
) -> tuple[list[str], Functions]:
    """One operation: constants as they are, and a variable for each term that needs one."""
    terms = list(variables)

    def name(term: object) -> str:
        return variables.get(term) or str(term)

    def template(quads: Iterable[Quad]) -> str:
        return " ".join(
            _pattern(
                f"{name(quad.subject)} {quad.predicate} {name(quad.object)}",
                quad.graph_name,
                name(quad.graph_name),
            )
            for quad in quads
        )

    bound = " ".join(
        f"BIND({_TERM}({number}) AS {variable})" for number, variable in enumerate(variables.values())
    )
    operation = f"DELETE {{ {template(deleted)} }} INSERT {{ {template(inserted)} }} WHERE {{ {bound} }}"
    return [operation], {_TERM: lambda number: terms[int(number.value)]}


def _by_rows(deleted: Sequence[Quad], inserted: Sequence[Quad]) -> tuple[list[str], Functions]:
    """An operation each for deleted and inserted, default and named graphs: a row for each quad."""
    quads: list[Quad] = []
    operations: list[str] = []
    for verb, all_of_them in (("DELETE", deleted), ("INSERT", inserted)):
        for in_default in (True, False):
            rows = [quad for quad in all_of_them if isinstance(quad.graph_name, DefaultGraph) is in_default]
            if rows:
                numbers = " ".join(map(str, range(len(quads), len(quads) + len(rows))))
                operations.append(_rows(verb, numbers, in_default=in_default))
                quads += rows

    def part(position: str) -> Callable[..., Any]:
        return lambda number: getattr(quads[int(number.value)], position)

    functions = zip(_FUNCTIONS, _POSITIONS, strict=True)
    return operations, {function: part(position) for function, position in functions}


def _rows(verb: str, numbers: str, *, in_default: bool) -> str:
    names = ("?s", "?p", "?o") if in_default else ("?s", "?p", "?o", "?g")
    bound = " ".join(
        f"BIND({function}(?i) AS {name})" for function, name in zip(_FUNCTIONS, names, strict=False)
    )
    template = "?s ?p ?o" if in_default else "GRAPH ?g { ?s ?p ?o }"
    return f"{verb} {{ {template} }} WHERE {{ VALUES ?i {{ {numbers} }} {bound} }}"
