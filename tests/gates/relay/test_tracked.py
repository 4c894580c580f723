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


async def test_a_stream_goes_where_the_registry_says_now(monkeypatch):
    """Its list of trackers has changed, and the one where it is may stand in it no more; links stay while others follow."""
    monkeypatch.setattr(tracked, "_BACK_S", 0.3)
    monkeypatch.setattr(tracked, "_STAYS_S", 0.3)
    registered = []

    async def trackers_of(_, stream):
        return list(registered) if stream == STREAM else []

    monkeypatch.setattr(TrackerTalk, "trackers_of", trackers_of)
    async with tracker() as home, tracker() as second, tracker() as third, Overlay(home) as overlay:
        await overlay.grow(3)
        names = sorted(overlay.nodes)
        neighbours = {name: set(neighbours_of(node)) for name, node in overlay.nodes.items()}
        before = home
        for there, listed in (
            (second, [second, third]),
            (third, [third, second]),
            (second, [NOBODY, second]),
        ):
            registered[:] = listed
            await until_nodes(there, names)
            await until_nodes(before, [])
            before = there
        registered.clear()
        await until_nodes(home, names)
        await until_nodes(second, [])
        assert {name: set(neighbours_of(node)) for name, node in overlay.nodes.items()} == neighbours
        await overlay.nodes["n00"].ready(STREAM)
        await overlay.nodes["n00"].publish(STREAM, items(1))
        await until(lambda: len(overlay.sinks["n02"].ids) == 1)


async def test_a_list_that_can_not_be_read_is_the_one_before(monkeypatch):
    """The registry may be away; nobody changes to another overlay for that."""
    monkeypatch.setattr(tracked, "_BACK_S", 0.1)
    asked = []
    async with tracker() as home, tracker() as other:

        async def trackers_of(_, stream):
            asked.append(stream)
            if len(asked) > 1:
                raise ProtocolError("503")
            return [other]

        monkeypatch.setattr(TrackerTalk, "trackers_of", trackers_of)
        talk, _, _ = tracked_by(home)
        talk.start()
        talk.join("special")
        await until_in(other, "special")
        await until(lambda: len(asked) > 5)
        assert talk._at == {"special": other}
        await talk.close()


async def test_a_tracker_without_a_registry_takes_back_nothing(monkeypatch):
    """A node that goes to it, as the one with the registry is dead, stays with its streams where they are."""
    monkeypatch.setattr(tracked, "_DEAD_S", 0.3)
    monkeypatch.setattr(tracked, "_BACK_S", 0.3)
    asked = []
    async with tracker() as second, tracker() as other:
        async with tracker() as first:

            async def trackers_of(talk, _):
                asked.append(talk.url)
                return [other] if talk.url == first else []

            monkeypatch.setattr(TrackerTalk, "trackers_of", trackers_of)
            talk, _, _ = tracked_by(first, second)
            talk.start()
            talk.join("special")
            await until_in(other, "special")
        await until(lambda: asked.count(second) > 3)
        assert talk._at == {"special": other}
        await talk.close()


async def test_who_does_not_answer_is_not_asked_about_each_stream(monkeypatch):
    """It would take so long that nobody went back to a tracker that answers."""
    asked = []

    async def trackers_of(_, stream):
        asked.append(stream)
        return []

    monkeypatch.setattr(TrackerTalk, "trackers_of", trackers_of)
    talk, _, _ = tracked_by(NOBODY)
    talk.start()
    for number in range(20):
        talk.join(f"s{number}")
    await until(lambda: len(talk._orders) == 20)
    asked.clear()
    await talk._go_back()
    assert not asked
    await talk.close()


async def test_a_tracker_of_two_urls_is_told_by_one_of_them(monkeypatch):
    """The registry calls it otherwise than the settings do: over a second talk it would be told what the first one takes back."""
    async with tracker(heartbeat_s=0.5) as url:
        alias = url.replace("127.0.0.1", "localhost")

        async def trackers_of(*_):
            return [f"{alias}/"]

        monkeypatch.setattr(TrackerTalk, "trackers_of", trackers_of)
        talk, counted, told = tracked_by(url)
        talk.start()
        talk.join(STREAM)
        await until(lambda: alias in talk._talks)
        await until(lambda: len(told.told) > 3)
        await until_nodes(url, ["a"])
        assert talk._at == {STREAM: url}
        assert not talk._talks[alias].running
        assert not counted.instructions_ignored
        # By one who is talked with by accident it is not told
        talk._move(STREAM, alias)
        await until(lambda: talk._at == {STREAM: url})
        assert talk._talks[alias].answering_since is None
        await talk.close()
        async with httpx.AsyncClient() as http:
            figures = (await http.get(f"{url}/metrics")).text
        assert "triplewire_tracker_joins_total 1.0" in figures


async def test_a_tracker_that_is_at_another_url_now_is_told_there(monkeypatch, tmp_path):
    """It has its key with it; where it was before, it answers no more."""
    monkeypatch.setattr(tracked, "_BACK_S", 0.3)
    registered = []

    async def trackers_of(*_):
        return list(registered)

    monkeypatch.setattr(TrackerTalk, "trackers_of", trackers_of)
    async with tracker() as home:
        async with tracker(data=str(tmp_path)) as first:
            registered.append(first)
            talk, _, _ = tracked_by(home)
            talk.start()
            talk.join(STREAM)
            await until_nodes(first, ["a"])
        async with tracker(data=str(tmp_path)) as second:
            registered[:] = [second]
            await until_nodes(second, ["a"])
            assert talk.keys.same(second) == [first]
            await talk.close()


async def test_what_one_stream_is_told_does_not_depend_on_another_one(caplog):
    """A failure of ours is logged, and those behind it have their instructions."""
    talk, _, told = tracked_by("http://a")
    fine = told.instructed

    def fails(stream, *more):
        if stream == "one":
            raise KeyError("a bug")
        fine(stream, *more)

    told.instructed = fails
    talk._at |= dict.fromkeys(("one", "two"), "http://a")
    streams = {"one": StreamInstructions(1), "two": StreamInstructions(2)}
    talk.instructed("http://a", Instructions("e", 3.0, streams), None)
    assert [stream for stream, _, _ in told.told] == ["two"]
    assert "a bug" in caplog.text
    await talk.close()


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


async def test_the_keys_of_the_dead_are_not_waited_for(monkeypatch):
    """Each time would cost as long as a request may take, and all that newcomers say waits for it."""
    monkeypatch.setattr(tracked, "_KEYS_S", 0.0)
    monkeypatch.setattr(tracker_talk, "_TIMEOUT_S", 1.0)

    async def serve(reader, writer):
        with suppress(ConnectionError):
            await reader.read()  # it answers nothing
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    dead = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with tracker() as url:
        for trackers in ((url, dead), (dead, url)):
            talk, _, _ = tracked_by(*trackers)
            talk.start()
            talk.join(STREAM)
            await until(lambda: talk._talks[url].answering_since is not None)  # noqa: B023
            await talk.learn()
            took_s = []
            for _ in range(3):
                began = time.monotonic()
                await talk.learn()
                took_s.append(time.monotonic() - began)
            assert max(took_s) < 0.9, trackers
            await talk.close()
    server.close()


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
