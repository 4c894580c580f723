"""A copy of this process has nothing of its maker's but a socket."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pyoxigraph
import pytest
from support.readers import Answering, children, deadline, quad, wanted

from triplewire.broker.errors import DeadlineExceeded, StoreError
from triplewire.broker.journal.snapshot_writer import write_draft
from triplewire.broker.readers.forking import how, run_forked


@pytest.fixture(autouse=True)
def nothing_left():
    """No test leaves a process."""
    before = children()
    yield
    assert children() == before


def copy(job, check=wanted):
    return run_forked(threading.Lock(), job, check)


def test_work_in_a_copy():
    """Sees what is here, changes nothing here, and gives back its bytes."""
    store = pyoxigraph.Store()
    store.add(quad("a", "1"))

    def job():
        store.clear()
        return f"{len(store)} {os.getpid()}".encode()

    length, pid = copy(job).split()
    assert (length, len(store)) == (b"0", 1)
    assert int(pid) != os.getpid()


def test_a_large_result():
    """More than a socket holds."""
    assert copy(lambda: b"x" * 10_000_000) == b"x" * 10_000_000


def test_work_that_fails():
    """Its message is told."""

    def job():
        raise ValueError("no luck")

    with pytest.raises(StoreError, match="ValueError: no luck"):
        copy(job)
    with pytest.raises(StoreError, match="SystemExit: 3"):
        copy(lambda: sys.exit(3))


def test_work_that_dies():
    """By a signal or by itself."""
    with pytest.raises(StoreError, match="SIGKILL"):
        copy(lambda: os.kill(os.getpid(), signal.SIGKILL))
    with pytest.raises(StoreError, match="exit status 7"):
        copy(lambda: os._exit(7))


def test_work_that_is_given_up():
    """Is ended at once; so is waiting for the lock."""
    began = time.monotonic()
    with pytest.raises(DeadlineExceeded):
        copy(lambda: time.sleep(100), deadline(0.2))
    quiet = threading.Lock()
    with quiet, pytest.raises(DeadlineExceeded):
        run_forked(quiet, lambda: b"", deadline(0.1))
    assert time.monotonic() - began < 1


def test_a_snapshot_by_a_copy(tmp_path):
    """What it is for."""
    store = pyoxigraph.Store()
    store.extend([quad(f"n{n}", str(n)) for n in range(1000)])
    copy(lambda: str(write_draft(tmp_path, store, 5).path).encode())
    assert list(tmp_path.rglob("*.gz"))


def test_descriptors():
    """None of the sockets and files that are open here, and nothing to read or to say."""
    ours, other = socket.socketpair()
    with ours, other, Path(__file__).open("rb"):
        os.set_inheritable(ours.fileno(), True)

        def job():
            links = {int(link.name): link for link in Path("/proc/self/fd").iterdir()}
            return repr((sorted(links), {fd: str(links[fd].readlink()) for fd in range(4)})).encode()

        fds, names = eval(copy(job))
    assert fds[:4] == [0, 1, 2, 3] and len(fds) == 5  # the last is the folder that is read
    assert [names[fd] for fd in range(3)] == ["/dev/null"] * 3
    assert names[3].startswith("socket:")


def test_a_reader_has_one_socket(make):
    """Of either kind, the second too: it does not hold the first one's."""
    world = make()
    busy = [Answering(world), Answering(world)]
    for pid in world.processes():
        links = [str(link.readlink()) for link in Path(f"/proc/{pid}/fd").iterdir()]
        assert sum(link.startswith("socket:") for link in links) == 1
        assert not any(link.startswith("pipe:") for link in links)
    for one in busy:
        one.join()


def test_signals():
    """Handlers of ours are gone, what tells the group is ignored, nothing is blocked, no core is dumped."""
    import resource

    previous = signal.signal(signal.SIGUSR1, lambda *_: None)
    try:

        def job():
            handlers = [signal.getsignal(n) for n in (signal.SIGUSR1, signal.SIGTERM, signal.SIGINT)]
            mask = signal.pthread_sigmask(signal.SIG_BLOCK, [])
            return repr(
                (list(map(int, handlers)), len(mask), resource.getrlimit(resource.RLIMIT_CORE)[0])
            ).encode()

        handlers, blocked, core = eval(copy(job))
    finally:
        signal.signal(signal.SIGUSR1, previous)
    assert handlers == [signal.SIG_DFL, signal.SIG_IGN, signal.SIG_IGN]
    assert blocked == 0
    assert core <= 1


SCRIPT = """
import pathlib, sys, threading, time
sys.path.insert(0, {tests!r})
from support.readers import WORST, World, ring
world = World({path}, ring())
def ask():
    world.answer("ASK {{}}")
    print(*world.processes(), flush=True)
    world.answer(WORST["count"])
threading.Thread(target=ask, daemon=True).start()
time.sleep(60)
"""


def test_a_broker_that_is_killed_leaves_nothing(kind, tmp_path):
    """Its processes end with it, in the middle of a query too."""
    path = f"pathlib.Path({str(tmp_path / 'store')!r})" if kind == "disk" else "None"
    script = SCRIPT.format(tests=str(Path(__file__).parents[2]), path=path)
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as broker:
        (pid,) = map(int, broker.stdout.readline().split())
        time.sleep(0.2)
        assert is_running(pid)
        broker.kill()
    until = time.monotonic() + 5
    while is_running(pid) and time.monotonic() < until:
        time.sleep(0.01)
    assert not is_running(pid)


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_how_in_words():
    """A signal by its name, a status by its number."""
    assert how(-9) == "SIGKILL"
    assert how(-200) == "signal 200"
    assert how(1) == "exit status 1"
    assert how(None) == "it does not end"
