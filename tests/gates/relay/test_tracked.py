"""A node and several trackers, which come and go."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress

import httpx
import pytest
from support.overlay import STREAM, Overlay, items, neighbours_of, tracker, until

from triplewire.broker.errors import ProtocolError, Unauthorized
from triplewire.broker.overlay_config import RelayConfig
from triplewire.gates.relay import tracked, tracker_talk
from triplewire.gates.relay.counted import Counted
from triplewire.gates.relay.statuses import Instructions, Status, StreamInstructions, StreamStatus
from triplewire.gates.relay.tickets import TrackerKey
from triplewire.gates.relay.tracked import Tracked
from triplewire.gates.relay.tracker_talk import TrackerTalk

NOBODY = "http://127.0.0.1:9"
_IN = StreamStatus(consumers=1)


def said(node, instance, streams):
    """A status."""
    return Status(node, instance, "", "ws://127.0.0.1:1/links", "", 1, dict.fromkeys(streams, _IN))


class Told:
    """A node that remembers what it is told."""

    def __init__(self):
        self.told: list[tuple[str, str, StreamInstructions]] = []
        self.tracked: Tracked

    def status(self, streams):
        return said("a", "i", streams)

    def instructed(self, stream, epoch, instructions, _status):
        self.told.append((stream, epoch, instructions))


def tracked_by(*trackers, **settings):
    """A node's talk with these trackers; what it counts; what it was told."""
    told, counted = Told(), Counted()
    talk = Tracked("a", RelayConfig(trackers=trackers, **settings), told, counted)
    told.tracked = talk
    return talk, counted, told


async def nodes_of(url, stream=STREAM):
    """Who is in the stream, as the tracker says."""
    async with httpx.AsyncClient() as http:
        found = await http.get(f"{url}/topology/{stream}")
        return sorted(found.json()["nodes"]) if found.is_success else []


async def until_in(url, stream):
    """Wait until somebody is in a stream at a tracker."""
    deadline = time.monotonic() + 10
    while not await nodes_of(url, stream):
        assert time.monotonic() < deadline
        await asyncio.sleep(0.05)


async def until_nodes(url, expected, within_s=10.0):
    """Wait until these are in the stream at a tracker."""
    deadline = time.monotonic() + within_s
    while (found := await nodes_of(url)) != expected:
        assert time.monotonic() < deadline, f"{found}"
        await asyncio.sleep(0.05)


async def test_the_first_tracker_that_answers_is_taken():
    """A dead one at the head of the list delays a join by less than five seconds."""
    async with tracker() as url, Overlay(NOBODY, url) as overlay:
        started = time.monotonic()
        await overlay.grow(3)
        assert time.monotonic() - started < 5
        assert overlay.nodes["n00"].health()["tracker"] == url
        await overlay.nodes["n00"].ready(STREAM)


async def test_streams_go_to_the_next_tracker_and_come_back(monkeypatch):
    """When the present one falls silent, and when an earlier one answers again; links stay as they are."""
    monkeypatch.setattr(tracked, "_DEAD_S", 0.5)
    monkeypatch.setattr(tracked, "_BACK_S", 0.5)
    monkeypatch.setattr(tracked, "_STAYS_S", 1.0)
    async with tracker(improve_s=100.0) as second, Overlay() as overlay:
        async with tracker(improve_s=100.0) as first:
            port = int(first.rpartition(":")[2])
            overlay.trackers = (first, second)
            await overlay.grow(4)
            before = {name: set(neighbours_of(node)) for name, node in overlay.nodes.items()}
            assert await nodes_of(second) == []
        await until_nodes(second, ["n00", "n01", "n02", "n03"], 15)
        assert {name: set(neighbours_of(node)) for name, node in overlay.nodes.items()} == before
        opened = {name: node.counted.links_opened for name, node in overlay.nodes.items()}
        await overlay.add("n04")
        await overlay.linked()
        await overlay.nodes["n00"].ready(STREAM)
        await overlay.nodes["n00"].publish(STREAM, items(10))
        await until(lambda: len(overlay.sinks["n04"].ids) == 10)
        async with tracker(port=port, improve_s=100.0, collect_s=1.0):
            await until_nodes(first, ["n00", "n01", "n02", "n03", "n04"], 15)
            await until_nodes(second, [])
            await asyncio.sleep(1.5)
            await overlay.linked()
            await overlay.nodes["n04"].ready(STREAM)
            await overlay.nodes["n04"].publish(STREAM, items(10))
            await until(lambda: len(overlay.sinks["n00"].ids) == 10)
        for name, count in opened.items():
            assert overlay.nodes[name].counted.links_opened <= count + 1


async def test_a_stream_may_have_trackers_of_its_own(monkeypatch):
    """The registry names them, and any tracker tells; the node itself stays with its first."""
    async with tracker() as home, tracker() as other:

        async def trackers_of(_, stream):
            return [other] if stream == "special" else []

        monkeypatch.setattr(TrackerTalk, "trackers_of", trackers_of)
        talk, _, told = tracked_by(home)
        talk.start()
        talk.join("special")
        talk.join("plain")
        await until(lambda: {stream for stream, _, _ in told.told} == {"special", "plain"})
        async with httpx.AsyncClient() as http:
            for _ in range(100):
                at_home = (await http.get(f"{home}/topology/special")).status_code
                there = (await http.get(f"{other}/topology/special")).status_code
                if (at_home, there) == (404, 200):
                    break
                await asyncio.sleep(0.05)
            assert (at_home, there) == (404, 200)
            assert (await http.get(f"{home}/topology/plain")).status_code == 200
        await talk.close()


async def test_a_stream_s_trackers_are_asked_for_until_they_are_known(monkeypatch):
    """Who stays with another one for a hiccup would be in an overlay of its own."""
    asked = []
    async with tracker() as home, tracker() as other:

        async def trackers_of(_, stream):
            asked.append(stream)
            if asked.count("special") < 3:
                raise httpx.ReadTimeout("busy")
            return [other]

        monkeypatch.setattr(TrackerTalk, "trackers_of", trackers_of)
        monkeypatch.setattr(tracked, "_FIND_FIRST_S", 0.01)
        talk, _, _ = tracked_by(home)
        talk.start()
        talk.join("special")
        await until_in(other, "special")
        talk.join("left")
        talk.leave("left")
        await talk.close()
        assert asked.count("special") == 3
        assert asked.count("left") == 0


async def test_a_failure_of_ours_does_not_end_the_talk(caplog):
    """It is logged; the status is said again, and trackers are gone back to."""
    async with tracker() as url:
        talk, _, told = tracked_by(url)
        fine, told.status = told.status, lambda _: {}["a bug"]
        talk.start()
        talk.join(STREAM)
        await until(lambda: "a bug" in talk.trouble(STREAM)[0])
        told.status = fine
        await until(lambda: bool(told.told))
        assert "KeyError" in caplog.text
        await talk.close()


@pytest.mark.parametrize(
    "answer",
    [
        b"Content-Length: 9000000\r\n\r\n" + b" " * 9_000_000,
        b"Content-Type: application/json\r\n\r\n[",
        b"\r\n" + b"[" * 100_000,
    ],
)
async def test_an_answer_that_does_not_end_is_none(answer, monkeypatch):
    """It is read within bounds of bytes and of time."""
    monkeypatch.setattr(tracker_talk, "_WHOLE_S", 0.5)

    serving = []

    async def serve(reader, writer):
        serving.append(asyncio.current_task())
        with suppress(ConnectionError):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n" + answer)
            for _ in range(100 if answer.endswith(b"[") and len(answer) < 1000 else 0):
                await writer.drain()
                writer.write(b" ")
                await asyncio.sleep(0.05)
            await writer.drain()
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    talk, _, told = tracked_by(url)
    talk.start()
    talk.join(STREAM)
    await until(lambda: talk.health()["tracker_trouble"], 5)
    assert not told.told
    await talk.close()
    server.close()
    await asyncio.gather(*serving)


async def test_goodbye_is_said():
    """A node that closes is gone at once, and does not have to be missed."""
    async with tracker() as url:
        talk, _, told = tracked_by(url)
        talk.start()
        talk.join(STREAM)
        await until(lambda: told.told)
        await until_nodes(url, ["a"])
        await talk.close()
        await until_nodes(url, [], 2)


async def test_a_stream_that_is_left_is_left_at_once():
    """The next status is said at once, without the stream."""
    async with tracker() as url:
        talk, _, told = tracked_by(url)
        talk.start()
        talk.join(STREAM)
        await until(lambda: told.told)
        talk.leave(STREAM)
        await until_nodes(url, [], 2)
        await talk.close()


async def test_instructions_of_another_tracker_or_epoch_are_ignored():
    """What is said of a stream that is elsewhere, and what is of an epoch that is over."""
    talk, counted, told = tracked_by("http://a", "http://b")
    talk._at[STREAM] = "http://a"
    one = {STREAM: StreamInstructions(1)}
    talk.instructed("http://a", Instructions("e1", 3.0, one), None)
    talk.instructed("http://b", Instructions("e2", 3.0, one), None)
    assert (len(told.told), counted.instructions_ignored) == (1, 1)
    talk.instructed("http://a", Instructions("e3", 3.0, one), None)
    talk.instructed("http://a", Instructions("e1", 3.0, one), None)
    assert (len(told.told), counted.instructions_ignored) == (2, 2)
    await talk.close()


async def test_keys_are_asked_for_when_somebody_shows_a_new_one():
    """But not again and again, as anybody may show anything."""
    async with tracker() as url:
        talk, _, _ = tracked_by(NOBODY, url)
        async with httpx.AsyncClient() as http:
            jwks = (await http.get(f"{url}/keys")).json()
        stranger = TrackerKey.open(None)
        token = stranger.ticket(STREAM, "a", "b", "e", time.time() + 60)
        asked = []
        original = TrackerTalk.keys

        async def keys(self):
            asked.append(self.url)
            return await original(self)

        TrackerTalk.keys = keys
        try:
            for _ in range(5):
                with pytest.raises(Unauthorized):
                    await talk.ticket(token)
        finally:
            TrackerTalk.keys = original
        assert sorted(asked) == sorted([NOBODY, url])
        assert jwks["keys"][0]["kid"] in talk.keys._keys
        await talk.close()


async def test_a_tracker_that_talks_nonsense_is_one_that_does_not_answer():
    """Its answers are read within bounds, what is wrong is told in /health, and it is asked again."""

    async def serve(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n[]")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    talk, _, told = tracked_by(url)
    talk.start()
    talk.join(STREAM)
    await until(lambda: talk.health()["tracker_trouble"])
    assert "expected" in talk.trouble(STREAM)[0]
    assert not told.told
    with pytest.raises(ProtocolError):
        await talk._talks[url].trackers_of(STREAM)
    await talk.close()
    server.close()
    await server.wait_closed()


async def test_an_id_that_is_in_use_is_told():
    """Another process is alive under the same id: the tracker refuses, and the node says why."""
    async with tracker() as url, Overlay(url) as overlay:
        node = await overlay.add("n00")
        await until(lambda: node.counted.instructions)
        talk, _, told = tracked_by(url)
        told.status = lambda streams: said("n00", "other", streams)
        talk.start()
        talk.join(STREAM)
        await until(lambda: "409" in talk.trouble(STREAM)[0])
        assert not talk.trouble(STREAM)[1]  # it may be free in a moment
        assert not told.told
        await talk.close()
