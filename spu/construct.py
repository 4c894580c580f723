"""CONSTRUCT with blank nodes in its template, evaluated so that the same solution gives the same nodes.

SPARQL makes the blank nodes of a template anew for each solution of each evaluation (SPARQL 1.1 Query, 16.2.1).  A
subscription that compares two evaluations would see every such triple removed and added by every update.  So the
query is asked for its solutions instead, and the template is filled in here, each blank node named by a digest of its
label, its solution, and a count for equal solutions: the same graph, with names that last.

The template is read by the store: it is constructed once, from no data, with marked IRIs where its variables are.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from pyoxigraph import BlankNode, NamedNode, Triple

from triplewire.broker.errors import RequestError
from triplewire.broker.model import Bindings, Query
from triplewire.broker.tokens import splice, tokens

if TYPE_CHECKING:
    from collections.abc import Mapping

    from triplewire.broker.model import Dataset, Row, Term
    from triplewire.broker.tokens import Token

_MARK = "urn:x-triplewire:variable:"
_VARS = ("subject", "predicate", "object")
_MAKERS = frozenset({"[", "(", "<<", "{|", "~"})  # each makes a blank node, or can


class Template:
    """A CONSTRUCT query's template, to be filled with solutions."""

    def __init__(self, query: Query, variables: tuple[str, ...], *, has_blanks: bool) -> None:
        """`query` constructs it, from no data."""
        self._query = query
        self.variables = variables
        self.has_blanks = has_blanks
        self._triples: tuple[Row, ...] | None = None

    def read(self, dataset: Dataset) -> None:
        """Let the store read it, if it has not yet.  Raises BrokerError."""
        if self._triples is None:
            self._triples = _numbered(dataset.evaluate(self._query).rows)

    def filled(self, values: Mapping[str, Term | None], occurrence: int) -> list[Row]:
        """The triples that a solution makes; `occurrence` counts solutions that are equal in its variables."""
        assert self._triples is not None, "it has been read"
        seed = ""
        if self.has_blanks:
            seed = f"{occurrence}\n" + "\n".join(f"{name}={values.get(name)}" for name in self.variables)
        filled = (tuple(_value(place, values, seed) for place in triple) for triple in self._triples)
        return [triple for triple in filled if _is_triple(triple)]


def taken_apart(query: Query) -> tuple[Query, Template] | None:
    """A CONSTRUCT query as the query for its solutions, and its template; None where it can't be read."""
    found = list(tokens(query.sparql))
    start = next((place for place, token in enumerate(found) if token.is_word("CONSTRUCT")), len(found))
    opening = next((place for place in range(start, len(found)) if found[place].text == "{"), len(found))
    if opening == len(found):
        return None
    closing = _closing(found, opening)
    inner = found[opening + 1 : closing]
    used = {token.text[1:]: None for token in inner if token.kind == "variable"}
    names = " ".join(f"?{name}" for name in used) or f"(1 AS ?{_unused(found)})"
    # CONSTRUCT WHERE { .. } has its template in its pattern, which stays
    end = found[closing].end if opening == start + 1 else found[start].end
    select = splice(query.sparql, [(found[start].start, end, f"SELECT {names}")])
    marks = [
        (token.start, token.end, f"<{_MARK}{token.text[1:]}>") for token in inner if token.kind == "variable"
    ]
    body = splice(query.sparql[: found[closing].start], marks)[found[opening].start :]
    template = f"{query.sparql[: found[start].start]}CONSTRUCT {body}\n}} WHERE {{}}"
    has_blanks = any(token.kind == "bnode" or token.text in _MAKERS for token in inner)
    solutions = replace(query, sparql=select)
    return solutions, Template(Query(template), tuple(used), has_blanks=has_blanks)


class StableConstruct:
    """A CONSTRUCT query with blank nodes in its template, evaluated by its solutions."""

    def __init__(self, query: Query, solutions: Query, template: Template) -> None:
        self._query = query
        self._solutions = solutions
        self._template = template

    @classmethod
    def of(cls, query: Query) -> StableConstruct | None:
        """None where the query is no CONSTRUCT with blank nodes in its template; then Oxigraph will do."""
        parts = taken_apart(query)
        return cls(query, *parts) if parts is not None and parts[1].has_blanks else None

    def evaluate(self, dataset: Dataset) -> Bindings:
        """The triples of the present answer, each once.

        Raises:
            BrokerError: the query can't be evaluated.
        """
        try:
            self._template.read(dataset)
            answer = dataset.evaluate(self._solutions)
        except RequestError:
            return dataset.evaluate(self._query)  # what is wrong is told of the sender's own text
        seen: Counter[Row] = Counter()
        triples: dict[Row, None] = {}
        for row in answer.rows:
            seen[row] += 1
            values = dict(zip(answer.vars, row, strict=True))
            triples.update(dict.fromkeys(self._template.filled(values, seen[row])))
        return Bindings(_VARS, tuple(triples))


def _numbered(template: tuple[Row, ...]) -> tuple[Row, ...]:
    """The template with its blank nodes, which the store names as it likes, numbered in the order they appear."""
    names: dict[str, BlankNode] = {}

    def numbered(place: Term | None) -> Term | None:
        if isinstance(place, Triple):
            subject, predicate, object_ = map(numbered, (place.subject, place.predicate, place.object))
            return Triple(subject, predicate, object_)  # type: ignore[arg-type]  # of the same kinds
        if isinstance(place, BlankNode):
            return names.setdefault(place.value, BlankNode(f"b{len(names)}"))
        return place

    return tuple(tuple(map(numbered, triple)) for triple in template)


def _value(place: Term | None, values: Mapping[str, Term | None], seed: str) -> Term | None:
    if isinstance(place, NamedNode) and place.value.startswith(_MARK):
        return values.get(place.value.removeprefix(_MARK))
    if isinstance(place, BlankNode):
        digest = hashlib.blake2b(f"{place.value} {seed}".encode(), digest_size=16)
        return BlankNode(f"c{digest.hexdigest()}")
    if isinstance(place, Triple):
        parts = tuple(_value(part, values, seed) for part in (place.subject, place.predicate, place.object))
        return Triple(*parts) if _is_triple(parts) else None  # type: ignore[arg-type]  # just checked
    return place


def _is_triple(terms: Row) -> bool:
    """A triple with an unbound term or of no RDF form is left out of the graph (16.2)."""
    subject, predicate, object_ = terms
    return (
        isinstance(subject, NamedNode | BlankNode)
        and isinstance(predicate, NamedNode)
        and object_ is not None
    )


def _closing(found: list[Token], place: int) -> int:
    """The brace that closes the one at `place`; where there is none, the last token."""
    depth = 0
    for end in range(place, len(found)):
        depth += {"{": 1, "}": -1}.get(found[end].text, 0)
        if depth == 0:
            return end
    return len(found) - 1


def _unused(found: list[Token]) -> str:
    taken = {token.text[1:] for token in found if token.kind == "variable"}
    return next(
        name for name in (f"solution{number}" for number in range(len(found) + 1)) if name not in taken
    )
