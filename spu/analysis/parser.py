"""From a query's terminals to its parts; see `syntax`.

Oxigraph wants no space between a keyword and a name (`a:b` is `a :b` where the prefix `a:` is not declared) and reads
`?x<?y&&?z>?q` as comparisons.  Where a terminal could be read so, it is not understood.
"""

from __future__ import annotations

from .syntax import (
    Bind,
    Expression,
    Filter,
    Group,
    InGraph,
    Item,
    Minus,
    Optional,
    Select,
    Service,
    SubSelect,
    Triples,
    Union,
    Values,
)
from .terminals import END
from .triples import Patterns

_MODIFIERS = ("GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET", "VALUES")


class Parser(Patterns):
    """Groups and queries."""

    def query(self) -> Select:
        """The whole query, after its prologue.

        Raises:
            NotUnderstood: there is something in it that is not read here.
        """
        found = self._select(inner=False)
        if self.here is not END:
            self.fail("the query goes on")
        return found

    def group(self) -> Group:
        """From `{` to `}`."""
        self.expect("{")
        if self.sees("SELECT"):
            found = Group([SubSelect(self._select(inner=True))])
            self.expect("}")
            return found
        found = Group()
        while not self.takes("}"):
            self._element(found)
            self.takes(".")
        return found

    def _element(self, into: Group) -> None:  # noqa: C901 - a case for each kind
        add = into.elements.append
        if self.sees("FILTER"):
            add(self._filter(into))
        elif self.takes("BIND"):
            expression = self.bracketed(until="AS")
            self.expect("AS")
            add(Bind(expression, self.variable()))
            self.expect(")")
        elif self.takes("OPTIONAL"):
            add(Optional(self.group()))
        elif self.takes("MINUS"):
            add(Minus(self.group()))
        elif self.takes("GRAPH"):
            name = self.variable() if self.here.kind == "variable" else self.iri()
            add(InGraph(name, self.group()))
        elif self.takes("SERVICE"):
            add(self._service())
        elif self.takes("VALUES"):
            add(self.values())
        elif self.sees("{"):
            groups = [self.group()]
            while self.takes("UNION"):
                groups.append(self.group())
            add(Union(groups))
        elif self.begins_triples():
            add(self.triples())
        else:
            self.fail("no pattern")

    def _filter(self, into: Group) -> Filter:
        last = into.elements[-1] if into.elements else None
        found = Filter(
            Expression(), self.here.start, after_triples=isinstance(last, Triples) and self.before.text != "."
        )
        self.expect("FILTER")
        found.expression = self.call()
        found.end = self.here.end if self.sees(".") else self.before.end
        return found

    def _service(self) -> Service:
        self.takes("SILENT")
        names = set[str]()
        depth = 0
        while True:
            token = self.take()
            if token.kind == "variable":
                names.add(token.text[1:])
            depth += {"{": 1, "}": -1}.get(token.text, 0)
            if token.text == "}" and depth == 0:
                return Service(frozenset(names))

    def values(self) -> Values:
        """What follows VALUES."""
        if self.takes("("):
            names = []
            while not self.takes(")"):
                names.append(self.variable())
            bracketed = True
        else:
            names, bracketed = [self.variable()], False
        certain = set(names)
        self.expect("{")
        while not self.takes("}"):
            if bracketed:
                self.expect("(")
            for name in names:
                if self.takes("UNDEF"):
                    certain.discard(name)
                else:
                    self.node(Triples())
            if bracketed:
                self.expect(")")
        return Values(frozenset(names), frozenset(certain))

    def _select(self, *, inner: bool) -> Select:
        word = self.take()
        found = Select(form=word.text.upper(), head=(word.start, word.end))
        match found.form:
            case "SELECT":
                self._columns(found)
            case "CONSTRUCT":
                self._template(found)
            case "DESCRIBE":
                while not (self.sees("WHERE", "FROM", "{", *_MODIFIERS) or self.here is END):
                    if self.takes("*"):
                        found.star = (self.before.start, self.before.end)
                    elif self.here.kind == "variable":
                        found.described.append(self.variable())
                    else:
                        found.described.append(self.iri())
            case "ASK":
                pass
            case _:
                self.fail("no query")
        while not inner and self.takes("FROM"):
            (found.named_graphs if self.takes("NAMED") else found.default_graphs).append(self.iri())
        if self.takes("WHERE") or self.sees("{"):
            self._where(found)
        self._modifiers(found)
        return found

    def _where(self, into: Select) -> None:
        opening = self.here.end
        into.where = self.group()
        if not (into.where.elements and isinstance(into.where.elements[0], SubSelect)):
            into.where_open = opening
        into.where_end = self.before.end

    def _columns(self, into: Select) -> None:
        if self.takes("DISTINCT"):
            into.distinct = True
        elif self.takes("REDUCED"):
            into.reduced = True
        if self.takes("*"):
            into.star = (self.before.start, self.before.end)
            return
        while self.here.kind == "variable" or self.sees("("):
            into.items.append(self._item())

    def _item(self) -> Item:
        start = self.here.start
        if self.here.kind == "variable":
            return Item(self.variable(), None, start, self.before.end)
        expression = self.bracketed(until="AS")
        self.expect("AS")
        variable = self.variable()
        self.expect(")")
        return Item(variable, expression, start, self.before.end)

    def _template(self, into: Select) -> None:
        if not self.takes("{"):
            return
        names: dict[str, None] = {}
        depth = 1
        while depth:
            token = self.take()
            depth += {"{": 1, "}": -1}.get(token.text, 0)
            if token.kind == "variable":
                names[token.text[1:]] = None
            elif token.kind == "pname":
                self.check_name(token)
        into.template = list(names)
        into.head = (into.head[0], self.before.end)

    def _modifiers(self, into: Select) -> None:
        if self.takes("GROUP"):
            self.expect("BY")
            into.grouped = True
            while not (self.sees("}", *_MODIFIERS) or self.here is END):
                into.group_by.append(self._condition())
            into.group_end = self.before.end
        if self.takes("HAVING"):
            while not (self.sees("}", *_MODIFIERS) or self.here is END):
                into.having.append(self.call())
        if self.sees("ORDER"):
            start = self.take().start
            self.expect("BY")
            while not (self.sees("}", *_MODIFIERS) or self.here is END):
                self.takes("ASC", "DESC")
                into.order.append(self._plain(self._condition()))
            into.order_span = (start, self.before.end)
        while self.takes("LIMIT", "OFFSET"):
            into.sliced = True
            if self.take().kind != "number":
                self.fail("no number")
        if self.takes("VALUES"):
            # joined with the whole, so that the filters of the WHERE do not see it
            into.where = Group([Union([into.where]), self.values()])
            into.values_after = True

    def _condition(self) -> Item | Expression:
        start = self.here.start
        if self.here.kind == "variable":
            return Item(self.variable(), None, start, self.before.end)
        if not self.sees("("):
            return self.call()
        expression = self.bracketed(until="AS")
        if self.takes("AS"):
            item = Item(self.variable(), expression, start, 0)
            self.expect(")")
            return item
        self.expect(")")
        return expression

    def _plain(self, condition: Item | Expression) -> Expression:
        if isinstance(condition, Expression):
            return condition
        if condition.expression is not None:
            self.fail("no order")
        return Expression({condition.variable})
