"""Processes are made when they are needed, kept up to date, and let go."""

from __future__ import annotations

import random
import threading
import time

import pyoxigraph
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyoxigraph import BlankNode, NamedNode
from support.deltas import histories
from support.readers import EX, GRAPH, WORST, Answering, World, deadline, odd_iri, quad, ring

from triplewire.broker.errors import DeadlineExceeded, ShuttingDown, StoreError
from triplewire.broker.model import QuadDelta
from triplewire.broker.readers import forking
from triplewire.broker.wire.media import CSV

ALL = "SELECT ?s ?o { ?s :p ?o }"


def test_a_write_is_seen(world):
    """By the process that answered before it, blank nodes by their labels."""
    world.values(ALL)
    pids = world.processes()
    world.write(
        [quad("_:x", "new"), quad("_:new", BlankNode("x"))], [quad("a", "0"), quad("_:x", BlankNode("y"))]
    )
    assert [row for row in world.values(ALL) if "_:" in row] == ["_:new,_:x", "_:x,new"]
    assert world.processes() == pids
    world.write(deleted=[quad("_:x", "new")])
    assert [row for row in world.values(ALL) if "_:" in row] == ["_:new,_:x"]
    assert world.pool.statistics().forks == 1


def test_graphs_come_and_go(world):
    """Empty ones too, and those whose only quad was there for a moment."""
    graphs = "SELECT ?g { GRAPH ?g {} }"
    names = world.values(graphs)
    new, moment = NamedNode(f"{EX}new"), NamedNode(f"{EX}moment")
    world.write(created=[new])
    assert world.values(graphs) == sorted([*names, new.value])
    world.write([quad("a", "1", moment)])
    world.write(deleted=[quad("a", "1", moment)])
    assert world.values(graphs) == sorted([*names, new.value, moment.value])
    world.write(dropped=[new, moment])
    world.write([quad("a", "2", new)])
    assert world.values(graphs) == sorted([*names, new.value])


def test_one_that_is_far_behind_is_replaced(memory):
    """By a new copy, as that is faster; one that is a little behind is told."""
    world = memory()
    world.values(ALL)
    for number in range(5):
        world.write([quad("s", str(number))])
    assert len(world.values(ALL)) == 8
    assert world.pool.statistics().forks == 1
    world.source._fork_s = 0.003  # whatever it is on this machine
    for number in range(2000):
        world.write([quad("s", str(number))], [quad("s", str(number - 1))])
    assert len(world.values(ALL)) == 4
    assert world.pool.statistics().forks == 2
    world.pool.tend(time.monotonic())
    assert world.pool.statistics().children == 1


def test_too_much_is_pending(memory):
    """Then the process is let go, at once where it is idle; and nothing is kept for it."""
    world = memory(pending_quads=10)
    world.values(ALL)
    (process,) = world.pool._living
    for number in range(4):
        world.write([quad("s", str(number))])
    assert len(process.backlog._deltas) == 4
    world.write([quad("t", str(number)) for number in range(4)])
    assert process.backlog._deltas == []
    assert world.pool.statistics().children == 0
    world.write([quad("u", "1")])
    assert len(world.values(ALL)) == 3 + 4 + 4 + 1
    assert world.pool.statistics() == type(world.pool.statistics())(children=1, forks=2, killed=0, deaths=0)


def test_changes_without_quads_are_bounded_too(memory):
    """Graphs that come and go fill no memory."""
    world = memory(pending_quads=10)
    world.values(ALL)
    for _ in range(6):
        world.write(created=[NamedNode(f"{EX}new")])
        world.write(dropped=[NamedNode(f"{EX}new")])
    assert world.pool.statistics().children == 0


def test_the_store_is_another_object(make, kind):
    """Then all processes go, busy ones after their answer; new ones see the new store."""
    world = make()
    world.answer("ASK {}")
    busy = Answering(world)
    if kind == "memory":
        with world.quiet:
            world.store = pyoxigraph.Store()
            world.store.add(quad("only", "this"))
            world.pool.renewed()
    else:
        world.pool.renewed()
    assert world.pool.statistics().children == 1
    assert len(world.values(ALL)) == (1 if kind == "memory" else 3)
    busy.finish()
    assert busy.error is None
    statistics = world.pool.statistics()
    busy.join()
    assert (statistics.children, statistics.killed, statistics.deaths) == (1, 0, 0)


def test_there_are_no_more_than_so_many(make):
    """A further caller waits for one of them, as long as its check lets it."""
    world = make(count=2)
    first, second = Answering(world), Answering(world)
    assert world.pool.statistics().children == 2
    with pytest.raises(DeadlineExceeded):
        world.answer("ASK {}", check=deadline(0.1))
    third = threading.Thread(target=world.answer, args=("ASK {}",))
    third.start()
    first.finish()
    third.join(10)
    assert not third.is_alive()
    second.join()
    first.join()
    assert world.pool.statistics().forks == 2


def test_idle_ones_are_let_go(make):
    """After their time, when somebody looks."""
    world = make(idle_s=5.0)
    world.answer("ASK {}")
    now = time.monotonic()
    world.pool.tend(now + 4)
    assert world.pool.statistics().children == 1
    world.pool.tend(now + 6)
    assert world.pool.statistics().children == 0
    assert world.answer("ASK {}", CSV) == b"true"


def test_closing(make):
    """Ends busy and idle ones; whoever waits is told why, and so is whoever comes later."""
    world = make(ring(), count=3)
    busy = Answering(world)
    errors = []

    def ask():
        try:
            world.answer(WORST["count"], check=deadline(20))
        except Exception as error:  # noqa: BLE001 - looked at below
            errors.append(error)

    heavy = threading.Thread(target=ask)
    heavy.start()
    world.answer("ASK {}")
    while world.pool.statistics().children < 2:
        time.sleep(0.01)
    time.sleep(0.1)
    closer = threading.Thread(target=world.pool.close)
    closer.start()
    heavy.join(5)
    busy.join()
    closer.join(5)
    assert [type(error) for error in errors] == [ShuttingDown]
    assert world.pool.statistics().children == 0
    with pytest.raises(ShuttingDown):
        world.answer("ASK {}")
    world.pool.close()


def test_told_without_processes_is_nothing(memory):
    """Nobody to tell, nothing kept."""
    world = memory()
    world.write([quad("s", "1")])
    assert world.pool._living == set()


def test_no_room_for_a_copy(memory, monkeypatch):
    """An error that the sender is told; no place is lost by it."""
    world = memory(count=1)

    def fork():
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(forking.os, "fork", fork)
    for _ in range(3):
        with pytest.raises(StoreError, match="no process can be made: Resource temporarily"):
            world.answer("ASK {}")
    monkeypatch.undo()
    assert not world.quiet.locked()
    assert world.answer("ASK {}", CSV) == b"true"


def test_a_term_that_no_text_can_name(memory):
    """A lenient reader let it in: a new copy is made, which has it."""
    world = memory()
    world.answer("ASK {}")
    world.write([quad("s", odd_iri(), predicate="odd")])
    assert world.values("SELECT ?o { ?s :odd ?o }") == ["http://x/a> b"]
    assert world.pool.statistics().forks == 2


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(histories(max_size=10), st.lists(st.booleans(), min_size=10, max_size=10))
def test_any_changes(history, asked):
    """With questions at any time between: the process has what the store has, empty graphs too."""
    world = World(None, [])
    try:
        everything(world)
        for delta, ask in zip(history.deltas, asked, strict=False):
            world.write_delta(delta)
            if ask:
                assert everything(world) == of_store(world.store)
        assert everything(world) == of_store(world.store)
        assert world.pool.statistics().forks == 1
    finally:
        world.pool.close()


def everything(world):
    """The quads and graphs, as a process sees them."""
    quads = world.answer("SELECT ?s ?p ?o ?g { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } }")
    graphs = world.answer("SELECT ?g { GRAPH ?g {} }")
    return rows_of(quads), rows_of(graphs)


def of_store(store):
    quads = store.query("SELECT ?s ?p ?o ?g { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } }")
    graphs = store.query("SELECT ?g { GRAPH ?g {} }")
    json = pyoxigraph.QueryResultsFormat.JSON
    return rows_of(quads.serialize(format=json)), rows_of(graphs.serialize(format=json))


def rows_of(data):
    found = pyoxigraph.parse_query_results(data, format=pyoxigraph.QueryResultsFormat.JSON)
    return {tuple(row) for row in found}


def test_many_random_changes(make, kind):
    """Hundreds, with a question now and then."""
    rng = random.Random(7)
    world = make([])
    subjects = [f"n{n}" for n in range(10)] + [f"_:b{n}" for n in range(10)]
    there = set()
    for step in range(600 if kind == "memory" else 150):
        new = {
            quad(rng.choice(subjects), str(rng.randrange(5)), rng.choice([None, GRAPH, BlankNode("graph")]))
            for _ in range(rng.randrange(4))
        }
        old = set(rng.sample(sorted(there, key=str), min(len(there), rng.randrange(3))))
        delta = QuadDelta(frozenset(new - there), frozenset(old - new))
        there = (there - delta.deleted) | delta.inserted
        world.write_delta(delta)
        if rng.random() < 0.2 or not step:
            assert everything(world) == of_store(world.store)
    assert {str(one) for one in there} == {str(one) for one in world.store}
