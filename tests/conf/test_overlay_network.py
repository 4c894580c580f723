"""`python -m triplewire.conf.overlay`: a network of relays, in one command."""

from __future__ import annotations

import asyncio
import re
import signal
import subprocess
import sys

import httpx
import pytest

from triplewire.conf.overlay.network import Arrivals, Network, shown

PROGRAM = (sys.executable, "-P", "-m", "triplewire.conf.overlay", "--port", "0")


def test_sixteen_relays_in_one_command():
    """Each item comes to all, and the tracker shows how they are linked; Ctrl-C ends it well."""
    with subprocess.Popen(PROGRAM, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            lines = [process.stdout.readline() for _ in range(4)]
            url = re.fullmatch(r"tracker +(http://\S+/)   \(the picture\)\n", lines[0])
            assert url is not None, (lines, process.poll())
            assert lines[1].startswith("relays     16; published at relay-01, which is http://127.0.0.1:")
            for number, line in enumerate(lines[2:], 1):
                assert re.fullmatch(
                    rf"item {number} +at half of the relays after .* ms, at all after .*\n", line
                )
            nodes = httpx.get(f"{url.group(1)}topology/news").json()["nodes"]
            assert {len(node["neighbours"]) for node in nodes.values()} == {4}
            assert "<html" in httpx.get(url.group(1)).text
        finally:
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=30)
    assert (process.returncode, errors) == (0, "")


async def test_so_many_items_and_an_end(capsys):
    """With any number of relays, one among them."""
    for relays in (1, 3):
        assert await shown(Network(relays, 2, 0), items=2, pause_s=0.0) == 0
        said = capsys.readouterr().out.splitlines()
        assert [line.split(" ")[0] for line in said] == ["tracker", "relays", "item", "item"]


async def test_an_item_that_does_not_come_is_told(capsys, monkeypatch):
    """By the exit code, too."""

    async def never(*_):
        await asyncio.sleep(0)
        raise TimeoutError

    monkeypatch.setattr(Arrivals, "everywhere", never)
    assert await shown(Network(2, 2, 0), items=2, pause_s=0.0) == 1
    assert "of 2 relays only" in capsys.readouterr().out


async def test_waiting_for_an_item_has_an_end(monkeypatch):
    """Whatever does not come."""
    monkeypatch.setattr("triplewire.conf.overlay.network.PATIENCE_S", 0.01)
    with pytest.raises(TimeoutError):
        await Arrivals().everywhere("e1", 1)
