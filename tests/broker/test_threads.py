"""Worker threads: in order, not waited for, and deep enough for what the guards let pass."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import pytest

from triplewire.broker.threads import STACK_BYTES, FairLock, Workers


def test_one_worker_keeps_the_order():
    """Whatever is queued, first in, first out."""
    workers, done = Workers(1, "test"), []
    for number in range(1000):
        workers.submit(lambda number=number: done.append(number))
    workers.stop()
    workers.join(5)
    assert done == list(range(1000))


def test_several_workers_work_at_once():
    """Each its own piece; one that is stuck does not hold up the others."""
    workers, stuck, done = Workers(3, "test"), threading.Event(), threading.Event()
    together = threading.Barrier(3)
    workers.submit(lambda: stuck.wait(5))
    workers.submit(done.set)
    assert done.wait(5)
    stuck.set()
    for _ in range(2):
        workers.submit(lambda: together.wait(5))
    together.wait(5)
    workers.stop()
    workers.join(5)
    assert not any(thread.is_alive() for thread in workers._threads)


def test_stopping_finishes_what_is_queued():
    """But waits for nothing itself."""
    workers, release, done = Workers(1, "test"), threading.Event(), []
    workers.submit(lambda: release.wait(5))
    workers.submit(lambda: done.append(1))
    workers.stop()
    assert done == []
    release.set()
    workers.join(5)
    assert done == [1]


def test_joining_is_bounded():
    """By the time given, for all threads together; they are daemons, so the process can end without them."""
    workers, release = Workers(2, "test"), threading.Event()
    for _ in range(2):
        workers.submit(lambda: release.wait(5))
    workers.stop()
    started = time.monotonic()
    workers.join(0.1)
    assert time.monotonic() - started < 2
    assert all(thread.daemon for thread in workers._threads)
    release.set()
    workers.join(5)


def test_the_stack_size_is_for_these_threads_only():
    """The process's other threads keep their own; the names tell what they are."""
    before = threading.stack_size()
    workers = Workers(2, "reader")
    assert threading.stack_size() == before
    assert STACK_BYTES == 64 * 1024 * 1024
    assert [thread.name for thread in workers._threads] == ["reader-0", "reader-1"]
    workers.stop()
    workers.join(5)


DEEPEST = """
import sys, threading
from triplewire.broker.config import JournalConfig, LimitsConfig, SparqlConfig, StoreConfig
from triplewire.broker.dataset.opening import open_dataset
from triplewire.broker.errors import BrokerError
from triplewire.broker.guard import check_query
from triplewire.broker.model import Query, Update
from triplewire.broker.store import EmbeddedStore
from triplewire.broker.threads import Workers

KINDS = {
    "parentheses": lambda n: "SELECT ?x { ?s ?p ?x FILTER(" + "(" * n + "?x" + ")" * n + ") }",
    "functions": lambda n: "SELECT (" + "STR(" * n + "?x" + ")" * n + " AS ?y) { ?s ?p ?x }",
    "groups": lambda n: "SELECT ?x " + "{ " * n + "?s ?p ?x" + " }" * n,
    "sub-selects": lambda n: "SELECT ?x " + "{ { SELECT ?x " * n + "{ ?s ?p ?x }" + " } }" * n,
    "optionals": lambda n: "SELECT ?x { ?s ?p ?x " + "OPTIONAL { ?s ?p ?x " * n + "}" * n + " }",
    "not exists": lambda n: "SELECT ?x { ?s ?p ?x " + "FILTER NOT EXISTS { ?s ?p ?x " * n + "}" * n + " }",
    "ands": lambda n: "SELECT ?x { ?s ?p ?x FILTER(?x" + " && ?x" * n + ") }",
    "sums": lambda n: "SELECT ?x { ?s ?p ?x FILTER(?x" + " + ?x" * n + " > 1) }",
    "nots": lambda n: "SELECT ?x { ?s ?p ?x FILTER(" + "!" * n + "?x) }",
    "binds": lambda n: "SELECT ?x { ?s ?p ?x " + "".join(f"BIND(1 AS ?v{i}) " for i in range(n)) + "}",
    "unions": lambda n: "SELECT ?x { { ?s ?p ?x } " + "UNION { ?s ?p ?x } " * n + "}",
    "minus": lambda n: "SELECT ?x { ?s ?p ?x " + "MINUS { ?s ?p ?x } " * n + "}",
    "alternatives": lambda n: "SELECT ?x { ?s <a>" + "|<b>" * n + " ?x }",
    "path groups": lambda n: "SELECT ?x { ?s " + "(" * n + "<a>" + ")*" * n + " ?x }",
    "inverses": lambda n: "SELECT ?x { ?s " + "^(" * n + "<a>" + ")" * n + " ?x }",
    "collections": lambda n: "SELECT ?x { ?x ?p " + "(" * n + "1" + ")" * n + " }",
    "triple terms": lambda n: "SELECT ?x { ?x ?p " + "<<( ?s ?p " * n + "1" + " )>>" * n + " }",
}
LIMITS = LimitsConfig()
store = EmbeddedStore(open_dataset(StoreConfig(), JournalConfig()), SparqlConfig(), LIMITS)
store.apply(Update("INSERT DATA { <s> <a> 1 }"))

def passes(text):
    try:
        check_query(text, LIMITS)
    except BrokerError:
        return False
    return True

def deepest(kind):
    low, high = 0, 3000
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if passes(KINDS[kind](middle)) else (low, middle - 1)
    return low

def work():
    for kind in KINDS:
        number = deepest(kind)
        print(kind, number, flush=True)
        for text in (KINDS[kind](number), KINDS[kind](number).replace("SELECT ?x", "SELECT *", 1)):
            try:
                store.evaluate(Query(text))
            except BrokerError as error:
                print("refused", kind, str(error)[:80], flush=True)
    print("done", flush=True)

workers = Workers(1, "reader")
workers.submit(work)
workers.stop()
workers.join(90)
"""


def test_the_deepest_that_the_guards_let_pass_is_evaluated():
    """In a process of its own: an overflow would end it without a word."""
    run = subprocess.run(
        [sys.executable, "-P", "-c", DEEPEST], capture_output=True, text=True, timeout=110, check=False
    )
    assert run.returncode == 0, run.stdout[-500:] + run.stderr[-500:]
    lines = run.stdout.splitlines()
    assert lines[-1] == "done"
    depths = {
        name: int(number) for name, _, number in (line.rpartition(" ") for line in lines) if number.isdigit()
    }
    assert len(depths) == 17
    assert all(depths.values()), "each kind is allowed at all"
    assert not run.stderr


@pytest.mark.parametrize("count", [1, 4])
def test_what_no_thread_takes_waits(count):
    """Bounding the queue is the caller's part."""
    workers, release, done = Workers(count, "test"), threading.Event(), []
    for _ in range(count):
        workers.submit(lambda: release.wait(5))
    for number in range(3):
        workers.submit(lambda number=number: done.append(number))
    time.sleep(0.02)
    assert done == []
    release.set()
    workers.stop()
    workers.join(5)
    assert sorted(done) == [0, 1, 2]


def test_whoever_waits_for_a_fair_lock_gets_it_next():
    """Though its holder wants it again at once."""
    lock, over, turns = FairLock(), threading.Event(), []

    def greedy():
        while not over.is_set():
            with lock:
                turns.append("greedy")

    thread = threading.Thread(target=greedy)
    thread.start()
    try:
        for _ in range(50):
            began = len(turns)
            assert lock.acquire(timeout=10)
            between = turns[began:]
            lock.release()
            assert len(between) < 100_000
    finally:
        over.set()
        thread.join()
    assert len(turns) > 50


def test_a_fair_lock_is_waited_for_no_longer_than_was_said():
    """And is not held then."""
    lock = FairLock()
    with lock:
        began = time.monotonic()
        assert not lock.acquire(timeout=0.1)
        assert 0.05 < time.monotonic() - began < 5
        assert lock.locked()
    assert not lock.locked()
    assert lock.acquire(timeout=0)
    assert not lock.acquire(timeout=0)
    lock.release()
