"""`triplewire relay`, put together: streams, links and pages of one process among others, with a real tracker."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import fields

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from support.streams import until

from triplewire.broker import relaying, tracker
from triplewire.broker.config import Config, StreamConfig, load
from triplewire.broker.errors import BrokerRefused, ConfigError
from triplewire.broker.overlay_config import RelayConfig
from triplewire.clients.streams import AsyncStreamConsumer, AsyncStreamPublisher, new_item
from triplewire.gates.relay.counted import Counted
from triplewire.gates.relay.figures import FIGURES
from triplewire.gates.stream.history import History


@pytest.fixture
async def tracked():
    """A tracker's URL."""
    config = load(environment={}, overrides=["tracker.port=0", "tracker.collect_s=0"])
    async with tracker.running(config) as running:
        yield running.url


@pytest.fixture
async def relay_of(tracked):
    """Makes relays of the stream `news`, which end in the end; the last first."""
    async with contextlib.AsyncExitStack() as stack:

        async def make(node, *overrides):
            settings = [f"relay.trackers={tracked}", f"relay.node={node}", "streams.news.overlay=true"]
            ports = ["relay.port=0", "stream.port=0"]
            config = load(environment={}, overrides=[*settings, *ports, *overrides])
            return await stack.enter_async_context(relaying.running(config))

        yield make


def news(relay):
    return f"http://{relay.places.stream}/news"


def pages(relay):
    return "http" + relay.places.links.removeprefix("ws").removesuffix("/links")


def item(text):
    return new_item("urn:test", "text/plain", text.encode())


@contextlib.asynccontextmanager
async def followed(url, **options):
    """The bodies that come at a stream, from now on."""
    got = []

    async def follow():
        async with AsyncStreamConsumer(url, **options) as consumer:
            async for each in consumer:
                got.append(each.body.decode())  # noqa: PERF401 - it never ends

    task = asyncio.create_task(follow())
    try:
        yield got
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def met(url, *gots):
    """Publish until all have an item, and forget what they have."""
    async with AsyncStreamPublisher(url) as publisher:
        async with asyncio.timeout(10):
            while not all(gots):
                await publisher.publish(item("hello"))
                await asyncio.sleep(0.05)
        end = item("end")
        await publisher.publish(end)
        await until(lambda: all(got[-1] == "end" for got in gots))
        for got in gots:
            got.clear()


async def test_relays_have_one_stream(relay_of):
    """What is published at one comes to consumers of all, once and in its order."""
    one, two, three = [await relay_of(name) for name in ("r1", "r2", "r3")]
    assert (one.node, one.streams) == ("r1", ["news"])
    async with followed(news(one)) as here, followed(news(two)) as there, followed(news(three)) as beyond:
        await met(news(one), here, there, beyond)
        async with AsyncStreamPublisher(news(one)) as first, AsyncStreamPublisher(news(three)) as second:
            for number in range(20):
                await first.publish(item(f"a{number}"))
                await second.publish(item(f"b{number}"), item(f"c{number}"))
        await until(lambda: len(here) == len(there) == len(beyond) == 60)
    for got in (here, there, beyond):
        assert [each for each in got if each[0] == "a"] == [f"a{number}" for number in range(20)]
        assert [each for each in got if each[0] != "a"] == [
            f"{kind}{number}" for number in range(20) for kind in "bc"
        ]


async def test_what_a_relay_tells(relay_of):
    """Its state, every figure in it with Prometheus' own manners, and where it is."""
    one, two = await relay_of("r1"), await relay_of("r2")
    async with followed(news(two)) as got, httpx.AsyncClient() as client:
        await met(news(one), got)
        health = (await client.get(f"{pages(two)}/health")).json()
        assert health["status"] == "ok"
        assert (health["relay"]["node"], health["relay"]["links"], health["streams"]["consumers"]) == (
            "r2",
            1,
            1,
        )
        assert health["streams"]["of"]["news"]["followers"] == 1
        assert health["streams"]["of"]["news"]["came"] == health["streams"]["taken"] > 0
        assert {field.name for field in fields(Counted)} <= {place.partition(".")[2] for place, *_ in FIGURES}
        page = await client.get(f"{pages(two)}/metrics")
        assert page.headers["content-type"].startswith("text/plain")
        families = {family.name: family for family in text_string_to_metric_families(page.text)}
        for _, name, grows, _ in FIGURES:
            family = families[f"triplewire_{name.removesuffix('_total')}"]
            assert family.type == ("counter" if grows else "gauge")
            assert family.documentation
        assert families["triplewire_relay_items"].samples[0].value == health["streams"]["taken"]
        listed = (await client.get(f"http://{two.places.stream}/streams")).json()
        assert [each["@id"] for each in listed["dcat:dataset"]] == [news(two)]


async def test_a_relay_tells_that_it_can_not_keep_its_stream(relay_of, monkeypatch):
    """Which, and why; and a figure."""
    monkeypatch.setattr(History, "trouble", "the disk is full")
    relay = await relay_of("r1")
    async with httpx.AsyncClient() as client:
        told = (await client.get(f"{pages(relay)}/health")).json()["streams"]
        assert (told["conflicts"], told["not_kept"], told["of"]["news"]["not_kept"]) == (
            0,
            1,
            "the disk is full",
        )
        page = (await client.get(f"{pages(relay)}/metrics")).text
        assert "\ntriplewire_stream_histories_failing 1.0\n" in page


async def test_who_may_see_that_where_somebody_has_to_say_who_they_are(relay_of):
    """Anybody whether it is well; the rest is for administrators."""
    relay = await relay_of(
        "r1", "security.enabled=true", "security.provider=http://127.0.0.1:9", "security.provider_timeout_s=1"
    )
    async with httpx.AsyncClient() as client:
        assert (await client.get(f"{pages(relay)}/health")).json() == {"status": "ok"}
        refused = await client.get(f"{pages(relay)}/metrics")
        assert (refused.status_code, refused.json()["status_code"]) == (401, 401)
        assert refused.headers["www-authenticate"].startswith("Bearer")
    async with AsyncStreamPublisher(news(relay)) as publisher:
        with pytest.raises(BrokerRefused) as error:
            await publisher.publish(item("x"))
        assert error.value.status == 401


async def test_a_stream_that_is_kept_is_there_after_a_restart(tracked, tmp_path):
    """With store.data; the numbers go on."""
    overrides = [
        f"relay.trackers={tracked}",
        "relay.port=0",
        "stream.port=0",
        "streams.news.overlay=true",
        "streams.news.keep=true",
        f"store.data={tmp_path}",
    ]
    config = load(environment={}, overrides=overrides)
    for text in ("before", "after"):
        async with relaying.running(config) as relay:
            async with AsyncStreamPublisher(news(relay)) as publisher:
                await publisher.publish(item(text))
            async with httpx.AsyncClient() as client:
                asked = {"past-events-limit": "9", "non-blocking": "1"}
                kept = await client.get(f"{news(relay)}/long-polling", params=asked)
    assert b"before" in kept.content
    assert b"after" in kept.content


@pytest.mark.parametrize(
    ("config", "wrong"),
    [
        (Config(), r"relay\.trackers"),
        (Config(relay=RelayConfig(trackers=("http://x",))), "none has overlay"),
        (
            Config(
                relay=RelayConfig(trackers=("http://x",)),
                streams={"news": StreamConfig(overlay=True, store_graph="urn:g")},
            ),
            r"streams\.news\.store_graph needs a store",
        ),
    ],
)
async def test_what_can_t_be_relayed(config, wrong):
    """Says why, before anything is opened."""
    with pytest.raises(ConfigError, match=wrong):
        async with relaying.running(config):
            pytest.fail("it runs")


async def test_what_is_said_at_the_start(relay_of, tracked):
    """Each place, then `ready`."""
    relay = await relay_of("r1")
    config = Config(relay=RelayConfig(trackers=(tracked,)))
    assert relaying.announcement(config, relay) == [
        f"streams    http://{relay.places.stream}/   (news)",
        f"links      {relay.places.links}   (the node r1)",
        f"trackers   {tracked}",
        "ready",
    ]


@pytest.mark.parametrize("kept_s", [30.0, 0.2])
async def test_a_consumer_that_comes_back_misses_nothing_in_silence(relay_of, kept_s):
    """Though nobody followed there meanwhile; what is not kept any more by then is told as a gap."""
    one, two = (
        await relay_of("r1", f"relay.kept_s={kept_s}"),
        await relay_of("r2", "relay.linger_s=0.1", "relay.gap_tries=1"),
    )
    gaps = []
    async with followed(news(one)) as here, AsyncStreamPublisher(news(one)) as publisher:
        async with followed(news(two)) as there:
            await met(news(one), here, there)
            await publisher.publish(item("a0"))
            await until(lambda: there == ["a0"])
        async with asyncio.timeout(10):
            while await members(two):  # noqa: ASYNC110 - of another process, as it were
                await asyncio.sleep(0.05)
        for number in range(1, 21):
            await publisher.publish(item(f"a{number}"))
        await until(lambda: len(here) == 21)
        await asyncio.sleep(2 * kept_s if kept_s < 1 else 0)
        last_seen = await newest(two)
        async with followed(news(two), last_seen=last_seen, on_gap=gaps.append) as again:
            if kept_s > 1:
                await until(lambda: len(again) == 20, 20)
            count = 20
            while not again or again[-1][0] != "b":  # at the next item, once the relay is back
                await publisher.publish(item(f"b{count}"))
                count += 1
                await asyncio.sleep(0.1)
            await until(lambda: again[-1] == f"b{count - 1}")
    missed = sum(gap.missing.last - gap.missing.first + 1 for gap in gaps)
    assert len(again) + missed == count
    assert again == sorted(again, key=lambda text: int(text[1:]))
    assert (missed == 0) == (kept_s > 1)


async def members(relay):
    """How many streams it is in."""
    async with httpx.AsyncClient() as client:
        return (await client.get(f"{pages(relay)}/health")).json()["relay"]["members"]


async def newest(relay):
    """The id of the newest item that it keeps."""
    async with httpx.AsyncClient() as client:
        asked = {"past-events-limit": "1", "non-blocking": "1"}
        kept = (await client.get(f"{news(relay)}/long-polling", params=asked)).text
    return kept.split("Event-Id: ")[1].split("\r\n")[0]
