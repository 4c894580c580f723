"""Journals made by hand, at any time."""

from __future__ import annotations

from pyoxigraph import Literal, NamedNode, Quad

from triplewire.broker.config import JournalConfig
from triplewire.broker.dataset.epochs import Epochs
from triplewire.broker.journal.journal import Journal
from triplewire.broker.model import QuadDelta

P = NamedNode("http://example.org/p")


def append(directory, moment, count, config=None):
    """`count` more records of two quads, all of that moment, in an epoch of their own."""
    journal = Journal.open(directory, config or JournalConfig())
    try:
        Epochs.begin(directory, journal.last_sequence)
        for number in range(journal.last_sequence + 1, journal.last_sequence + 1 + count):
            subject = NamedNode(f"http://example.org/{number}")
            graph = NamedNode("http://example.org/g")
            quads = {Quad(subject, P, Literal(f"line\n{number}")), Quad(subject, P, subject, graph)}
            journal.append(QuadDelta(frozenset(quads), frozenset()), "maker", moment.timestamp())
            journal.settle()
    finally:
        journal.close()
