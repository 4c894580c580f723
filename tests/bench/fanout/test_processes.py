"""Processes beside this one: what they use is seen, what they say is read, and what does not start says why."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import psutil
import pytest
from bench.fanout.processes import Program, cpu_s, ended, family, free_port, resident_kb, started


@pytest.fixture
def busy():
    """A process that counts."""
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as process:
        yield process
        process.kill()


def test_another_s_processor_time_is_seen(busy):
    """As the kernel's own figures have it, but finer than their 10 ms."""
    time.sleep(0.3)
    before, ticks, after = cpu_s([busy.pid]), sum(psutil.Process(busy.pid).cpu_times()[:2]), cpu_s([busy.pid])
    assert before - 0.021 <= ticks <= after + 0.021  # two figures of 10 ms
    assert after > 0


def test_memory_is_what_is_held():
    program = "held = bytearray(20 << 20); print('held', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        process.stdout.readline()
        held = resident_kb([process.pid])
        process.stdin.write(b"\n")
    assert 20_480 < held < 60_000


def test_a_family_is_a_process_and_its_children():
    program = "import subprocess, sys; subprocess.run(['sleep', '5'])"
    with subprocess.Popen([sys.executable, "-c", program]) as process:
        until = time.monotonic() + 5
        while len(pids := family(process.pid)) < 2 and time.monotonic() < until:
            time.sleep(0.02)
        for pid in reversed(pids):
            psutil.Process(pid).kill()
    assert len(pids) == 2


def test_a_program_that_ends_is_told():
    program = Program("publisher", sink="no such sink", host="127.0.0.1", port=1, path="", rate=1, seed=1)
    with pytest.raises(RuntimeError, match="publisher ended"):
        program.answer(10)
    program.stop()


def test_a_program_that_says_nothing_is_not_waited_for():
    plan = {"host": "127.0.0.1", "port": free_port(), "protocol": "http", "path": "/", "source": "127.0.0.2"}
    program = Program("generator", **plan, consumers=1, rate=1000, join_s=1)
    answer = program.answer(10)
    assert answer["joined"] == 0
    assert "refused" in json.dumps(answer["refused"]).lower()
    with pytest.raises(TimeoutError):
        program.answer(0.1)
    program.stop()


def test_a_server_that_does_not_start_says_why(tmp_path):
    command = [sys.executable, "-c", "print('no room'); raise SystemExit(3)"]
    with pytest.raises(RuntimeError, match="no room"):
        started(command, free_port(), log=tmp_path / "log")


def test_a_server_is_there_when_it_listens(tmp_path):
    port = free_port()
    process = started(
        [sys.executable, "-m", "http.server", str(port), "-b", "127.0.0.1"], port, log=tmp_path / "log"
    )
    assert process.poll() is None
    ended(process)
    assert process.poll() is not None
