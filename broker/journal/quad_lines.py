"""Quads as lines of N-Quads, one form for each: what the journal and its snapshots are made of.

Oxigraph writes equal quads as equal lines, so lines can be compared where no store is needed.  Each file says which
version of Oxigraph wrote it; lines of another version are read and written anew before they are compared.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import pyoxigraph
from pyoxigraph import BlankNode, NamedNode, Quad, RdfFormat

from triplewire.broker.errors import MalformedRequest

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

WRITER = pyoxigraph.__version__
_AT_ONCE = 10_000


def lines(quads: Collection[Quad]) -> bytes:
    """`quads` as N-Quads, blank node labels as they are.

    It is read back before it counts: an IRI that came through a lenient reader with a `>` in it would make another
    quad of itself, or one that can't be read, and with it the whole journal.

    Raises:
        MalformedRequest: there is such a term.
    """
    if len(quads) > _AT_ONCE:
        rest = iter(quads)
        return b"".join(iter(lambda: lines(list(islice(rest, _AT_ONCE))), b""))
    if not quads:
        return b""
    listed = list(quads)
    text = pyoxigraph.serialize(listed, format=RdfFormat.N_QUADS)
    assert text is not None
    try:
        same = list(read_lines(text)) == listed and text.count(b"\n") == len(listed)
    except SyntaxError:
        same = False
    if not same:
        raise MalformedRequest(
            "a term of the change can't be written as N-Quads: an IRI has a character it must not"
        )
    return text


def read_lines(text: bytes) -> Iterator[Quad]:
    """The quads of N-Quads text.

    Raises:
        SyntaxError: it is not that.
    """
    # Lenient: IRIs were checked on their way in, and one that a lenient load let in must come back.
    return pyoxigraph.parse(text, format=RdfFormat.N_QUADS, lenient=True)


def rewritten(text: bytes) -> bytes:
    """Lines of another version of Oxigraph as this one writes them."""
    return pyoxigraph.serialize(read_lines(text), format=RdfFormat.N_QUADS) or b""


def by_blank_nodes(text: bytes) -> tuple[bytes, bytes]:
    """The lines that surely name no blank node, and those that may (`_:` can also stand in a literal)."""
    if b"_:" not in text:
        return text, b""
    plain: list[bytes] = []
    labeled: list[bytes] = []
    for line in text.split(b"\n"):
        (labeled if b"_:" in line else plain).append(line)
    return b"\n".join(plain), b"\n".join([*labeled, b""])


def load_plain(store: pyoxigraph.Store, text: bytes) -> None:
    """Add N-Quads without blank nodes, at the speed of Oxigraph's loader, which would give them new labels."""
    if text:
        store.load(text, format=RdfFormat.N_QUADS, lenient=True)


def load_labeled(store: pyoxigraph.Store, text: bytes) -> None:
    """Add N-Quads, blank nodes by their labels."""
    if text:
        store.extend(read_lines(text))


def graph_text(graph: NamedNode | BlankNode) -> str:
    """The name of a graph, for a list that `read_graph` reads."""
    return f"_:{graph.value}" if isinstance(graph, BlankNode) else graph.value


def read_graph(text: str) -> NamedNode | BlankNode:
    """The graph of that name.

    Raises:
        ValueError: it is not an IRI.
    """
    return BlankNode(text[2:]) if text.startswith("_:") else NamedNode(text)


def graphs_of(quads: Iterable[Quad]) -> set[NamedNode | BlankNode]:
    """The named graphs that quads are in."""
    found = {quad.graph_name for quad in quads}
    return {graph for graph in found if isinstance(graph, NamedNode | BlankNode)}
