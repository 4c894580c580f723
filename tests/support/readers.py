"""Stores with reader processes, and what tests ask and see of them."""

from __future__ import annotations

import contextlib
import threading
import time
from io import BytesIO
from pathlib import Path

import pyoxigraph
from pyoxigraph import BlankNode, DefaultGraph, Literal, NamedNode, Quad

from triplewire.broker.delta_writer import write_delta
from triplewire.broker.errors import DeadlineExceeded
from triplewire.broker.model import QuadDelta
from triplewire.broker.readers.pool import ReaderProcesses
from triplewire.broker.readers.question import Question
from triplewire.broker.readers.sources import ForkedStore, OpenedStore
from triplewire.broker.threads import FairLock
from triplewire.broker.wire.media import CSV, JSON, N_TRIPLES

EX = "http://example.org/"
PREFIXES = {"": EX}
GRAPH = NamedNode(f"{EX}g")


def quad(subject, value, graph=None, predicate="p"):
    """One quad; the value is a number, a text or a term."""
    term = value if isinstance(value, BlankNode | NamedNode | Literal) else Literal(value)
    return Quad(subject_of(subject), NamedNode(EX + predicate), term, graph or DefaultGraph())


def odd_iri():
    """A term that no text can name, as a lenient reader lets it in."""
    text = rb"<http://x/s> <http://x/p> <http://x/a\u003E b> ."
    (triple,) = pyoxigraph.parse(text, format=pyoxigraph.RdfFormat.N_TRIPLES, lenient=True)
    return triple.object


def subject_of(name):
    return BlankNode(name[2:]) if str(name).startswith("_:") else NamedNode(f"{EX}{name}")


def question(text, **options):
    """A question with the prefix `:`."""
    return Question(text, EX, PREFIXES, **options)


def wanted():
    """Nobody gives up."""


def deadline(seconds):
    """A check that raises from then on, and counts its calls."""
    until = time.monotonic() + seconds

    def check():
        check.calls += 1
        if time.monotonic() > until:
            raise DeadlineExceeded("too late")

    check.calls = 0
    return check


class File(BytesIO):
    """A sink in memory."""

    form = None
    format = None

    def start(self, form, format_):
        self.form, self.format = form, format_


class World:
    """A store, its lock, and processes that answer for it."""

    def __init__(  # noqa: PLR0913 - as the pool's
        self, path, quads, *, count=2, memory_bytes=0, idle_s=60.0, pending_quads=10_000
    ):
        self.quiet = FairLock()
        self.store = pyoxigraph.Store(str(path)) if path else pyoxigraph.Store()
        self.store.extend(quads)
        self.source = OpenedStore(path) if path else ForkedStore(self.quiet, lambda: self.store)
        self.pool = ReaderProcesses(self.source, count, memory_bytes, idle_s, pending_quads)

    def write(self, inserted=(), deleted=(), created=(), dropped=()):
        """As the core thread does."""
        self.write_delta(
            QuadDelta(frozenset(inserted), frozenset(deleted), frozenset(created), frozenset(dropped))
        )

    def write_delta(self, delta):
        with self.quiet:
            write_delta(self.store, delta)
            self.pool.told(delta)

    def answer(self, text, format_=None, check=wanted, **options):
        """What a process says, as bytes."""
        sink = File()
        self.pool.answer(
            question(text, **options),
            lambda form: format_ or (N_TRIPLES if form.is_graph else JSON),
            sink,
            check,
        )
        return sink.getvalue()

    def values(self, text):
        """The answer's rows, as lines of CSV, sorted."""
        return sorted(self.answer(text, CSV).decode().split("\r\n")[1:-1])

    def processes(self):
        """The numbers of the processes that live."""
        return {process.pid for process in self.pool._living}


DATA = [
    quad("a", "0"),
    quad("_:x", BlankNode("y")),
    quad("a", "1", GRAPH),
    quad("_:x", NamedNode(f"{EX}a"), GRAPH),
    quad("b", Literal("zwei", language="de"), NamedNode(f"{EX}h")),
    quad("c", Literal('"\\\n<&>', datatype=NamedNode(f"{EX}type"))),
]


def children():
    """The processes whose parent this one is, zombies too."""
    found = set()
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(FileNotFoundError):  # a thread that ended meanwhile
            found |= {int(pid) for pid in (task / "children").read_text().split()}
    return found


class Answering:
    """A query that runs on a thread until it is let go on; the thread stays until it is joined, and its process too."""

    def __init__(self, world):
        self._started, self._go_on, self._done, self._leave = (threading.Event() for _ in range(4))
        self.error = None
        self._world = world
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        assert self._started.wait(10)

    def start(self, _form, _format):
        self._started.set()
        assert self._go_on.wait(10)

    def write(self, data):
        return len(data)

    def _run(self):
        try:
            self._world.pool.answer(question("SELECT ?s ?o { ?s :p ?o }"), lambda _: CSV, self, wanted)
        except Exception as error:  # noqa: BLE001 - the test looks at it
            self.error = error
        self._done.set()
        self._leave.wait(10)

    def finish(self):
        self._go_on.set()
        assert self._done.wait(10)

    def join(self):
        self.finish()
        self._leave.set()
        self._thread.join(10)
        assert not self._thread.is_alive()


def ring(size=400):
    """Nodes, each with links to others and a value."""
    found = []
    for n in range(size):
        found.append(quad(f"n{n}", f"value {n}"))
        for predicate, step in (("p", 1), ("q", 7), ("r", 31)):
            found.append(quad(f"n{n}", quad(f"n{(n + step) % size}", "").subject, predicate=predicate))
    return found


CROSS = " ".join(f"?s{n} :p ?o{n} ." for n in range(5))
NEVER = f"{CROSS} FILTER(CONCAT(STR(?o0), STR(?o1), STR(?o2), STR(?o3), STR(?o4)) = 'never')"
WORST = {
    "cross join": f"SELECT * {{ {NEVER} }}",
    "ask": f"ASK {{ {NEVER} }}",
    "construct": f"CONSTRUCT {{ ?s0 :q ?o1 }} WHERE {{ {NEVER} }}",
    "count": f"SELECT (COUNT(*) AS ?n) {{ {CROSS} }}",
    "order": f"SELECT * {{ {CROSS} }} ORDER BY ?o0 DESC(?o4) ?o2",
    "distinct": f"SELECT (COUNT(*) AS ?n) {{ {{ SELECT DISTINCT ?o0 ?o1 ?o2 ?o3 {{ {CROSS} }} }} }}",
    "paths": "SELECT (COUNT(*) AS ?n) { ?a (:p|:q|:r)* ?b . ?b (:p|:q|:r)* ?c . ?c (:q|:r)* ?d }",
    "group": f"SELECT ?o0 ?o1 (COUNT(DISTINCT ?o2) AS ?n) {{ {CROSS} }} GROUP BY ?o0 ?o1",
    "not exists": f"SELECT * {{ ?x :p ?y FILTER NOT EXISTS {{ {NEVER} FILTER(?s0 != ?x) }} }}",
    "optional": f"SELECT (MAX(?o4) AS ?m) {{ ?x :q ?y OPTIONAL {{ {CROSS} FILTER(?o0 != ?x) }} }}",
    "concat": "SELECT (GROUP_CONCAT(CONCAT(STR(?o0), STR(?o1), STR(?o2))) AS ?x) { " + CROSS + " }",
}
