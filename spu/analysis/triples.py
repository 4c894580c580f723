"""Triples and paths; see `parser`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .expressions import Expressions
from .paths import Alternative, Closure, Inverse, Link, Negated, Sequence
from .syntax import Constant, Quoted, Triples

if TYPE_CHECKING:
    from .paths import Path
    from .syntax import Node

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"


class Patterns(Expressions):
    """Triples and paths."""

    def node(self, into: Triples) -> Node:
        """A variable or a term; lists and bracketed nodes put their triples into `into`."""
        token = self.here
        if token.kind == "variable":
            return self.variable()
        if token.kind == "bnode":
            return self.take().text
        if token.kind in {"iri", "pname"}:
            return self.iri()
        if self.takes("["):
            blank = self.blank()
            if not self.takes("]"):
                self.properties(blank, into)
                self.expect("]")
            return blank
        if self.takes("("):
            return self._list(into)
        if self.takes("<<("):
            return self._triple_term()
        return self.literal()

    def _list(self, into: Triples) -> Node:
        members: list[Node] = []
        while not self.takes(")"):
            members.append(self.node(into))
        if not members:
            return self._known("nil")
        heads: list[str] = [self.blank() for _ in members]
        rests: list[Node] = [*heads[1:], self._known("nil")]
        for head, member, rest in zip(heads, members, rests, strict=True):
            into.items.append((head, Link(self._known("first")), member))
            into.items.append((head, Link(self._known("rest")), rest))
        return heads[0]

    @staticmethod
    def _known(name: str) -> Constant:
        return Constant(f"<{RDF}{name}>", -1, -1)

    def _triple_term(self) -> Quoted | Constant:
        first, inner, names = self.before, Triples(), set[str]()
        fixed = True
        for _ in range(3):
            if self.takes("A"):
                continue
            node = self.node(inner)
            fixed = fixed and isinstance(node, Constant)
            if isinstance(node, str):
                names.add(node)
            elif isinstance(node, Quoted):
                names |= node.variables
        self.expect(")>>")
        if inner.items:
            self.fail("a list in a triple term")
        if fixed and not any(first.start <= start < self.before.end for start in self.slots):
            return Constant(self.text[first.start : self.before.end], first.start, self.before.end)
        return Quoted(frozenset(names))

    def triples(self) -> Triples:
        """As many as there are."""
        found = Triples()
        while True:
            opened = self.sees("[", "(")
            subject = self.node(found)
            if not opened or self._begins_verb():
                self.properties(subject, found)
            if self.takes("."):
                if not self.begins_triples():
                    return found
            elif self.begins_triples():
                self.fail("no dot between triples")
            else:
                return found

    def begins_triples(self) -> bool:
        """Whether triples begin here."""
        return self.here.kind in {"variable", "iri", "pname", "bnode", "string", "number"} or self.sees(
            "[", "(", "+", "-", "TRUE", "FALSE", "<<", "<<("
        )

    def properties(self, subject: Node, into: Triples) -> None:
        """`predicate object, object; predicate ...`."""
        while True:
            path = self._verb()
            while True:
                into.items.append((subject, path, self.node(into)))
                if self.sees("{|", "~"):
                    self.fail("an annotation")
                if not self.takes(","):
                    break
            if not self.sees(";"):
                return
            while self.takes(";"):
                pass
            if not self._begins_verb():
                return

    def _begins_verb(self) -> bool:
        return self.here.kind in {"variable", "iri", "pname"} or self.sees("A", "^", "!", "(")

    def _verb(self) -> Path:
        return Link(self.variable()) if self.here.kind == "variable" else self._alternatives()

    def _alternatives(self) -> Path:
        parts = [self._steps()]
        while self.takes("|"):
            parts.append(self._steps())
        return parts[0] if len(parts) == 1 else Alternative(tuple(parts))

    def _steps(self) -> Path:
        parts = [self._step()]
        while self.takes("/"):
            parts.append(self._step())
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def _step(self) -> Path:
        if self.takes("^"):
            return Inverse(self._step())
        if self.takes("!"):
            return self._negated()
        if self.takes("("):
            path = self._alternatives()
            self.expect(")")
        else:
            path = Link(self._predicate())
        # `?` is also how a variable begins: `:p?o` is read as it is by Oxigraph, `:p? ?o` has the symbol
        if self.sees("*", "?"):
            self.take()
            return Closure(path, zero=True)
        if self.sees("+"):
            plus = self.take()
            if self.here.kind == "number" and self.here.start == plus.end:
                self.fail("a number or a path")
            return Closure(path, zero=False)
        return path

    def _predicate(self) -> Constant:
        if self.sees("A"):
            token = self.take()
            return Constant(f"<{RDF}type>", token.start, token.end)
        return self.iri()

    def _negated(self) -> Path:
        directions: list[bool] = []
        if self.takes("("):
            while True:
                directions.append(self.takes("^"))
                self._predicate()
                if not self.takes("|"):
                    break
            self.expect(")")
        else:
            directions.append(self.takes("^"))
            self._predicate()
        return Negated(forward=not all(directions), backward=any(directions))
