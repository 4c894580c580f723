"""Lines of N-Quads as updates that a broker reads at its fastest.

N-Triples are what stands between the braces of INSERT DATA (SPARQL 1.1 Update 3.1.1).  A broker that has to ask whether
a brace is one of GRAPH's, or `prefix` a declaration, looks at each token; so such characters are written as escapes,
which mean the same in IRIs and literals (SPARQL 1.1 Query 19.2), the only places where N-Quads can have them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# N-Quads 4.1, without blank nodes; whether an IRI is one, the broker says
_IRI = rb"<[^<>\"\s]*>"
_LITERAL = rb'"[^"\\\n\r]*(?:\\.[^"\\\n\r]*)*"(?:@[A-Za-z0-9-]+|\^\^' + _IRI + rb")?"
_GAP = rb"[ \t]*"
_TRIPLE = rb"(" + _IRI + _GAP + _IRI + _GAP + rb"(?:" + _IRI + rb"|" + _LITERAL + rb"))"
_END = _GAP + rb"(?:#[^\n\r]*)?[\r\n]*"
_LINE = re.compile(_GAP + _TRIPLE + _GAP + rb"(" + _IRI + rb")?" + _GAP + rb"\." + _END)
_EMPTY = re.compile(_END)
_BLANK_NODE = re.compile(rb'(?:^|[ \t>"])_:')
_DECLARATIONS = (b"prefix", b"base", b"version")
_LOUD = re.compile(rb"[{}]|(?<!@)\b[pbv](?=(?:refix|ase|ersion)\b)", re.IGNORECASE)
# One request costs a broker as much as looking at each token of so many lines.
_WORTH_A_REQUEST = 50


class UnloadableLine(ValueError):
    """A line that is no quad, or has a blank node; `index` is its place among those that were given."""

    def __init__(self, index: int, reason: str) -> None:
        super().__init__(reason)
        self.index = index


def insert_data(lines: Sequence[bytes], default_graph: str | None = None) -> list[bytes]:
    """The updates that add these quads, one for each graph, or one for all where graphs are small.

    What is in no graph goes into `default_graph`.

    Raises:
        UnloadableLine: a line can't be sent.
    """
    into = b"" if default_graph is None else b"<" + default_graph.encode() + b">"
    graphs = _by_graph(lines, into)
    blocks = [_block(graph, triples) for graph, triples in graphs.items()]
    if len(graphs) > 1 and len(lines) < _WORTH_A_REQUEST * len(graphs):
        blocks = [b"".join(blocks)]
    return [b"INSERT DATA {\n" + block + b"}" for block in blocks]


def _by_graph(lines: Iterable[bytes], into: bytes) -> dict[bytes, list[bytes]]:
    graphs: dict[bytes, list[bytes]] = {}
    for index, line in enumerate(lines):
        match = _LINE.fullmatch(line)
        if match is None:
            if _EMPTY.fullmatch(line) is None:
                raise UnloadableLine(index, _reason(line))
            continue
        triple, graph = match.groups()
        graphs.setdefault(graph or into, []).append(triple)
    return graphs


def _reason(line: bytes) -> str:
    if _BLANK_NODE.search(line) is not None:
        return "it has a blank node, which would be another one each time it is sent; parts have IRIs instead"
    return f"it is no quad of N-Quads: {line.decode(errors='replace').strip()!r:.200}"


def _block(graph: bytes, triples: list[bytes]) -> bytes:
    text = b" .\n".join(triples) + b" .\n"
    if _may_be_loud(text):
        text = _LOUD.sub(lambda found: b"\\u%04X" % ord(found[0]), text)
    return b"GRAPH " + graph + b" {\n" + text + b"}\n" if graph else text


def _may_be_loud(text: bytes) -> bool:
    lower = text.lower()  # ten times as fast as the expression, which ignores case
    return b"{" in text or b"}" in text or any(word in lower for word in _DECLARATIONS)
