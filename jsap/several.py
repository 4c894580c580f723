"""Several values for one variable of a query: the variable stays, and VALUES says what it may be.

The block begins the WHERE group of the query, or that of the subselect which the variable stands in.  A variable that
stands in a subselect and outside of it is one variable only if the subselect returns it; if not, no block could hold
both to the same value, and the binding is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from triplewire.broker.errors import ProfileError

from .places import Place
from .shape import at

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .places import Reading, Scope

    Change = tuple[int, int, str]


class Several:
    """The changes that several values for each of some variables make to a text."""

    def __init__(self, reading: Reading, terms: Mapping[str, list[str]], path: str) -> None:
        self._reading = reading
        self._terms = terms
        self._path = path

    def changes(self) -> Iterator[Change]:
        """In no order.

        Raises:
            ProfileError: these values can't stand in this text.
        """
        blocks: dict[int, str] = {}
        for name, terms in self._terms.items():
            if any(term.startswith("_:") for term in terms):
                raise self._refused(name, "a blank node can't be one of several values")
            yield from self._spelled_out(name, " ".join(terms))
            for scope in self._scopes(name):
                blocks[scope] = blocks.get(scope, "") + f" VALUES ?{name} {{ {' '.join(terms)} }}"
        for scope, block in blocks.items():
            yield from self._insert(self._reading.scopes[scope], block)

    def _spelled_out(self, name: str, terms: str) -> Iterator[Change]:
        """The values themselves, where a list of terms may stand: in data, and after DESCRIBE."""
        for use in self._reading.uses:
            if use.name == name and (use.place is Place.DATA or self._is_described(use.scope)):
                token = self._reading.tokens[use.at]
                yield token.start, token.end, terms

    def _scopes(self, name: str) -> list[int]:
        """The scopes whose WHERE group needs the block."""
        uses = [use for use in self._reading.uses if use.name == name and use.place is not Place.DATA]
        if any(use.place is Place.ASSIGNED for use in uses):
            raise self._refused(name, f"?{name} can't be forced: the text assigns it by AS or VALUES")
        found = sorted({use.scope for use in uses if not self._is_described(use.scope)})
        scopes = [self._reading.scopes[index] for index in found]
        if not all(scope.form for scope in scopes):
            raise self._refused(name, "an update takes one value at a time")
        hidden = [
            scope for scope in scopes if scope.depth and not (scope.projects_all or name in scope.projected)
        ]
        if hidden and len(scopes) > 1:
            raise self._refused(
                name, f"?{name} stands in a subselect that does not return it: one value at a time"
            )
        return found

    def _is_described(self, index: int) -> bool:
        scope = self._reading.scopes[index]
        return scope.form == "DESCRIBE" and scope.opening is None

    def _insert(self, scope: Scope, block: str) -> Iterator[Change]:
        tokens = self._reading.tokens
        opening, closing = scope.opening, scope.closing
        if opening is None or closing is None:
            return  # braces that do not match; Oxigraph will say so
        start, end = tokens[opening].end, tokens[closing].start
        if scope.form == "CONSTRUCT" and scope.template is None:
            # CONSTRUCT WHERE { } takes triples only; VALUES may end every query.
            yield tokens[-1].end, tokens[-1].end, block
        elif self._reading.word(opening + 1, "SELECT"):
            yield start, start, f"{block} {{"
            yield end, end, "}"
        else:
            yield start, start, f"{block} "

    def _refused(self, name: str, reason: str) -> ProfileError:
        return ProfileError(at(self._path, name), reason)
