"""An update as it is for a client that may not read every graph, and may not write every graph.

What can be told from the text is judged here, before anything is looked up: whole graphs that are cleared, copied or
created.  Single quads are judged when they are known (`overlay`).  What a pattern sees is restricted to the graphs that
the client may read, whatever WITH and USING say; so what is in the others can't be brought out, nor learned from whether
an update is refused.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from pyoxigraph import DefaultGraph, NamedNode

from .errors import Forbidden, UnsupportedOperation
from .operations import All, Clear, Create, Load, Modify, Seen, Transfer
from .rights import DEFAULT, name_of
from .texts import resolved
from .tokens import splice, tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .operations import GraphRef, Operation
    from .rights import Rights
    from .tokens import Token

    Changes: TypeAlias = list[tuple[int, int, str]]

# No graph is called so, and nobody can make one: nothing with a space in it is an IRI of a request.
NOWHERE = NamedNode("urn:x-triplewire:nowhere")
_GLUED = re.compile("graph", re.IGNORECASE)


def restricted(operation: Operation, rights: Rights) -> Operation:
    """The operation by somebody with these rights.

    Raises:
        Forbidden: it does what they may not do, whatever is in the store.
    """
    match operation:
        case Modify():
            return (
                operation if rights.read is None else replace(operation, seen=_seen(operation, rights.read))
            )
        case Clear(target=target):
            if isinstance(target, All):
                if rights.write is not None:
                    raise Forbidden(f"{target.value} is more graphs than this client may write")
                return operation
            check(target, rights.may_write, "emptied")
            return replace(operation, silent=operation.silent or not rights.may_read(name_of(target)))
        case Create(graph=graph):
            check(graph, rights.may_append, "created")
            return replace(operation, silent=operation.silent or not rights.may_read(graph.value))
        case Load(target=target):
            check(target, rights.may_append, "added to")
        case Transfer(kind, source, target):
            check(source, rights.may_read, "read")
            check(target, rights.may_append if kind == "ADD" else rights.may_write, "written")
            if kind == "MOVE":
                check(source, rights.may_write, "emptied")
    return operation


def check(graph: GraphRef, may: Callable[[str], bool], what: str) -> None:
    """Raises Forbidden where something may not be done with a graph."""
    name = name_of(graph)
    if not may(name):
        raise Forbidden(
            f"{f'the graph <{name}>' if name else 'the default graph'} may not be {what} by this client"
        )


def _seen(operation: Modify, readable: frozenset[str]) -> Seen:
    """The dataset of the pattern (SPARQL 1.1 Update, 3.1.3), as far as it can be read."""
    named: Iterable[NamedNode] = [NamedNode(name) for name in sorted(readable) if name != DEFAULT]
    default: Iterable[GraphRef]
    if operation.using or operation.using_named:
        default, named = operation.using, operation.using_named
    else:
        default = (operation.with_graph or DefaultGraph(),)
    return Seen(
        tuple(graph for graph in default if name_of(graph) in readable),
        tuple(graph for graph in named if graph.value in readable),
    )


def only_named(where: str, prologue: str, base_iri: str, named: Iterable[NamedNode]) -> str:
    """A pattern whose GRAPH sees these graphs only, the rest of the dataset being as it is.

    `VALUES ?g { .. } GRAPH ?g { P }` is `GRAPH ?g { P }` for those graphs, wherever it stands: a join is associative.

    Raises:
        UnsupportedOperation: it can't be told where GRAPH stands.
    """
    known = frozenset(named)
    values = " ".join(map(str, sorted(known, key=str)))
    changes: Changes = []
    before: Token | None = None
    for token in tokens(where):
        if before is not None and before.is_word("GRAPH"):
            if token.kind == "variable":
                changes.append((before.start, before.start, f" VALUES {token.text} {{ {values} }} "))
            elif NamedNode(resolved(token, prologue, base_iri) or NOWHERE.value) not in known:
                changes.append((token.start, token.end, f" {NOWHERE} "))
        elif token.kind == "pname" and _GLUED.match(token.text) is not None:
            # Oxigraph may read it as GRAPH and another name.
            raise UnsupportedOperation(
                f"{token.text:.100} begins like the keyword GRAPH: in an update with several operations, a client that "
                "may not read all graphs has to use another prefix"
            )
        before = token
    return splice(where, changes)
