"""Consumers of a real overlay: a real tracker sends them to real relays, which die, and so does the tracker."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from support.running_relay import RunningRelay
from support.running_tracker import RunningTracker

from triplewire.clients.streams import Item, StreamConsumer, StreamPublisher, StreamSettings

QUICK = StreamSettings(backoff_first_s=0.05, backoff_longest_s=0.5, tracker_s=2.0)
PUBLISHERS = ("left", "right")


def until(reached, timeout_s=30.0):
    deadline = time.monotonic() + timeout_s
    while not reached():
        assert time.monotonic() < deadline, "it was not reached in time"
        time.sleep(0.01)


class Publishing:
    """An item of each publisher now and then, each at a relay of its own; `numbers` is how many each has published."""

    def __init__(self, relays):
        self.numbers = dict.fromkeys(PUBLISHERS, 0)
        self._stopped = threading.Event()
        self._threads = [
            threading.Thread(target=self._run, args=pair) for pair in zip(PUBLISHERS, relays, strict=True)
        ]

    def _run(self, name, relay):
        with StreamPublisher(f"{relay.streams}/news") as publisher:
            while not self._stopped.wait(0.01):
                number = self.numbers[name]
                publisher.publish(Item(f"{name}-{number}", name, "text/plain", b"%d" % number))
                self.numbers[name] = number + 1

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        self._stopped.set()
        for thread in self._threads:
            thread.join(20)


class Followed:
    """A consumer on a thread, and what it gave and told."""

    def __init__(self, url):
        self.items, self.gaps, self.lost = [], [], []
        self._consumer = StreamConsumer(
            url, settings=QUICK, on_gap=self.gaps.append, on_disconnect=self.lost.append
        )
        self._thread = threading.Thread(target=lambda: self.items.extend(self._consumer))
        self._thread.start()

    def close(self):
        self._consumer.close()
        self._thread.join(10)

    def of(self, name):
        """The numbers of this publisher's items, as they came."""
        return [int(item.body) for item in tuple(self.items) if item.source_id == name]


@pytest.fixture
def tracker():
    running = RunningTracker.start("--set", "tracker.collect_s=0")
    yield running
    running.stop()


@pytest.fixture
def relays_of(tracker):
    """Starts relays of these names, at a time."""
    started = {}

    def start(nodes):
        def one(node):
            return RunningRelay.start("--tracker", tracker.http, "--node", node)

        with ThreadPoolExecutor() as pool:
            started.update(zip(nodes, pool.map(one, nodes), strict=True))
        return started

    yield start
    for relay in started.values():
        relay.kill()


def test_relays_and_the_tracker_die_and_nothing_is_lost(tracker, relays_of):
    """Each item once, and in its publisher's order, at each consumer."""
    relays = relays_of("abcd")
    url = f"{tracker.http}/consume/news"
    others = "avoid=a&avoid=b"  # where the publishers are, so that the consumers are at the others
    with Publishing([relays["a"], relays["b"]]) as publishing:
        until(lambda: all(publishing.numbers.values()))
        followed = [Followed(f"{url}/{way}?{others}") for way in ("compressed", "stream", "priority")]
        try:
            until(lambda: all(one.of("left") and one.of("right") for one in followed))
            time.sleep(1.5)  # the consumers know more than the moment in which they began
            relays["c"].kill()
            relays["d"].kill()
            until(lambda: all(one.lost for one in followed))
            seen = dict(publishing.numbers)
            until(lambda: all(one.of(name)[-1] > seen[name] for one in followed for name in PUBLISHERS))
            tracker.process.kill()
            time.sleep(1.0)
            publishing.stop()
            until(
                lambda: all(
                    one.of(name)[-1] == publishing.numbers[name] - 1
                    for one in followed
                    for name in PUBLISHERS
                )
            )
        finally:
            for one in followed:
                one.close()
    for one in followed:
        for name in PUBLISHERS:
            numbers = one.of(name)
            assert numbers == list(range(numbers[0], publishing.numbers[name]))
        assert one.gaps == []


def test_the_only_relay_starts_again(tracker, relays_of):
    """Under its name, which its consumers avoid by then: the tracker has no other, so they come back to it."""
    relays = relays_of("a")
    followed = Followed(f"{tracker.http}/consume/news")
    try:
        until(lambda: any(n["consumers"] for n in _nodes(f"{tracker.http}/topology/news").values()))
        with StreamPublisher(f"{relays['a'].streams}/news") as publisher:
            publisher.publish(Item("e1", "s", "text/plain"))
        until(lambda: followed.items)
        relays["a"].kill()
        until(lambda: followed.lost)
        with StreamPublisher(f"{relays_of('a')['a'].streams}/news") as publisher:
            publisher.publish(Item("e2", "s", "text/plain"))
        until(lambda: len(followed.items) == 2)
    finally:
        followed.close()
    assert [item.event_id for item in followed.items] == ["e1", "e2"]


def test_the_command_line_goes_where_the_tracker_sends_it(tracker, relays_of):
    """To a relay that nobody followed before, also."""
    relays = relays_of("a")
    command = [sys.executable, "-m", "triplewire.clients", "consume", "--format", "bodies", "--count", "3"]
    consume = subprocess.Popen([*command, f"{tracker.http}/consume/news"], stdout=subprocess.PIPE)
    try:
        members = f"{tracker.http}/topology/news"
        until(lambda: any(n["consumers"] for n in _nodes(members).values()))
        with StreamPublisher(f"{relays['a'].streams}/news") as publisher:
            publisher.publish(*(Item(f"e{n}", "s", "text/plain", b"%d" % n) for n in range(3)))
        out, _ = consume.communicate(timeout=30)
    finally:
        consume.kill()
        consume.wait()
    assert out == b"0\n1\n2\n"


def _nodes(url):
    answer = httpx.get(url)
    return answer.json().get("nodes", {}) if answer.status_code == 200 else {}
