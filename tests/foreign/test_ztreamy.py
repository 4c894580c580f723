"""Ztreamy's published clients, unmodified, against the stream port: what they send is taken, what they get they understand.

They need Python 2.7, and pycurl built for it (`curl-config`, of libcurl's development package).  Skipped where there is
neither.  TRIPLEWIRE_ZTREAMY_PYTHON may name an interpreter that has them already.
"""

from __future__ import annotations

import os
import shutil
import socket
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import httpx
import psutil
import pytest
from foreign.foreigner import Foreigner
from foreign.installs import HERE, environment, install, python2, run
from support.running import RunningBroker

from triplewire.broker.errors import ConnectionLost
from triplewire.broker.wire.items import Item
from triplewire.clients.streams import StreamConsumer, StreamPublisher

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.foreign, pytest.mark.xdist_group("ztreamy"), pytest.mark.timeout(300)]

PACKAGES = ("ztreamy==0.5", "tornado==4.5.3", "pycurl==7.43.0.5", "requests<2.28", "rdflib-jsonld<0.6")
GIVEN = "TRIPLEWIRE_ZTREAMY_PYTHON"
BODY = '<urn:ñ> <urn:p> "a\n\nb" .\n'


@pytest.fixture(scope="module")
def command() -> tuple[list[str], dict[str, str]]:
    """What starts the driver, and its environment."""
    driver = str(HERE / "ztreamy_driver.py")
    if given := os.environ.get(GIVEN):
        return [given, driver], environment()
    python = str(python2())
    if "PYCURL_CURL_CONFIG" not in os.environ and shutil.which("curl-config") is None:
        pytest.skip("pycurl can't be built here: there is no curl-config (libcurl's development package)")

    def make(place: Path) -> None:
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        run([*pip, "--target", str(place), *PACKAGES])

    place = install("ztreamy", " ".join(PACKAGES), make)
    start = f"import sys; sys.path.insert(0, {str(place)!r}); execfile({driver!r})"
    return [python, "-c", start], environment()


@pytest.fixture
def ztreamy(command: tuple[list[str], dict[str, str]]) -> Iterator[Foreigner]:
    """Ztreamy in a process of its own."""
    foreigner = Foreigner(*command)
    yield foreigner
    foreigner.close()


@contextmanager
def serving(*settings: str, data: Path | None = None, port: int = 0) -> Iterator[tuple[RunningBroker, str]]:
    """A broker, and the URL of its stream."""
    arguments = [each for setting in settings for each in ("--set", setting)]
    arguments += ["--stream-port", str(port)] + (["--data", str(data)] if data is not None else [])
    broker = RunningBroker.start(*arguments, memory=data is None)
    try:
        yield broker, f"{broker.streams}/events"
        assert "Traceback" not in broker.log, broker.log[-3000:]
    finally:
        broker.stop()


def free_port() -> int:
    """One that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def item(number: object, **more: Any) -> Item:
    """An item of ours."""
    return Item(f"e{number}", "src-1", more.pop("syntax", "text/turtle"), BODY.encode(), **more)


def theirs(number: object, **more: Any) -> dict[str, Any]:
    """An item that Ztreamy is to publish."""
    return {"id": f"e{number}", "source": "src-1", "body": BODY, **more}


def ids(ztreamy: Foreigner, name: str, count: int) -> list[str]:
    """Those of the next items that one of its clients is given."""
    return [ztreamy.event(name, "item")["id"] for _ in range(count)]


@pytest.mark.parametrize("kind", ["async", "client"])
@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("path", ["stream", "compressed", "priority"])
def test_its_consumers_get_every_item(ztreamy: Foreigner, path: str, plain: bool, kind: str) -> None:
    """Whole, in order, before and after others have joined; with signs of life, commands and headers in between."""
    window = [f"streams.events.{name}=0.1" for name in ("window_s", "window_most_s")]
    with serving(*window, "stream.silence_s=0.4") as (broker, url), StreamPublisher(url) as publisher:
        ztreamy.do("follow", name="one", url=f"{url}/{path}", kind=kind, disable_compression=plain)
        await_consumers(broker, 1)
        extra = {
            "event_type": "T",
            "headers": (("X-Foo", "bar:baz"),),
            "timestamp": "2026-01-01T00:00:00Z",
        }
        publisher.publish(item(0, **extra))
        heard = ztreamy.event("one", "item")
        assert (heard["id"], heard["source"], heard["type"], heard["body"]) == ("e0", "src-1", "T", BODY)
        assert heard["more"] == {"X-Foo": "bar:baz"}
        assert len(heard["aggregators"]) == 1
        ztreamy.do("follow", name="two", url=f"{url}/{path}", kind=kind, disable_compression=plain)
        await_consumers(broker, 2)
        wait_for_a_sign_of_life()
        for number in range(1, 200):  # 40 KB: the window of deflate, so that the two converge
            publisher.publish(item(number))
        expected = [f"e{number}" for number in range(1, 200)]
        assert ids(ztreamy, "one", 199) == ids(ztreamy, "two", 199) == expected
        assert ztreamy.seen("one", "error") == 0
        ztreamy.do("stop", name="one")


@pytest.mark.parametrize("syntax", ["text/n3", "application/json", "application/ld+json", "text/plain"])
def test_bodies_that_it_reads_itself(ztreamy: Foreigner, syntax: str) -> None:
    """What it parses on its own is what was published."""
    body = b'{"@id": "urn:a", "urn:p": "1"}' if "json" in syntax else b'<urn:a> <urn:p> "1" .'
    with serving() as (broker, url), StreamPublisher(url) as publisher:
        ztreamy.do("follow", name="one", url=f"{url}/stream", kind="async")
        await_consumers(broker, 1)
        publisher.publish(Item("e1", "src-1", syntax, body))
        heard = ztreamy.event("one", "item")
        assert heard["syntax"] == syntax
        assert "urn:a" in heard["body"]


def test_its_long_polls(ztreamy: Foreigner) -> None:
    """Held until something comes; then what came after the item that was seen."""
    with serving() as (_, url), StreamPublisher(url) as publisher:
        publisher.publish(item(1), item(2))
        polled = ztreamy.do("poll", url=f"{url}/long-polling", last_seen="e1")
        assert [each["id"] for each in polled] == ["e2"]
        assert polled[0]["body"] == BODY
        assert [each["id"] for each in ztreamy.do("poll", url=f"{url}/long-polling", last_seen="?")] == [
            "e1",
            "e2",
        ]


def test_its_publishers(ztreamy: Foreigner) -> None:
    """One POST, a blocking one, and an endless one: all items are taken once, as they were made."""
    with serving() as (_, url), StreamConsumer(url, last_seen="none") as consumer:
        more = {"more": {"X-Foo": "ñ:1"}}
        assert ztreamy.do("publish", url=url, items=[theirs(1, type="T", **more), theirs(2)]) == 200
        assert ztreamy.do("publish_now", url=url, items=[theirs(3)]) is True
        ztreamy.do("publish_on", name="on", url=url, items=[theirs(4), theirs(5)])
        found = taken(consumer, 5)
        ztreamy.do("publish_on", name="on", url=url, items=[theirs(6)])
        found += taken(consumer, 1)
        ztreamy.do("stop", name="on")
        assert [each.event_id for each in found] == [f"e{number}" for number in range(1, 7)]
        assert {(each.source_id, each.syntax, each.body) for each in found} == {
            ("src-1", "text/turtle", BODY.encode())
        }
        assert (found[0].event_type, found[0].headers) == ("T", (("X-Foo", "ñ:1"),))
        assert ztreamy.do("publish_now", url=url, items=[theirs(7, syntax="nonsense")]) is False
        assert ztreamy.do("publish", url=f"{url}-nowhere", items=[theirs(8)]) == 404


def test_it_comes_back_after_a_restart(ztreamy: Foreigner, tmp_path: Path) -> None:
    """Where the stream is kept: with what it saw last, by itself; nothing is lost, nothing comes twice."""
    port = free_port()
    keep = ["streams.events.keep=true"]
    with serving(*keep, data=tmp_path, port=port) as (broker, url), StreamPublisher(url) as publisher:
        for name, path in {"plain": "stream", "deflate": "compressed"}.items():
            ztreamy.do(
                "follow", name=name, url=f"{url}/{path}", kind="async", disable_compression=name == "plain"
            )
        await_consumers(broker, 2)
        ztreamy.do("publish_on", name="on", url=url, items=[theirs(0)])
        publisher.publish(item(1), item(2))
        for name in ("plain", "deflate"):
            assert sorted(ids(ztreamy, name, 3)) == ["e0", "e1", "e2"]
    for number in (3, 4):
        with serving(*keep, data=tmp_path, port=port) as (broker, url), StreamPublisher(url) as publisher:
            publisher.publish(item(number))
            for name in ("plain", "deflate"):
                assert ids(ztreamy, name, 1) == [f"e{number}"]
            await_consumers(broker, 2)
            ztreamy.do("publish_on", name="on", url=url, items=[theirs(f"on{number}")])
            for name in ("plain", "deflate"):
                assert ids(ztreamy, name, 1) == [f"eon{number}"]


def test_it_comes_back_to_another_worker(ztreamy: Foreigner) -> None:
    """The one that served it is killed, again and again, while items come."""
    with serving("stream.workers=2") as (broker, url), StreamPublisher(url) as publisher:
        names = [f"follower {number}" for number in range(4)]
        for name in names:
            ztreamy.do("follow", name=name, url=f"{url}/compressed", kind="async")
        await_consumers(broker, 4)
        for number in range(3):
            until_taken(publisher, item(number))
            for name in names:
                assert ids(ztreamy, name, 1) == [f"e{number}"]
            for child in psutil.Process(broker.process.pid).children():
                if "triplewire.gates.stream.worker" in child.cmdline():
                    child.kill()
                    break


def test_its_relay(ztreamy: Foreigner) -> None:
    """Its server pulls from ours, and passes on what ours had; ours follows its server in turn."""
    port = free_port()
    with serving() as (broker, url), StreamPublisher(url) as publisher:
        ztreamy.do("relay", name="relay", url=f"{url}/priority", port=port)
        await_consumers(broker, 1)
        relayed = f"http://127.0.0.1:{port}/relay"
        further = ["streams.events.kind=relay", f"streams.events.url={relayed}"]
        publisher.publish(item(1))
        with serving(*further) as (_, last), StreamConsumer(last, last_seen="none") as consumer:
            publisher.publish(item(2))
            (found,) = taken(consumer, 1, lambda each: each.event_id == "e2")
            assert found.body == BODY.encode()
            assert len(found.aggregator_ids) == 3


def until_taken(publisher: StreamPublisher, each: Item) -> None:
    """Publish it, also where nobody listens for the moment."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            publisher.publish(each)
        except ConnectionLost:
            time.sleep(0.1)
        else:
            return
    raise AssertionError("nobody takes it")


def taken(consumer: StreamConsumer, count: int, wanted: Any = lambda _: True) -> list[Item]:
    """The next items that are wanted."""
    found: list[Item] = []
    for each in consumer:
        found += [each] if wanted(each) else []
        if len(found) == count:
            consumer.done()
            return found
    raise AssertionError(found)


def await_consumers(broker: RunningBroker, count: int) -> None:
    """Until so many follow."""
    deadline = time.monotonic() + 20
    while (now := httpx.get(f"{broker.http}/health").json()["streams"]["consumers"]) != count:
        assert time.monotonic() < deadline, now
        time.sleep(0.02)


def wait_for_a_sign_of_life() -> None:
    """A stream that is silent says so."""
    time.sleep(0.6)
