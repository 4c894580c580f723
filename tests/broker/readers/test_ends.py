"""A process can be ended whatever it does, and its end is not the broker's."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest
from support.readers import WORST, File, World, children, deadline, question, ring, wanted

from triplewire.broker.errors import DeadlineExceeded, RequestError
from triplewire.broker.wire.media import CSV


@pytest.mark.parametrize("name", WORST)
def test_no_query_outlives_its_time(make, name):
    """Nor does its process; the caller is free at once, and the next query is answered."""
    world = make(ring())
    world.answer("ASK {}")
    began = time.monotonic()
    check = deadline(0.25)
    with pytest.raises(DeadlineExceeded, match="too late"):
        world.answer(WORST[name], check=check)
    took = time.monotonic() - began
    assert 0.25 <= took < 0.75
    assert check.calls >= 3  # every 50 ms
    world.pool.tend(time.monotonic())
    assert not world.processes()
    assert world.pool.statistics().killed == 1
    assert world.answer("ASK { :n0 :p 'value 0' }", CSV) == b"true"
    assert world.pool.statistics().deaths == 0


def test_too_much_memory(make):
    """Only the process ends; the sender is told the limit."""
    world = make(ring(), memory_bytes=48 << 20)
    text = "SELECT (GROUP_CONCAT(CONCAT(STR(?o0), STR(?o1))) AS ?x) { ?s0 :p ?o0 . ?s1 ?q ?o1 . ?s2 :r ?o2 }"
    for _ in range(2):
        with pytest.raises(RequestError, match=r"more than 50331648 bytes.*limits.query_bytes") as found:
            world.answer(text, check=deadline(20))
        assert found.value.code == "query_failed"
        assert world.answer("ASK {}", CSV) == b"true"
    assert world.pool.statistics().deaths == 2
    numbers = " ".join(map(str, range(40)))
    some = f"SELECT DISTINCT ?x ?y ?z {{ VALUES ?x {{ {numbers} }} VALUES ?y {{ {numbers} }} VALUES ?z {{ {numbers} }} }}"
    assert len(world.values(some)) == 40**3  # what fits is not refused
    assert world.pool.statistics().deaths == 2


def test_a_stack_that_overflows(make, capfd):
    """The process dies by a signal, and says nothing on our stderr."""
    world = make()
    deep = "SELECT * { " + "{" * 100_000 + "}" * 100_000 + " }"
    with pytest.raises(RequestError, match=r"SIGSEGV|SIGABRT"):
        world.answer(deep, check=deadline(20))
    assert world.answer("ASK {}", CSV) == b"true"
    assert world.pool.statistics().deaths == 1
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGKILL, signal.SIGABRT])
def test_a_process_that_dies_at_work(make, number):
    """Is told of by the signal's name."""
    world = make(ring())
    world.answer("ASK {}")
    (pid,) = world.processes()
    timer = threading.Timer(0.1, os.kill, (pid, number))
    timer.start()
    with pytest.raises(RequestError, match=rf"the query made the engine fail.*{number.name}"):
        world.answer(WORST["count"], check=deadline(20))
    timer.join()
    assert world.answer("ASK {}", CSV) == b"true"
    assert (world.pool.statistics().deaths, world.pool.statistics().killed) == (1, 0)


def test_a_process_that_dies_at_rest(make):
    """Is nobody's failure: another takes its place."""
    world = make()
    world.answer("ASK {}")
    (pid,) = world.processes()
    os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert world.answer("ASK {}", CSV) == b"true"
    assert world.pool.statistics().deaths == 1
    assert pid not in world.processes()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_what_the_group_is_told(make, number):
    """Ctrl-C and a service manager's stop reach the whole group: a process finishes its answer all the same."""
    world = make()
    world.answer("ASK {}")
    (pid,) = world.processes()
    os.kill(pid, number)
    assert world.answer("ASK {}", CSV) == b"true"
    assert world.processes() == {pid}


class Abandoned(Exception):
    """Nobody wants the rest."""


def rows(size):
    """A query with so many rows squared."""
    numbers = " ".join(map(str, range(size)))
    return f"SELECT * {{ VALUES ?x {{ {numbers} }} VALUES ?y {{ {numbers} }} VALUES ?z {{ {numbers} }} }}"


def test_abandoned_in_the_middle(world):
    """What the sink raises is raised, and the process is gone."""

    class Sink(File):
        def write(self, data):
            if super().write(data) and self.tell() > 1_000_000:
                raise Abandoned
            return len(data)

    began = time.monotonic()
    with pytest.raises(Abandoned):
        world.pool.answer(question(rows(1000)), lambda _: CSV, Sink(), wanted)
    assert time.monotonic() - began < 5
    world.pool.tend(time.monotonic())
    assert not world.processes()
    assert world.pool.statistics().killed == 1
    assert world.answer("ASK {}", CSV) == b"true"


def test_a_slow_sink(make):
    """Holds the process up by its socket, and no memory fills; its time goes on."""
    world = make(count=1)
    taken = []

    class Sink(File):
        def write(self, data):
            taken.append(len(data))
            time.sleep(0.05)
            return len(data)

    check = deadline(0.5)
    began = time.monotonic()
    with pytest.raises(DeadlineExceeded):
        world.pool.answer(question(rows(1000)), lambda _: CSV, Sink(), check)
    assert 0.5 <= time.monotonic() - began < 1
    assert sum(taken) < 2_000_000
    world.pool.tend(time.monotonic())
    assert not world.processes()


def test_a_deadline_while_the_lock_is_held(memory):
    """Whoever waits for a copy is free when its time is up, and nothing is left."""
    world = memory()
    with world.quiet, pytest.raises(DeadlineExceeded):
        world.answer("ASK {}", check=deadline(0.1))
    assert world.pool.statistics().forks == 0
    assert world.answer("ASK {}", CSV) == b"true"


def test_a_deadline_while_the_files_are_opened(tmp_path):
    """The same for the other kind: here its interpreter starts."""
    before = children()
    world = World(tmp_path / "store", [])
    with pytest.raises(DeadlineExceeded):
        world.answer("ASK {}", check=deadline(0))
    assert world.pool.statistics().killed == 1
    assert world.answer("ASK {}", CSV) == b"true"
    world.pool.close()
    assert children() == before


def test_files_that_are_not_there(tmp_path):
    """An error of the system, and told at once; when they are there, they are opened."""
    import pyoxigraph

    world = World(tmp_path / "store", [])
    world.source._path = tmp_path / "other"
    with pytest.raises(OSError, match="No such file"):
        world.answer("ASK {}")
    store = pyoxigraph.Store(str(tmp_path / "other"))
    assert world.answer("ASK {}", CSV) == b"true"
    assert world.pool.statistics().forks == 1
    world.pool.close()
    del store


def test_a_panic(memory, monkeypatch):
    """What no query may raise is ours, and the process is replaced."""
    from triplewire.broker.errors import EngineError
    from triplewire.broker.readers import child

    class Panic(BaseException):
        pass

    def panics(_):
        raise Panic("at the disco")

    world = memory()
    monkeypatch.setattr(child, "_form", panics)
    with pytest.raises(EngineError, match="Panic: at the disco"):
        world.answer("ASK {}")
    monkeypatch.undo()
    assert world.answer("ASK {}", CSV) == b"true"
    assert world.pool.statistics().deaths == 1
