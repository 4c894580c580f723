"""Many threads ask while another one writes."""

from __future__ import annotations

import threading
import time

import pyoxigraph
import pytest
from support.readers import deadline, quad

from triplewire.broker.model import QuadDelta
from triplewire.broker.readers.forking import run_forked
from triplewire.broker.wire.media import CSV

THREADS = 4


def run(functions, seconds):
    """Each again and again on a thread of its own; what they raise is raised."""
    until = time.monotonic() + seconds
    errors = []

    def again(function):
        try:
            while time.monotonic() < until and not errors:
                function()
        except BaseException as error:  # noqa: BLE001 - raised below
            errors.append(error)

    threads = [threading.Thread(target=again, args=(function,)) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(seconds + 30)
        assert not thread.is_alive(), "a thread hangs"
    if errors:
        raise errors[0]


def test_each_answer_has_whole_writes_and_all_that_were_acknowledged(make, kind):
    """Two values that are always written together are the same in every answer, and not older than the question."""
    world = make([quad("a", "0"), quad("b", "0")], count=THREADS)
    acknowledged = 0
    answers = []

    def write():
        nonlocal acknowledged
        number = acknowledged + 1
        pair = [(quad(name, str(number)), quad(name, str(number - 1))) for name in "ab"]
        world.write([new for new, _ in pair], [old for _, old in pair])
        acknowledged = number
        time.sleep(0.0005 if kind == "memory" else 0.005)

    def ask():
        least = acknowledged
        (row,) = world.values("SELECT ?x ?y { :a :p ?x . :b :p ?y }")
        x, _, y = row.partition(",")
        assert x == y
        assert least <= int(x) <= acknowledged + 1
        answers.append(int(x))

    run([write] + [ask] * THREADS, 2)
    assert acknowledged > 50
    assert len(answers) > 50
    assert len(set(answers)) > 10
    assert world.pool.statistics().deaths == world.pool.statistics().killed == 0


def test_a_writer_that_never_rests_starves_nobody(memory):
    """Whoever needs a copy gets the lock."""
    world = memory()
    number = 0

    def write():
        nonlocal number
        number += 1
        world.write([quad("a", str(number))], [quad("a", str(number - 1))])

    waits = []

    def ask():
        began = time.monotonic()
        world.pool.renewed()
        world.answer("ASK {}", check=deadline(10))
        waits.append(time.monotonic() - began)

    run([write, ask], 1)
    assert len(waits) > 2
    assert max(waits) < 8


def test_hundreds_of_copies(memory):
    """None hangs, whatever other threads do when it is made."""
    world = memory([quad(f"n{n}", str(n)) for n in range(1000)], count=THREADS)
    number = 0

    def write():
        nonlocal number
        number += 1
        world.write([quad("a", str(number))], [quad("a", str(number - 1))])
        time.sleep(0.0002)

    def ask():
        world.pool.renewed()
        assert world.answer("ASK { :n7 :p '7' }", CSV, check=deadline(10)) == b"true"

    def busy():
        other = pyoxigraph.Store()
        other.load(b'<http://x/a> <http://x/b> "c" .', format=pyoxigraph.RdfFormat.N_TRIPLES)
        assert len(list(other.query("SELECT * { ?s ?p ?o }"))) == 1
        sorted(str(n) for n in range(1000))
        time.sleep(0.001)

    def job():
        assert run_forked(world.quiet, lambda: str(len(world.store)).encode(), deadline(10)) in {
            b"1001",
            b"1000",
        }

    for _ in range(15):
        run([write, busy, job] + [ask] * THREADS, 1)
        if world.pool.statistics().forks >= 100:
            break
    assert world.pool.statistics().forks >= 100
    assert world.pool.statistics().deaths == 0


@pytest.mark.parametrize("size", [1, 20_000])
def test_told_is_cheap(memory, size):
    """However large the store is."""
    world = memory([quad(f"n{n}", str(n)) for n in range(size)], pending_quads=100_000)
    world.answer("ASK {}")
    delta = QuadDelta(frozenset([quad("a", "1")]), frozenset())
    began = time.perf_counter()
    for _ in range(1000):
        world.pool.told(delta)
    assert time.perf_counter() - began < 0.05
