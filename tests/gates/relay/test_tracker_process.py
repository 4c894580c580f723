"""`triplewire tracker` as a process of its own, over real sockets."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from contextlib import asynccontextmanager

import httpx
import pytest
from support.certificates import LocalAuthority
from support.running_tracker import RunningTracker
from support.simulated_nodes import a_status

from triplewire.gates.relay.statuses import Instructions, StatusLimits

NOW = ("--set", "tracker.collect_s=0")


@pytest.fixture(scope="module")
def running():
    """One for the tests of this module."""
    found = RunningTracker.start(*NOW, "--set", "tracker.silent_s=3.5", "--set", "tracker.gone_s=0.3")
    yield found
    assert found.stop() == 0


@pytest.fixture
def tracker(running):
    """The same, without nodes at the end."""
    yield running
    with httpx.Client(base_url=running.http, timeout=10) as http:
        for stream in http.get("/topology").json()["streams"].values():
            for node in stream["nodes"]:
                url = f"/nodes/{node}?instance="
                assert 204 in {http.delete(url + instance).status_code for instance in ("i", "another")}


@asynccontextmanager
async def client(at):
    async with httpx.AsyncClient(base_url=at, timeout=10) as http:
        yield http


async def put(http, status):
    answer = await http.put(f"/nodes/{status.node}", content=status.encode())
    assert answer.status_code == 200, answer.text
    return Instructions.read(answer.content, StatusLimits())


async def put_soon(http, status):
    """When the tracker has noticed that the process before is gone."""
    async with asyncio.timeout(5):
        while (await http.put(f"/nodes/{status.node}", content=status.encode())).status_code == 409:
            pass
    return await put(http, status)


@asynccontextmanager
async def listening(http, node, instance="i"):
    """The events of a node's instructions."""
    async with http.stream("GET", f"/nodes/{node}/instructions", params={"instance": instance}) as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")

        async def events():
            async for line in answer.aiter_lines():
                if line.startswith("data: "):
                    yield Instructions.read(line.removeprefix("data: "), StatusLimits())

        yield events()


async def test_a_nodes_neighbours_are_told_as_they_change(tracker):
    """Within a moment, on a stream that stays open."""
    async with client(tracker.http) as http:
        await put(http, a_status("a"))
        async with listening(http, "a") as events:
            async with asyncio.timeout(10):
                assert (await anext(events)).streams["S"].neighbours == ()
                await put(http, a_status("b"))
                (neighbour,) = (await anext(events)).streams["S"].neighbours
            assert (neighbour.node, neighbour.links_at) == ("b", "ws://b.example:8002/links")


async def test_a_node_whose_process_ends_is_gone_soon(tracker):
    """Long before it would be missed for its silence; and its name is free."""
    async with client(tracker.http) as http:
        await put(http, a_status("a"))
        await put(http, a_status("b"))
        async with client(tracker.http) as other, listening(other, "b") as events:
            await anext(events)
            answer = await http.put("/nodes/b", content=a_status("b", "another").encode())
            assert answer.json()["error"] == "node_in_use"
        told = await put_soon(http, a_status("b", "another"))
        assert [neighbour.node for neighbour in told.streams["S"].neighbours] == ["a"]
        async with client(tracker.http) as other, listening(other, "b", "another") as events:
            await anext(events)
        async with asyncio.timeout(3.0), listening(http, "a") as events:
            async for told in events:  # "b" was seen to be gone, and "a" is told
                if not told.streams["S"].neighbours:
                    break


async def test_a_node_that_falls_silent_is_gone(tracker):
    """After silent_s, though its stream of instructions is open; that ends, too."""
    async with client(tracker.http) as http:
        await put(http, a_status("a"))
        async with listening(http, "a") as events:
            async with asyncio.timeout(10):
                async for _ in events:
                    pass
        assert (await http.get("/topology/S")).status_code == 404


async def test_a_crowd_over_real_sockets(tracker):
    """Each is told what the tracker shows, and consumers are sent to them."""
    async with client(tracker.http) as http:
        await asyncio.gather(*(put(http, a_status(f"n{number}")) for number in range(40)))
        shown = (await http.get("/topology/S")).json()["nodes"]
        assert {len(node["neighbours"]) for node in shown.values()} == {4}
        answers = await asyncio.gather(*(put(http, a_status(f"n{number}")) for number in range(40)))
        for number, answer in enumerate(answers):
            told = {neighbour.node for neighbour in answer.streams["S"].neighbours}
            assert told == set(shown[f"n{number}"]["neighbours"])
        answer = await http.get("/consume/S/stream?last-seen=x")
        assert answer.status_code == 307
        assert re.fullmatch(r"http://n\d+\.example:8001/S/stream\?last-seen=x", answer.headers["location"])
        assert "triplewire_tracker_nodes 40.0" in (await http.get("/metrics")).text


async def test_what_is_no_http_and_what_is_too_large(tracker):
    """Is answered and closed; the tracker goes on."""
    host, port = tracker.http.removeprefix("http://").split(":")
    for request in (b"nonsense\r\n\r\n", b"PUT /nodes/a HTTP/1.1\r\nHost: t\r\nContent-Length: x\r\n\r\n"):
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(request)
        async with asyncio.timeout(10):
            answer = await reader.read()
        assert b" 400 " in answer.split(b"\r\n", 1)[0]
        assert json.loads(answer.split(b"\r\n\r\n", 1)[1])["status_code"] == 400
        writer.close()
        await writer.wait_closed()
    async with client(tracker.http) as http:
        answer = await http.put("/nodes/a", content=b" " * 300_000)
        assert (answer.status_code, answer.json()["error"]) == (413, "too_large")
        assert (await http.get("/health")).json()["status"] == "ok"


async def test_the_end_of_a_tracker_ends_its_streams():
    """At once and with 0, and they end as answers should."""
    running = RunningTracker.start(*NOW)
    async with client(running.http) as http:
        await put(http, a_status("a"))
        async with listening(http, "a") as events:
            await anext(events)
            stopping = asyncio.create_task(asyncio.to_thread(running.stop))
            async with asyncio.timeout(10):
                async for _ in events:
                    pass
            assert await stopping == 0


async def test_its_key_is_kept(tmp_path):
    """With --data; nodes have to learn nothing new when it is back."""
    keys = []
    for _ in range(2):
        running = RunningTracker.start("--data", str(tmp_path))
        try:
            async with client(running.http) as http:
                keys.append((await http.get("/keys")).json())
            assert f"key        in {tmp_path}" in running.lines
        finally:
            assert running.stop() == 0
    assert keys[0] == keys[1]


def test_over_tls(tmp_path):
    """With tls.certificate the port speaks nothing else."""
    authority = LocalAuthority(tmp_path)
    certificate = ["--set", f"tls.certificate={authority.certificate}", "--set", f"tls.key={authority.key}"]
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "triplewire.clients", "tracker", "--port", "0", *certificate],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        lines = []
        while not lines or lines[-1] != "ready\n":
            lines.append(process.stdout.readline())
            assert lines[-1], "it ended"
        url = re.search(r"https://\S+", "".join(lines)).group()
        assert httpx.get(f"{url}health", verify=authority.context(), timeout=10).status_code == 200
        with pytest.raises(httpx.HTTPError):
            httpx.get(f"http{url.removeprefix('https')}health", timeout=10)
    finally:
        process.terminate()
        assert process.wait(15) == 0
        process.stdout.close()
