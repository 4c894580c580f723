"""Quad templates and DATA blocks, read by Oxigraph's own TriG reader and filled in from solutions.

The quads of SPARQL differ from TriG in two small things: variables, which are written as marked IRIs, and the dot that
SPARQL lets go before GRAPH and at the end.  So no grammar of terms is needed here, and a large DATA block is read at
the speed of Oxigraph's reader.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import pyoxigraph
from pyoxigraph import BlankNode, DefaultGraph, Literal, NamedNode, Quad, RdfFormat, Triple

from .errors import SparqlSyntaxError
from .tokens import splice, tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from .model import Term
    from .tokens import Token

Graph: TypeAlias = NamedNode | BlankNode | DefaultGraph

# Random, so that no data can name a variable.
_MARK = f"urn:x-triplewire:{secrets.token_hex(8)}:"
_DIRECTIVE = re.compile(r"\b(?:PREFIX|BASE|VERSION)\b|@(?:prefix|base|version)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Variable:
    """A place in a template; blank nodes of an INSERT template are places too, filled anew for each solution."""

    name: str


Place: TypeAlias = "Term | Variable | _Composed | DefaultGraph"


@dataclass(frozen=True, slots=True)
class _Composed:
    """A triple term with places in it."""

    subject: Place
    predicate: Place
    object: Place


@dataclass(frozen=True, slots=True)
class Template:
    """Quads with places: what one DELETE or INSERT clause names."""

    quads: tuple[tuple[Place, Place, Place, Place], ...]
    variables: tuple[str, ...]
    blanks: tuple[str, ...]

    @classmethod
    def read(cls, body: str, prologue: str, base_iri: str) -> Template:
        """The template between the braces.

        Raises:
            SparqlSyntaxError: Oxigraph's reader refuses it.
        """
        if _DIRECTIVE.search(body) is not None and any(_is_directive(token) for token in tokens(body)):
            raise SparqlSyntaxError("Parsing failed: a template has no declarations")
        text = splice(body, _repairs(body))
        names: dict[str, str] = {}
        variables: dict[str, None] = {}
        found = [
            tuple(
                _place(term, names, variables)
                for term in (quad.subject, quad.predicate, quad.object, quad.graph_name)
            )
            for quad in read_quads(text, prologue, base_iri)
        ]
        return cls(tuple(found), tuple(variables), tuple(names.values()))  # type: ignore[arg-type]

    @classmethod
    def of(cls, quads: Iterable[Quad], graph: Graph) -> Template:
        """Given triples, in one graph."""
        names: dict[str, str] = {}
        found = [
            (*(_place(term, names, {}) for term in (quad.subject, quad.predicate, quad.object)), graph)
            for quad in quads
        ]
        return cls(tuple(found), (), tuple(names.values()))  # type: ignore[arg-type]

    def fill(self, values: Mapping[str, Term | None], default: Graph) -> Iterator[Quad]:
        """The quads of one solution; one that is ill-formed or has an unbound place is left out (Update, 3.1.3)."""
        for subject, predicate, object_, graph in self.quads:
            s, p, o = _filled(subject, values), _filled(predicate, values), _filled(object_, values)
            g = default if isinstance(graph, DefaultGraph) else _filled(graph, values)
            if (
                isinstance(s, NamedNode | BlankNode)
                and isinstance(p, NamedNode)
                and isinstance(o, NamedNode | BlankNode | Literal | Triple)
                and isinstance(g, NamedNode | BlankNode | DefaultGraph)
            ):
                yield Quad(s, p, o, g)

    def text(self, blank_as: str) -> str:
        """The template as SPARQL again, its blank nodes as variables that begin with `blank_as`."""
        parts = []
        for subject, predicate, object_, graph in self.quads:
            triple = " ".join(_written(place, blank_as) for place in (subject, predicate, object_))
            parts.append(
                triple + " ."
                if isinstance(graph, DefaultGraph)
                else f"GRAPH {_written(graph, blank_as)} {{ {triple} }}"
            )
        return " ".join(parts)


def read_quads(text: str, prologue: str, base_iri: str) -> list[Quad]:
    """TriG by Oxigraph's reader.

    Raises:
        SparqlSyntaxError: it refuses it.
    """
    try:
        return list(
            pyoxigraph.parse(
                f"{prologue}\n{text}".encode(),
                format=RdfFormat.TRIG,
                base_iri=base_iri,
                rename_blank_nodes=True,
            )
        )
    except SyntaxError as error:
        raise SparqlSyntaxError(f"Parsing failed: {error.msg:.300}") from error


def plain_data(body: str) -> str | None:
    """The body of a DATA block as TriG, where that can be told without looking at its terms; else None.

    Plain is: no directive, and either no brace at all or one GRAPH block around everything.
    """
    if _DIRECTIVE.search(body) is not None:
        return None
    braces = body.count("{"), body.count("}")
    if braces == (0, 0):
        return _with_dot(body)
    if braces == (1, 1) and _ONE_GRAPH.fullmatch(body) is not None:
        return body
    return None


_ONE_GRAPH = re.compile(
    r"\s*GRAPH\s*(?:<[^<>\s]*>|[^\s<>{}\"'#:]*:[^\s<>{}\"'#]*)\s*\{[^{}]*\}\s*", re.IGNORECASE
)


def _is_directive(token: Token) -> bool:
    return token.is_word("PREFIX", "BASE", "VERSION") or token.text.lower() in {
        "@prefix",
        "@base",
        "@version",
    }


def _with_dot(body: str) -> str:
    # After a comment, a dot needs a line of its own.
    return body if body.rstrip().endswith(".") or not body.strip() else f"{body}\n."


def _repairs(body: str) -> list[tuple[int, int, str]]:
    """Marks for variables, and the dots that TriG wants and SPARQL does not."""
    changes: list[tuple[int, int, str]] = []
    depth = 0
    before_last, last, last_end = "", "", 0
    for token in tokens(body):
        if token.kind == "variable":
            changes.append((token.start, token.end, f"<{_MARK}{token.text[1:]}>"))
        elif depth == 0 and token.is_word("GRAPH") and last not in {"", ".", "}"}:
            changes.append((token.start, token.start, " . "))
        elif depth == 0 and token.text == "." and last == "}":
            changes.append((token.start, token.end, " "))
            continue
        elif token.text in {"{", "}"}:
            depth += 1 if token.text == "{" else -1
        if token.kind == "variable" and last == "^^":
            raise SparqlSyntaxError("Parsing failed: a variable can't be a datatype")
        if token.text == "{" and before_last.upper() != "GRAPH":  # TriG lets GRAPH go
            raise SparqlSyntaxError("Parsing failed: a group in a template needs GRAPH and its name")
        before_last = last
        last, last_end = token.text, token.end
    if last not in {"", ".", "}"}:
        changes.append((last_end, last_end, " . "))
    return changes


def _place(term: Term | DefaultGraph, names: dict[str, str], variables: dict[str, None]) -> Place:
    if isinstance(term, NamedNode) and term.value.startswith(_MARK):
        name = term.value.removeprefix(_MARK)
        variables[name] = None
        return Variable(name)
    if isinstance(term, BlankNode):
        return Variable(names.setdefault(term.value, f"\0{len(names)}"))
    if isinstance(term, Triple):
        parts = [_place(part, names, variables) for part in (term.subject, term.predicate, term.object)]
        if any(isinstance(part, Variable | _Composed) for part in parts):
            return _Composed(*parts)
    return term


def _filled(place: Place, values: Mapping[str, Term | None]) -> Term | DefaultGraph | None:
    if isinstance(place, Variable):
        return values.get(place.name)
    if isinstance(place, _Composed):
        parts = [_filled(part, values) for part in (place.subject, place.predicate, place.object)]
        try:
            return Triple(*parts)  # type: ignore[arg-type]  # its constructor checks
        except TypeError:
            return None
    return place


def _written(place: Place, blank_as: str) -> str:
    if isinstance(place, Variable):
        return f"?{blank_as}{place.name[1:]}" if place.name.startswith("\0") else f"?{place.name}"
    if isinstance(place, _Composed):
        inner = " ".join(_written(part, blank_as) for part in (place.subject, place.predicate, place.object))
        return f"<<( {inner} )>>"
    return str(place)
