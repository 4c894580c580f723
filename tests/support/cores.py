"""A core over a store in memory, and units that do as they are told."""

from __future__ import annotations

from collections import Counter

from pyoxigraph import Literal

from triplewire.broker.model import Bindings, BindingsDelta, Query, Subscribe, Update

from .stores import PROLOGUE

ALL = Query(f"{PROLOGUE}SELECT ?o {{ ?s :p ?o }}")
NEVER = Query(f"{PROLOGUE}SELECT ?o {{ ?s :never ?o }}")


class Double:
    """A unit that fails on command, and writes down what it is asked."""

    def __init__(self, query):
        self.query = query
        self.calls = []
        self.fails = {}

    def _call(self, name):
        self.calls.append(name)
        if name in self.fails:
            raise self.fails[name]

    def first(self, _):
        self._call("first")
        return Bindings(("o",), ())

    def before(self, *_):
        self._call("before")

    def after(self, *_):
        self._call("after")
        return BindingsDelta(("o",), Counter([(Literal(len(self.calls)),)]), Counter())


def insert(*values):
    """An update that adds values of :p."""
    return Update(f"{PROLOGUE} INSERT DATA {{ :s :p {', '.join(map(str, values))} }}")


def subscribe(core, query=ALL, subscriber=1, alias=None):
    """The first notification."""
    outcome = core.handle(Subscribe(query, subscriber, alias))
    assert outcome.reply is None
    ((told, message),) = outcome.messages
    assert told == subscriber
    return message


def values(bag):
    """The numbers in a bag of rows."""
    return sorted(int(term.value) for (term,) in bag.elements())
