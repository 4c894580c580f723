"""CONSTRUCT with blank nodes in its template, evaluated so that the same solution gives the same nodes.

SPARQL makes the blank nodes of a template anew for each solution of each evaluation (SPARQL 1.1 Query, 16.2.1).  A
subscription that compares two evaluations would see every such triple removed and added by every update.  So the
query is asked for its solutions instead, and the template is filled in here, each blank node named by a digest of its
label, its solution, and a count for equal solutions: the same graph, with names that last.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

import pyoxigraph
from pyoxigraph import BlankNode, NamedNode, RdfFormat, Triple

from triplewire.broker.model import Bindings, Query
from triplewire.broker.tokens import Token, splice, tokens

if TYPE_CHECKING:
    from triplewire.broker.model import Dataset, Row, Term

_MARK = "urn:x-triplewire:variable:"
_VARS = ("subject", "predicate", "object")


@dataclass(frozen=True, slots=True)
class StableConstruct:
    """A CONSTRUCT query taken apart: the query for its solutions, and the template."""

    solutions: Query
    variables: tuple[str, ...]
    template: tuple[Triple, ...]

    @classmethod
    def of(cls, query: Query) -> StableConstruct | None:
        """None where the query is no CONSTRUCT with blank nodes in a template of its own; then Oxigraph will do."""
        found = list(tokens(query.sparql))
        place = next((i for i, token in enumerate(found) if token.is_word("CONSTRUCT")), None)
        if place is None or place + 1 >= len(found) or found[place + 1].text != "{":
            return None
        end = _closing(found, place + 1)
        inner = found[place + 2 : end]
        if end == len(found) or not any(token.kind == "bnode" or token.text in "[(" for token in inner):
            return None
        variables = tuple(dict.fromkeys(token.text[1:] for token in inner if token.kind == "variable"))
        template = _read_template(query.sparql, found, place, end)
        if template is None:
            return None
        names = " ".join(f"?{name}" for name in variables) or "(1 AS ?solution)"
        select = splice(query.sparql, [(found[place].start, found[end].end, f"SELECT {names}")])
        return cls(Query(select, query.default_graphs, query.named_graphs), variables, template)

    def evaluate(self, dataset: Dataset) -> Bindings:
        """The triples of the present answer, each once."""
        answer = dataset.evaluate(self.solutions)
        seen: Counter[Row] = Counter()
        triples: dict[Row, None] = {}
        for row in answer.rows:
            seen[row] += 1
            triples.update(dict.fromkeys(self._fill(answer.vars, row, seen[row])))
        return Bindings(_VARS, tuple(triples))

    def _fill(self, variables: tuple[str, ...], row: Row, occurrence: int) -> list[Row]:
        values = dict(zip(variables, row, strict=True))
        seed = f"{occurrence}\n" + "\n".join(f"{name}={value}" for name, value in values.items())
        filled = []
        for triple in self.template:
            terms = tuple(
                _value(term, values, seed) for term in (triple.subject, triple.predicate, triple.object)
            )
            if _is_triple(terms):
                filled.append(terms)
        return filled


def _value(term: Term, values: dict[str, Term | None], seed: str) -> Term | None:
    if isinstance(term, NamedNode) and term.value.startswith(_MARK):
        return values.get(term.value.removeprefix(_MARK))
    if isinstance(term, BlankNode):
        digest = hashlib.blake2b(f"{term.value} {seed}".encode(), digest_size=16)
        return BlankNode(f"c{digest.hexdigest()}")
    return term


def _is_triple(terms: tuple[Term | None, ...]) -> bool:
    """A triple with an unbound term or of no RDF form is left out of the graph (16.2)."""
    subject, predicate, object_ = terms
    return (
        isinstance(subject, NamedNode | BlankNode)
        and isinstance(predicate, NamedNode)
        and object_ is not None
    )


def _closing(found: list[Token], place: int) -> int:
    depth = 0
    for end in range(place, len(found)):
        depth += {"{": 1, "}": -1}.get(found[end].text, 0)
        if depth == 0:
            return end
    return len(found)


def _read_template(sparql: str, found: list[Token], place: int, end: int) -> tuple[Triple, ...] | None:
    """The template by Oxigraph's Turtle reader, its variables written as marked IRIs; None where it can't be read."""
    start = found[place + 1].end
    changes = [
        (token.start - start, token.end - start, f"<{_MARK}{token.text[1:]}>")
        for token in found[place + 2 : end]
        if token.kind == "variable"
    ]
    body = splice(sparql[start : found[end].start], changes).strip()
    if body and not body.endswith("."):
        body += "\n."  # SPARQL lets the last dot go; after a comment it needs a line of its own
    prologue = "".join(_declaration(found, i) for i in range(place))
    try:
        parsed = list(
            pyoxigraph.parse(f"{prologue}\n{body}".encode(), format=RdfFormat.TURTLE, base_iri=_BASE)
        )
    except SyntaxError:
        return None
    names = count()
    labels: dict[str, BlankNode] = {}

    def label(term: Term) -> Term:  # Oxigraph invents labels: number them, so that digests repeat
        if not isinstance(term, BlankNode):
            return term
        return labels.setdefault(term.value, BlankNode(f"b{next(names)}"))

    return tuple(Triple(label(t.subject), t.predicate, label(t.object)) for t in parsed)  # type: ignore[arg-type]


_BASE = "http://localhost/"


def _declaration(found: list[Token], place: int) -> str:
    token = found[place]
    if token.is_word("BASE"):
        return f"BASE {found[place + 1].text} "
    if token.is_word("PREFIX"):
        return f"PREFIX {found[place + 1].text} {found[place + 2].text} "
    return ""
