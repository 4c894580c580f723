"""Copies of this process: made while nobody is inside the store, alone with one socket, ended with their maker.

A copy has one thread, the one that made it.  What other threads held stays as it was: so its code takes no lock that they
could have held, and leaves by `os._exit`.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import gc
import os
import resource
import signal
import socket
import sys
import threading
import time
import warnings
from typing import TYPE_CHECKING, NoReturn, Protocol

from triplewire.broker.errors import StoreError

from .wire import END, ERROR, POLL_S, Channel, ChannelClosed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from triplewire.broker.threads import FairLock

    from .question import Check

_PR_SET_PDEATHSIG = 1
_IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_SIGNALS = tuple(signal.valid_signals())
_NICE = 10  # updates and notifications come before queries
_NULL = "/dev/null"
# Looked up here: after a fork it is too late for a lock of the loader's.
_prctl = getattr(ctypes.CDLL(None), "prctl", None)
_KILL_WAIT_S = 0.1


class Process(Protocol):
    """A child of this process; `subprocess.Popen` is one."""

    pid: int

    def poll(self) -> int | None:
        """How it ended, a signal as a negative number; None where it still runs."""

    def kill(self) -> None:
        """End it; nothing where it has ended."""


class Copy:
    """A copy of this process."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._status: int | None = None
        # Nobody may reap it, and its number become another process's, while somebody else is about to kill it.
        self._lock = threading.Lock()

    def poll(self) -> int | None:
        """See `Process`."""
        with self._lock:
            return self._poll()

    def kill(self) -> None:
        """See `Process`."""
        with self._lock:
            if self._poll() is None:
                os.kill(self.pid, signal.SIGKILL)

    def _poll(self) -> int | None:
        if self._status is None:
            try:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
            except ChildProcessError:  # somebody else has reaped it
                self._status = 0
            else:
                if pid:
                    self._status = os.waitstatus_to_exitcode(status)
        return self._status


def ended(process: Process, wait_s: float = _KILL_WAIT_S) -> int | None:
    """How a process ended that is about to; None where it takes longer than `wait_s`, as with much memory it can."""
    until = time.monotonic() + wait_s
    pause = 0.0002
    while (status := process.poll()) is None and time.monotonic() < until:
        time.sleep(pause)
        pause = min(2 * pause, 0.01)
    return status


@contextlib.contextmanager
def held(lock: FairLock, check: Check) -> Iterator[None]:
    """With the lock; `check` is called while it is waited for, and may raise."""
    while not lock.acquire(timeout=POLL_S):
        check()
    try:
        yield
    finally:
        lock.release()


def fork(run: Callable[[Channel], object]) -> tuple[Copy, socket.socket]:
    """A copy of this process that does `run` and ends, and the socket to it; the caller holds `quiet`.

    The thread that calls must live as long as the copy: when it ends, the system ends the copy.

    Raises:
        StoreError: the system has no room for one.
    """
    parent = os.getpid()
    try:
        ours, its = socket.socketpair()
    except OSError as error:
        raise StoreError(f"no process can be made: {error.strerror}") from error
    try:
        pid = _fork()
    except OSError as error:
        ours.close()
        its.close()
        raise StoreError(f"no process can be made: {error.strerror}") from error
    if pid == 0:
        _be_child(parent, ours.detach(), its.detach(), run)
    its.close()
    return Copy(pid), ours


def _fork() -> int:
    if sys.version_info < (3, 12):
        return os.fork()
    with warnings.catch_warnings():
        # The warning that a copy of many threads may wait for a lock for ever: see above why not this one.
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def _be_child(parent: int, ours: int, its: int, run: Callable[[Channel], object]) -> NoReturn:
    """Never returns: whatever stands below on the stack is the parent's."""
    try:
        os.close(ours)
        gc.disable()  # what of the parent's is garbage must not be finalized here
        run(Channel(alone(its, parent)))
    except BaseException:  # noqa: BLE001, S110 - nobody is left to tell
        pass
    finally:
        os._exit(1)


def alone(fd: int, parent: int) -> socket.socket:
    """In the child: nothing of the parent's but the socket, which is given back.

    What the terminal or a service manager tells the whole group of processes is for the parent: it ends its children
    in its own time, by the socket or by SIGKILL.
    """
    die_with(parent)
    faulthandler.disable()
    for number in _SIGNALS:
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)
    for number in _IGNORED:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    end = os.dup2(fd, 3, inheritable=False) if fd != 3 else fd
    # Oxigraph writes to stderr when it panics; nobody reads what a query does.
    null = os.open(_NULL, os.O_RDWR)
    for standard in range(3):
        os.dup2(null, standard)
    os.closerange(4, _most_fds())
    _leave_no_core()
    _go_first()
    return socket.socket(fileno=end)


def die_with(parent: int) -> None:
    """Let the broker itself go first where processors are few, and end with the thread that made this process.

    Where the system can do that; at once where the thread has ended already.
    """
    os.nice(_NICE)
    if _prctl is not None:
        _prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:
        os._exit(0)


def _most_fds() -> int:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 1 << 30 if hard == resource.RLIM_INFINITY else hard


def _leave_no_core() -> None:
    """A copy of the whole store on disk helps nobody; a limit of 1 is what pipes to a collector respect too."""
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    limit = 1 if hard == resource.RLIM_INFINITY else min(1, hard)
    resource.setrlimit(resource.RLIMIT_CORE, (limit, limit))


def _go_first() -> None:
    """Where memory runs out, the system is to end this process and not the broker."""
    with contextlib.suppress(OSError):
        fd = os.open("/proc/self/oom_score_adj", os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(fd, b"1000")
        finally:
            os.close(fd)


def run_forked(quiet: FairLock, job: Callable[[], bytes], check: Check) -> bytes:
    """Do `job` in a copy of this process, made while nobody is inside the store; what it returns.

    The calling thread waits, and holds nothing that others need.  `job` must heed what child.py says of copies.

    Raises:
        StoreError: the copy could not be made, `job` raised (its message), or the copy died.
    """

    def run(channel: Channel) -> None:
        try:
            frame = (END, job())
        except BaseException as error:  # noqa: BLE001 - told to the parent, whatever it is
            frame = (ERROR, f"{type(error).__name__}: {error}".encode(errors="backslashreplace"))
        channel.send(frame)

    with held(quiet, check):
        process, end = fork(run)
    end.settimeout(POLL_S)
    channel = Channel(end)
    try:
        kind, payload = channel.receive(check)
    except ChannelClosed:
        raise StoreError(f"a process for work on the store died ({how(ended(process))})") from None
    finally:
        channel.close()
        process.kill()
        ended(process, 10 * _KILL_WAIT_S)
    if kind == ERROR:
        raise StoreError(payload.decode())
    return payload


def how(status: int | None) -> str:
    """How a process ended, in words."""
    if status is None:
        return "it does not end"
    if status >= 0:
        return f"exit status {status}"
    try:
        return signal.Signals(-status).name
    except ValueError:
        return f"signal {-status}"
