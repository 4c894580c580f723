"""Declarations between the operations of an update, which SPARQL allows and Oxigraph does not read.

``INSERT DATA { .. } ; PREFIX ex: <..> INSERT DATA { .. }`` (SPARQL 1.1 Update, grammar rule 29) becomes the same update
with all declarations in front.  A prefix that is declared anew gets another name from there on, and relative IRIs after
a new BASE are resolved here.

What is read apart from the rest, a template or a pattern, needs only the declarations that it uses: a request may have
thousands of both (`Prologue`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pyoxigraph
from pyoxigraph import RdfFormat

from .tokens import splice, tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .tokens import Token

_DECLARATION = re.compile("PREFIX|BASE", re.IGNORECASE)
# Oxigraph reads `aex:b` as `a` and `ex:b` where that has a meaning, and no keywords before a name are longer than this.
_GLUED_CHARS = 64
# It also reads `1<ex:a&&ex:b>2` as two comparisons, where the standard's longest match is an IRI.
_NAMES = re.compile(r"[^<>:()&=!*+/,;?#]*:")
_SCHEME = re.compile(r"<[A-Za-z][A-Za-z0-9+.-]*:")


class Prologue:
    """The declarations in front of an update, each with an absolute IRI: their order matters no more."""

    def __init__(self, prefixes: Mapping[str, str], base_iri: str) -> None:
        """`prefixes` are declared before all others; their names have no colon."""
        self._base = base_iri
        self._base_declared = ""
        self._prefixes = {f"{name}:": f"PREFIX {name}: <{iri}>" for name, iri in prefixes.items()}

    def base(self, iri: str) -> None:
        """Declare a BASE; `iri` has its brackets."""
        resolved = _resolved(iri, self._base)
        self._base = resolved[1:-1]
        self._base_declared = f"BASE {resolved}"

    def prefix(self, name: str, iri: str) -> None:
        """Declare a PREFIX; `name` has its colon, `iri` its brackets."""
        self._prefixes[name] = f"PREFIX {name} {_resolved(iri, self._base)}"

    @property
    def text(self) -> str:
        """All of it."""
        return " ".join([self._base_declared, *self._prefixes.values()])

    def used_by(self, tokens: Iterable[Token]) -> str:
        """The declarations that these terminals may need, by whatever reading of them."""
        names: set[str] = set()
        for token in tokens:
            if token.kind == "pname":
                names.add(token.text[: token.text.index(":") + 1])
            elif token.kind == "iri":
                names.update(_NAMES.findall(token.text))
        used = {name[start:] for name in names for start in range(min(len(name), _GLUED_CHARS))}
        found = sorted(used & self._prefixes.keys())
        return " ".join([self._base_declared, *(self._prefixes[name] for name in found)])


def with_one_prologue(sparql: str) -> str:
    """The update with its declarations in front; unchanged where they are already.

    Line numbers remain, for Oxigraph's errors.
    """
    semicolon = sparql.find(";")
    if semicolon < 0 or _DECLARATION.search(sparql, semicolon) is None:
        return sparql
    return _Hoist(sparql).text()


class _Hoist:
    """One walk over the tokens; `names` is what each prefix is called by now."""

    def __init__(self, sparql: str) -> None:
        self._sparql = sparql
        self._tokens = list(tokens(sparql))
        self._declared: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self._front: list[str] = []
        self._base: str | None = None
        self._changes: list[tuple[int, int, str]] = []

    def text(self) -> str:
        place, depth, operations = 0, 0, 0
        while place < len(self._tokens):
            token = self._tokens[place]
            depth += {"{": 1, "}": -1}.get(token.text, 0)
            operations += depth == 0 and token.text == ";"
            if depth == 0 and token.is_word("PREFIX") and place + 2 < len(self._tokens):
                self._prefix(place, hoist=operations > 0)
                place += 3
            elif depth == 0 and token.is_word("BASE") and place + 1 < len(self._tokens):
                self._new_base(place, hoist=operations > 0)
                place += 2
            else:
                self._use(token)
                place += 1
        return splice(self._sparql, [(0, 0, "".join(self._front)), *self._changes])

    def _prefix(self, place: int, *, hoist: bool) -> None:
        prefix, iri = self._tokens[place + 1].text, self._resolved(self._tokens[place + 2].text)
        if not hoist:
            self._declared[prefix] = iri
            return
        name, number = prefix, len(self._declared)
        while self._declared.get(name, iri) != iri:
            name, number = f"n{number}{prefix}", number + 1
        if name not in self._declared:
            self._declared[name] = iri
            self._front.append(f"PREFIX {name} {iri} ")
        self._names[prefix] = name
        self._blank(place, 3)

    def _new_base(self, place: int, *, hoist: bool) -> None:
        iri = self._tokens[place + 1].text
        if hoist:
            self._base = self._resolved(iri)[1:-1]
            self._blank(place, 2)

    def _blank(self, place: int, count: int) -> None:
        start, end = self._tokens[place].start, self._tokens[place + count - 1].end
        lines = "\n" * self._sparql.count("\n", start, end)
        self._changes.append((start, end, lines or " "))

    def _use(self, token: Token) -> None:
        if token.kind == "pname":
            prefix = token.text[: token.text.index(":") + 1]
            name = self._names.get(prefix, prefix)
            if name != prefix:
                self._changes.append((token.start, token.start + len(prefix), name))
        elif token.kind == "iri":
            resolved = self._resolved(token.text)
            if resolved != token.text:
                self._changes.append((token.start, token.end, resolved))

    def _resolved(self, iri: str) -> str:
        return iri if self._base is None else _resolved(iri, self._base)


def _resolved(iri: str, base: str) -> str:
    """An IRI in its brackets, absolute; as it is where it can't be."""
    if _SCHEME.match(iri) is not None:
        return iri
    # Python's urljoin loses an empty fragment: <r#> against <http://x/> must stay a namespace
    triple = f"<urn:s> <urn:p> {iri} ."
    try:
        (quad,) = pyoxigraph.parse(triple, format=RdfFormat.TURTLE, base_iri=base)
    except (SyntaxError, ValueError):
        return iri
    return str(quad.object)
