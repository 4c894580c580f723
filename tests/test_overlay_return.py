"""A broker that keeps a stream of an overlay, killed, and back after longer than others are asked for of themselves."""

from __future__ import annotations

import contextlib
import itertools
import struct
import time

import httpx
import pytest
from support.running import RunningBroker
from support.running_relay import RunningRelay
from support.running_tracker import RunningTracker

from triplewire.broker.wire.gap_items import missing_of
from triplewire.broker.wire.item_reader import ItemReader
from triplewire.clients.streams import StreamPublisher, new_item

QUICK = ("--set", "relay.backfill_s=0.5", "--set", "relay.linger_s=30")


def until(condition, timeout_s=25):
    end = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end, "it does not come"
        time.sleep(0.02)


def kept(broker):
    """The bodies of what the broker keeps, in order, with markers as what is missing."""
    url = f"{broker.streams}/news/long-polling"
    answer = httpx.get(url, params={"last-seen": "none"}, timeout=10)
    items = [item for item in ItemReader().feed(answer.content) if item.command is None]
    return [missing_of(item) or item.body.decode() for item in items]


class Scene:
    """A tracker, two relays, and a broker that keeps the stream; `publish` is at the first relay."""

    def __init__(self, stack, folder, *settings):
        self._stack = stack
        self._settings = settings
        self._data = folder / "data"
        self.tracker = RunningTracker.start("--set", "tracker.collect_s=0")
        stack.callback(self.tracker.stop)
        self.relays = [self.relay(name) for name in ("r1", "r2")]
        self.broker = None
        self._publisher = stack.enter_context(StreamPublisher(f"{self.relays[0].streams}/news"))

    def relay(self, name):
        found = RunningRelay.start("--tracker", self.tracker.http, *QUICK, *self._settings, "--node", name)
        self._stack.callback(lambda: found.process.poll() is None and found.stop())
        return found

    def start(self):
        overlay = (f"relay.trackers={self.tracker.http}", "relay.port=0", "relay.node=broker")
        stream = ("streams.news.overlay=true", "streams.news.keep=true", "streams.news.store_graph=urn:news")
        given = [part for setting in (*overlay, *stream) for part in ("--set", setting)]
        self.broker = RunningBroker.start(
            "--data", str(self._data), *given, *QUICK, *self._settings, memory=False
        )
        self._stack.callback(lambda broker: broker.process.poll() is None and broker.stop(), self.broker)

    def publish(self, text):
        self._publisher.publish(new_item("urn:test", "text/plain", text.encode()))

    def met(self):
        """The broker has what is published from now on."""
        for number in itertools.count():
            assert number < 200
            self.publish(f"hello{number}")
            with contextlib.suppress(httpx.HTTPError):
                if kept(self.broker):
                    break
            time.sleep(0.1)

    def die(self):
        """Without a goodbye, once the places are in their file."""
        places, count = self._data / "streams" / "news.places", len(kept(self.broker))
        until(lambda: places.exists() and struct.unpack_from("<4sQ", places.read_bytes())[1] == count)
        self.broker.process.kill()
        self.broker.stop()


@pytest.fixture
def scene_of(tmp_path):
    with contextlib.ExitStack() as stack:
        yield lambda *settings: Scene(stack, tmp_path, *settings)


def test_a_broker_that_was_away(scene_of):
    """It has what others keep, though that is older than relay.backfill_s; what nobody keeps any more it tells."""
    scene = scene_of("--set", "relay.kept_s=10", "--set", "relay.gap_tries=2")
    scene.start()
    scene.met()
    scene.publish("before")
    until(lambda: "before" in kept(scene.broker))
    scene.die()
    texts = [f"meanwhile{number}" for number in range(50)]
    for text in texts:
        scene.publish(text)
    time.sleep(1.0)  # longer than relay.backfill_s, and so they come by their places only
    scene.start()
    until(lambda: texts[-1] in kept(scene.broker))
    found = kept(scene.broker)
    assert found[found.index("before") :] == ["before", *texts]
    scene.die()
    for number in range(20):
        scene.publish(f"lost{number}")
    time.sleep(9.5)  # with the start of the broker longer than relay.kept_s
    scene.start()
    until(
        lambda: "lost19" in kept(scene.broker)
    )  # the last one stays longer, and proves that there were others
    marker = kept(scene.broker)[-2]
    assert marker.last - marker.first == 18
    scene.publish("after")
    until(lambda: "after" in kept(scene.broker))
    assert kept(scene.broker) == [*found, marker, "lost19", "after"]
    assert len({*found}) == len(found)
