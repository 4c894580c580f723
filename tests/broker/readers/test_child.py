"""What a process does with files that go away; the rest is tested from outside."""

from __future__ import annotations

import pickle
import socket

import pyoxigraph
import pytest
from support.readers import quad

from triplewire.broker.readers import child
from triplewire.broker.readers.child import Child, format_name
from triplewire.broker.readers.memory import MemoryLimit
from triplewire.broker.readers.wire import DATA, END, ERROR, FORM, FORMAT, LIKELY, QUESTION, Channel
from triplewire.broker.wire.media import CSV

GONE = RuntimeError("Corruption: IO error: No such file or directory: 000009.sst")


class Failing:
    """A store whose first queries fail."""

    def __init__(self, *errors):
        self._errors = list(errors)
        self._store = pyoxigraph.Store()
        self._store.add(quad("a", "1"))

    def query(self, text, **options):
        if self._errors:
            raise self._errors.pop(0)
        return self._store.query(text, **options)


@pytest.fixture
def frames(monkeypatch):
    """What the broker gets for a question."""
    monkeypatch.setattr(child, "_PAUSE_S", 0)

    def ask(store, likely, *, attempts=3):
        ours, its = socket.socketpair()
        with ours, its:
            openings = []

            def open_store():
                openings.append(store)
                return store

            here = Channel(ours)
            asked = pickle.dumps(("SELECT ?o { ?s ?p ?o }", {}, likely, format_name(CSV.writer)))
            if likely != "SELECT":
                here.send((FORMAT, format_name(CSV.writer)))
            Child(Channel(its), open_store, MemoryLimit(0), attempts)._take(QUESTION, asked)
            its.close()
            found = [here.receive()]
            while found[-1][0] not in {END, ERROR}:
                found.append(here.receive())
            return found, len(openings)

    return ask


@pytest.mark.parametrize(("likely", "first"), [("SELECT", (LIKELY, b"")), ("ASK", (FORM, b"SELECT"))])
def test_files_that_are_gone_are_opened_anew(frames, likely, first):
    """And the broker does not notice."""
    answer = [first, (DATA, b"o\r\n1\r\n"), (END, b"")]
    assert frames(Failing(), likely) == (answer, 1)
    assert frames(Failing(GONE, FileNotFoundError("No such file or directory")), likely) == (answer, 3)


def test_not_for_ever(frames):
    """Then it is told."""
    found, openings = frames(Failing(GONE, GONE, GONE), "SELECT")
    assert found == [(ERROR, f"RuntimeError\n{GONE}".encode())]
    assert openings == 3


def test_other_failures_are_told_at_once(frames):
    """As the query would fail again."""
    assert frames(Failing(OSError("no route")), "SELECT") == ([(ERROR, b"OSError\nno route")], 1)
    assert frames(Failing(GONE), "SELECT", attempts=1)[0][0][0] == ERROR
