"""What the programs that run until they are told to stop have in common: broker, relay and tracker."""

from __future__ import annotations

import asyncio
import logging
import resource
import signal
from typing import TYPE_CHECKING, Any

from .logs import configure

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable

    from .config import LogConfig

# Their lines tell what ours tell already, request by request.
_TALKATIVE = ("uvicorn", "httpx", "httpcore", "urllib3")


def prepare(log: LogConfig) -> None:
    """Configure logging, and allow as many open files as the system does."""
    configure(log.level, log.format)
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(logging.WARNING)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def run(work: Coroutine[Any, Any, None]) -> None:
    """Do it on a fast event loop, where there is one."""
    with asyncio.Runner(loop_factory=_event_loop()) as runner:
        runner.run(work)


def told_to_stop() -> asyncio.Event:
    """What is set by SIGTERM or SIGINT, on the running event loop."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    return stop


def announce(lines: Iterable[str], reread: Callable[[], None]) -> None:
    """It answers: say where on standard output; from now on SIGHUP has files read again."""
    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, reread)
    for line in lines:
        print(line, flush=True)  # noqa: T201 - the start's own protocol


def _event_loop() -> Any:
    try:
        import uvloop  # noqa: PLC0415 - not on every platform
    except ImportError:
        return None
    return uvloop.new_event_loop
