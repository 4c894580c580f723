"""Consumers that a tracker sends to relays, over real sockets: relays and trackers die, and nothing is lost."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import threading
import time
from contextlib import suppress

import httpx
import pytest
from support.fake_stream import FakeStream
from support.fake_tracker import FakeTracker
from support.lone_stream import LoneStream

from triplewire.broker.errors import BrokerRefused
from triplewire.broker.wire.item_reader import ItemReader
from triplewire.broker.wire.items import Item, encode_item
from triplewire.clients.streams import AsyncStreamConsumer, StreamConsumer, StreamPublisher, StreamSettings

QUICK = StreamSettings(backoff_first_s=0.01, backoff_longest_s=0.1, tracker_s=1.0, retry_after_max_s=0.1)


def until(reached, timeout_s=20.0):
    deadline = time.monotonic() + timeout_s
    while not reached():
        assert time.monotonic() < deadline, "it was not reached in time"
        time.sleep(0.005)


class Overlay:
    """Two publishers, whose items all relays get, each at its own moment: no two relays have one order."""

    def __init__(self, relays):
        self.relays = list(relays)
        self.published = 0
        self._http = httpx.Client()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._http.close()

    def publish(self, rounds=1):
        """An item of each publisher, so many times; where it came from has it first, the others get it later."""
        for _ in range(rounds):
            number = self.published
            items = [
                Item(f"{name}-{number}", name, "text/plain", b"%d" % number) for name in ("left", "right")
            ]
            for place, relay in enumerate(self.relays):
                self._post(relay, items if place % 2 else items[::-1])
            self.published += 1

    def _post(self, relay, items):
        for item in items:
            answer = self._http.post(
                f"{relay.url}/publish",
                content=encode_item(item),
                headers={"Content-Type": "application/ztreamy-event"},
            )
            assert answer.status_code == 200

    def orders(self):
        """The ids of all that each relay has, as it has them."""
        found = []
        for relay in self.relays:
            answer = self._http.get(f"{relay.url}/long-polling?last-seen=none")
            found.append([item.event_id for item in ItemReader().feed(answer.content)])
        return found


class Followed:
    """A consumer of either kind on a thread, and what it gave and told."""

    def __init__(self, kind, *urls, settings=QUICK, **options):
        self.items, self.gaps, self.lost, self.error = [], [], [], None
        self._consumer = StreamConsumer if kind == "blocking" else AsyncStreamConsumer
        self._made = self._consumer(
            *urls, settings=settings, on_gap=self.gaps.append, on_disconnect=self.lost.append, **options
        )
        self._loop = self._stop = None
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self):
        try:
            if self._consumer is StreamConsumer:
                for item in self._made:
                    self.items.append(item)
            else:
                asyncio.run(self._follow())
        except BrokerRefused as error:
            self.error = error

    async def _follow(self):
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        following = asyncio.ensure_future(self._each())
        stopping = asyncio.ensure_future(self._stop.wait())
        await asyncio.wait([following, stopping], return_when=asyncio.FIRST_COMPLETED)
        await self._made.close()
        stopping.cancel()
        await following

    async def _each(self):
        async for item in self._made:
            self.items.append(item)

    def close(self):
        if self._consumer is StreamConsumer:
            self._made.close()
        elif self._thread.is_alive():
            until(lambda: self._stop is not None or not self._thread.is_alive())
            with suppress(RuntimeError):  # it may have ended by now
                self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)
        assert not self._thread.is_alive()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    @property
    def ids(self):
        return [item.event_id for item in self.items]

    def of(self, source):
        """The numbers of one publisher's items, in the order in which they came."""
        return [int(item.body) for item in self.items if item.source_id == source]


@pytest.fixture(params=["blocking", "asyncio"])
def kind(request):
    return request.param


def test_relays_that_are_killed_lose_nothing(kind):
    """Each item once, and in its publisher's order, though no two relays agree; the dead one is avoided."""
    with LoneStream() as one, LoneStream() as two, LoneStream() as three:
        relays = {"one": one, "two": two, "three": three}
        with (
            FakeTracker({name: relay.base for name, relay in relays.items()}) as tracker,
            Overlay(relays.values()) as overlay,
            Followed(kind, tracker.url) as followed,
        ):
            until(lambda: overlay.publish() or followed.items)
            began = followed.of("left")[0]
            overlay.publish(12)
            until(lambda: len(followed.of("left")) > 8)
            assert overlay.orders()[0] != overlay.orders()[1]
            one.kill()
            overlay.relays.remove(one)
            overlay.publish(12)
            until(lambda: len(followed.of("right")) > 20)
            two.kill()
            overlay.relays.remove(two)
            overlay.publish(12)
            last = overlay.published - 1
            until(lambda: {f"left-{last}", f"right-{last}"} <= set(followed.ids))

    for source in ("left", "right"):
        numbers = followed.of(source)
        # Of the moment in which it began the other publisher's item may have been before it.
        assert numbers == list(range(numbers[0], last + 1))
        assert numbers[0] in {began, began + 1}
    assert followed.gaps == []
    assert len(followed.lost) == 2
    assert "avoid" not in tracker.asked[0]
    assert {asked["avoid"] for asked in tracker.asked if "avoid" in asked} >= {"one", "two"}


def test_items_that_a_dead_relay_alone_had(kind):
    """Nothing is lost but what no other has, and nothing comes again."""
    with LoneStream() as one, LoneStream() as two:
        with (
            FakeTracker({"one": one.base, "two": two.base}) as tracker,
            Overlay([one, two]) as overlay,
            Followed(kind, tracker.url) as followed,
            StreamPublisher(one.url) as alone,
        ):
            until(lambda: overlay.publish() or followed.items)
            overlay.publish(10)
            alone.publish(Item("alone", "alone", "text/plain", b"1"))
            until(lambda: "alone" in followed.ids)
            one.kill()
            overlay.relays.remove(one)
            overlay.publish(10)
            last = overlay.published - 1
            until(lambda: {f"left-{last}", f"right-{last}"} <= set(followed.ids))

        for source in ("left", "right"):
            numbers = followed.of(source)
            assert numbers == list(range(numbers[0], last + 1))
        assert followed.gaps == []


@pytest.mark.parametrize("silence", ["closed", "silent", "busy"])
def test_a_tracker_that_does_not_answer(kind, silence):
    """The relay that it had is followed on, whether the tracker refuses connections, hangs, or has none to offer."""
    with FakeStream() as stream:
        base = stream.url.removesuffix("/events")
        with FakeTracker({"r1": base}) as tracker, Followed(kind, tracker.url) as followed:
            stream.until(lambda: stream.followers)
            stream.publish(Item("e1", "s", "text/plain"))
            until(lambda: followed.items)
            if silence == "closed":
                tracker.close()
            elif silence == "silent":
                tracker.speaks.clear()
            else:
                tracker.relays.clear()
            stream.cut()
            stream.publish(Item("e2", "s", "text/plain"), live=False)
            until(lambda: len(followed.items) == 2)
            assert followed.ids == ["e1", "e2"]
            assert "overlap=" in stream.requests[-1][1]


def test_other_trackers_are_asked(kind):
    """Where the first is dead from the beginning, and where the one that it had dies with the relay."""
    with FakeTracker() as dead, FakeStream() as stream, FakeStream() as second:
        dead.close()
        with (
            FakeTracker({"r1": stream.url.removesuffix("/events")}) as first,
            FakeTracker({"r2": second.url.removesuffix("/events")}) as other,
            Followed(kind, dead.url, first.url, other.url) as followed,
        ):
            stream.until(lambda: stream.followers)
            for each in (stream, second):
                each.publish(Item("e1", "s", "text/plain"))
            until(lambda: followed.items)
            first.close()
            stream.replies.extend([(503, {}, b"")] * 100)
            stream.cut()
            second.until(lambda: second.followers)
            second.publish(Item("e2", "s", "text/plain"))
            until(lambda: len(followed.items) == 2)
            assert followed.ids == ["e1", "e2"]


def test_a_stream_that_is_silent_for_longer_than_a_tracker_may_be(kind):
    """It is only the head that comes at once."""
    settings = StreamSettings(backoff_first_s=0.01, backoff_longest_s=0.1, tracker_s=0.3)
    with FakeStream() as stream, FakeTracker({"r1": stream.url.removesuffix("/events")}) as tracker:
        with Followed(kind, tracker.url, settings=settings) as followed:
            stream.until(lambda: stream.followers)
            time.sleep(1.0)
            stream.publish(Item("e1", "s", "text/plain"))
            until(lambda: followed.items)
        assert followed.lost == []
        assert len(stream.requests) == 1


def test_relays_that_were_slow_once(kind):
    """All of them, one after the other: then none is avoided any more, and the best is followed."""
    with FakeStream() as one, FakeStream() as two:
        relays = {name: each.url.removesuffix("/events") for name, each in (("r1", one), ("r2", two))}
        for each in (one, two):
            each.replies.append((503, {}, b""))
        with FakeTracker(relays) as tracker, Followed(kind, tracker.url) as followed:
            one.until(lambda: one.followers)
            one.publish(Item("e1", "s", "text/plain"))
            until(lambda: followed.items)
        assert [asked.get("avoid") for asked in tracker.asked] == [None, "r1", "r2", None]


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_relay_that_refuses_its_consumers(kind, status):
    """Its clock is wrong, or its permissions are old: they go to another; when all do it, that is told."""
    with FakeStream() as one, FakeStream() as two:
        relays = {name: each.url.removesuffix("/events") for name, each in (("r1", one), ("r2", two))}
        one.replies.extend([(status, {}, b"")] * 100)
        with FakeTracker(relays) as tracker:
            with Followed(kind, tracker.url, authorization=lambda: "secret") as followed:
                two.until(lambda: two.followers)
                two.publish(Item("e1", "s", "text/plain"))
                until(lambda: followed.items)
            two.replies.extend([(status, {}, b"")] * 100)
            with Followed(kind, tracker.url, authorization=lambda: "secret") as followed:
                until(lambda: followed.error)
            assert followed.error.status == status


def test_redirects_without_an_end(kind):
    """They are an error, soon."""
    with FakeTracker() as tracker:
        tracker.replies.extend((307, {"Location": f"/consume/events/stream?n={n}"}) for n in range(20))
        with Followed(kind, tracker.url) as followed:
            until(lambda: followed.error)
        assert followed.error.code == "bad_redirect"
        assert len(tracker.asked) == 6

        tracker.replies.clear()
        tracker.replies.append((308, {"Location": f"{tracker.url}/compressed"}))
        with Followed(kind, tracker.url) as followed:
            until(lambda: followed.error)
        assert "in a circle" in followed.error.description


def test_the_token_goes_where_it_may(kind):
    """From a tracker to its relay; from any other server to nobody, unless that one is trusted."""
    with FakeStream() as stream:
        base = stream.url.removesuffix("/events")
        with FakeTracker({"r1": base}) as tracker:
            for url, trusted, expected in (
                (tracker.url, (), "Bearer secret"),
                (f"{tracker.base}/events", (), None),
                (f"{tracker.base}/events", (base,), "Bearer secret"),
            ):
                if url != tracker.url:
                    tracker.replies.append((302, {"Location": f"{stream.url}/compressed"}))
                settings = StreamSettings(trusted_redirects=trusted)
                stream.requests.clear()
                with Followed(kind, url, settings=settings, authorization=lambda: "secret"):
                    stream.until(lambda: stream.requests)
                assert stream.requests[0][2].get("authorization") == expected
                assert tracker.tokens[-1] == "Bearer secret"


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl")
def test_curl_goes_where_it_is_sent():
    """As any client that follows redirects; with the overlap where it asks for one."""
    with LoneStream() as one, FakeTracker({"one": one.base}) as tracker, Overlay([one]) as overlay:
        overlay.publish(3)
        url = f"{tracker.url}/long-polling?last-seen=left-2&overlap=60&region=eu"
        said = subprocess.run(["curl", "-s", "-L", url], capture_output=True, timeout=20, check=True).stdout
    assert [item.event_id for item in ItemReader().feed(said)] == overlay_ids(3)


def overlay_ids(rounds):
    """As the first relay has them."""
    return [f"{name}-{number}" for number in range(rounds) for name in ("right", "left")]
