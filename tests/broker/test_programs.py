"""What programs that run until they are told to stop have in common."""

from __future__ import annotations

import asyncio
import logging
import os
import resource
import signal

import pytest
import uvloop

from triplewire.broker import programs
from triplewire.broker.config import LogConfig


def test_they_end_when_they_are_told(capsys):
    """By either signal; SIGHUP has them read files again."""

    async def work(number):
        stop, read = programs.told_to_stop(), asyncio.Event()
        programs.announce(["here", "ready"], read.set)
        os.kill(os.getpid(), signal.SIGHUP)
        await asyncio.wait_for(read.wait(), 5)
        assert not stop.is_set()
        os.kill(os.getpid(), number)
        await asyncio.wait_for(stop.wait(), 5)
        assert isinstance(asyncio.get_running_loop(), uvloop.Loop)

    for number in (signal.SIGTERM, signal.SIGINT):
        programs.run(work(number))
        assert capsys.readouterr().out == "here\nready\n"


@pytest.fixture
def as_before():
    """Limits and loggers of this process are others' too."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    levels = {name: logging.getLogger(name).level for name in ("uvicorn", "httpx", "httpcore", "urllib3")}
    yield limits
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)


def test_they_may_have_many_files_open(as_before):
    """As many as the system allows; and other libraries are quiet."""
    hard = as_before[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(1000, hard), hard))
    programs.prepare(LogConfig())
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == (hard, hard)
    assert logging.getLogger("httpx").level == logging.WARNING
