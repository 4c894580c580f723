"""Sixteen real nodes and a real tracker, over real sockets."""

from __future__ import annotations

import asyncio
import random

import httpx
import pytest
from support.overlay import STREAM, Overlay, items, neighbours_of, tracker, until


async def publish(overlay, name, some, together=3, apart_s=0.0):
    """Publish at one node, so many items at a time."""
    await overlay.nodes[name].ready(STREAM)
    for start in range(0, len(some), together):
        await overlay.nodes[name].publish(STREAM, some[start : start + together])
        await asyncio.sleep(apart_s)


async def all_have(overlay, sent, within_s=30.0):
    """Each node has the items of all other nodes, each chain in order, each item once."""
    ids = {name: [item.event_id for item in some] for name, some in sent.items()}
    for name in overlay.nodes:
        sink = overlay.sinks[name]
        others = [one for one in ids if one != name]
        whole = sum(len(ids[one]) for one in others)
        await until(
            lambda: len(sink.ids) >= whole,  # noqa: B023
            within_s,
            lambda: f"{name} of {whole}: {overlay.received()}, {overlay.sinks[name].gaps}",  # noqa: B023
        )
        for one in others:
            assert [each for each in sink.ids if each.startswith(one)] == ids[one]
        assert len(sink.ids) == whole
        assert not sink.gaps


def duplicates(overlay):
    """Copies that were not needed, by item and node."""
    counted = [node.counted for node in overlay.nodes.values()]
    published = sum(one.published_items for one in counted)
    return sum(one.duplicate_items for one in counted) / published / len(counted)


async def test_each_item_is_everywhere_once_and_in_order():
    """Two publishers: nothing is missing, nothing comes twice; and each node drops d - 2 + 2/N copies of an item."""
    async with tracker(improve_s=100.0) as url, Overlay(url) as overlay:
        await overlay.grow(16)
        sent = {name: items(300, name) for name in ("n00", "n07")}
        await asyncio.gather(*(publish(overlay, name, some) for name, some in sent.items()))
        await all_have(overlay, sent)
        assert set(overlay.degrees().values()) == {4}
        assert duplicates(overlay) == pytest.approx(2 + 2 / 16, abs=0.1)


async def test_a_publisher_sends_the_same_whoever_follows():
    """Bytes of parcels out of the publisher are as many with 16 nodes as with five, whose overlay is complete."""
    sent = {}
    for count in (5, 16):
        async with tracker(improve_s=100.0) as url, Overlay(url) as overlay:
            await overlay.grow(count)
            some = items(200, "n00")
            await publish(overlay, "n00", some, together=1, apart_s=0.006)
            await all_have(overlay, {"n00": some})
            sent[count] = overlay.nodes["n00"].counted.data_out_bytes / 200
    assert sent[16] == pytest.approx(sent[5], rel=0.01)


async def test_one_is_killed_and_nobody_else_misses_anything():
    """While items are under way; and the others have four neighbours again soon after."""
    async with tracker() as url, Overlay(url) as overlay:
        await overlay.grow(16)
        some = items(300, "n00")
        publishing = asyncio.create_task(publish(overlay, "n00", some, apart_s=0.01))
        await until(lambda: len(overlay.sinks["n05"].ids) > 60)
        await overlay.lose("n09")
        await publishing
        await all_have(overlay, {"n00": some})
        await overlay.linked(within_s=5)


async def test_what_links_lose_is_filled_in():
    """One send in a hundred is lost, and two nodes are killed meanwhile: nobody misses an item."""
    async with tracker() as url, Overlay(url, lost=0.01) as overlay:
        await overlay.grow(16)
        sent = {name: items(300, name) for name in ("n00", "n03")}
        publishing = [
            asyncio.create_task(publish(overlay, name, some, together=1, apart_s=0.006))
            for name, some in sent.items()
        ]
        for name in ("n15", "n11"):
            await asyncio.sleep(0.5)
            await overlay.lose(name)
        await asyncio.gather(*publishing)
        await all_have(overlay, sent)


async def test_even_a_third_of_all_sends_may_be_lost():
    """Then copies of an item are missing at many nodes, and all of them are had from neighbours, who are asked again."""
    async with tracker() as url, Overlay(url, lost=0.35, gap_tries=15) as overlay:
        await overlay.grow(8)
        some = items(300, "n00")
        await publish(overlay, "n00", some, together=1, apart_s=0.002)
        await all_have(overlay, {"n00": some}, 60)
        assert sum(node.counted.wants for node in overlay.nodes.values()) > 0
        assert sum(node.counted.resent for node in overlay.nodes.values()) > 0


async def test_a_last_item_that_is_lost_comes_all_the_same():
    """Nothing follows it: neighbours say what they have when it has been quiet for a moment."""
    async with tracker() as url, Overlay(url) as overlay:
        await overlay.grow(5)
        some = items(20, "n00")
        await publish(overlay, "n00", some[:19])
        await until(lambda: len(overlay.sinks["n04"].ids) == 19)
        for name in ("n00", "n01", "n02", "n03"):
            overlay.networks[name].silent.add("n04")
        await publish(overlay, "n00", some[19:])
        await until(lambda: len(overlay.sinks["n03"].ids) == 20)
        for network in overlay.networks.values():
            network.silent.clear()
        await all_have(overlay, {"n00": some}, 5)


async def test_who_does_not_follow_hears_nothing():
    """No byte of a stream comes to a node that carries it and has nobody who follows; nor to one that left it."""
    async with tracker() as url, Overlay(url, linger_s=0.5) as overlay:
        await overlay.grow(5)
        idle = await overlay.add("idle", follows=False)
        await publish(overlay, "n00", items(50, "n00"))
        await until(lambda: len(overlay.sinks["n04"].ids) == 50)
        assert idle.counted.data_in_bytes == idle.counted.control_in_bytes == 0
        assert idle.health()["links"] == 0
        async with httpx.AsyncClient() as http:
            said = (await http.get(f"{url}/topology/{STREAM}")).json()
            assert sorted(said["nodes"]) == [f"n{number:02d}" for number in range(5)]
            overlay.nodes["n04"].follow(STREAM, 0)
            await until(lambda: overlay.nodes["n04"].health()["members"] == 0, 3)
            await until(lambda: not neighbours_of(overlay.nodes["n04"]), 3)
            await until(lambda: overlay.nodes["n04"].health()["links"] == 0, 8)
            before = overlay.nodes["n04"].counted.data_in_bytes
            await publish(overlay, "n00", items(50, "n00"))
            await until(lambda: len(overlay.sinks["n03"].ids) == 100)
            assert overlay.nodes["n04"].counted.data_in_bytes == before
            said = (await http.get(f"{url}/topology/{STREAM}")).json()
            assert sorted(said["nodes"]) == ["n00", "n01", "n02", "n03"]


async def test_a_newcomer_has_what_was_published_just_before():
    """And one who was away for a while has what it missed, once and in order."""
    async with tracker() as url, Overlay(url, linger_s=0.2) as overlay:
        await overlay.grow(5)
        some = items(60, "n00")
        await publish(overlay, "n00", some[:20])
        await until(lambda: len(overlay.sinks["n04"].ids) == 20)
        overlay.nodes["n04"].follow(STREAM, 0)
        await until(lambda: overlay.nodes["n04"].health()["members"] == 0, 5)
        await overlay.add("late")
        await publish(overlay, "n00", some[20:40])
        overlay.nodes["n04"].follow(STREAM, 1)
        await overlay.linked()
        await publish(overlay, "n00", some[40:])
        await all_have(overlay, {"n00": some}, 10)


async def test_a_lone_publisher_is_heard_by_who_comes_later():
    """There is no neighbour when it publishes: what it sent is kept for the first that comes."""
    async with tracker() as url, Overlay(url) as overlay:
        await overlay.add("n00")
        some = items(30, "n00")
        await publish(overlay, "n00", some)
        await overlay.add("n01")
        await all_have(overlay, {"n00": some}, 10)


async def test_the_tracker_may_go_and_come_back():
    """Streams go on without it, and a new one, which knows nothing, keeps the links that there are."""
    random.seed(1)
    async with Overlay() as overlay:
        async with tracker() as url:
            port = int(url.rpartition(":")[2])
            overlay.trackers = (url,)
            await overlay.grow(12)
            some = items(90, "n00")
            await publish(overlay, "n00", some[:30])
        before = {name: set(neighbours_of(node)) for name, node in overlay.nodes.items()}
        await publish(overlay, "n00", some[30:60])
        await all_have(overlay, {"n00": some[:60]}, 10)
        assert {name: set(neighbours_of(node)) for name, node in overlay.nodes.items()} == before
        async with tracker(port=port, collect_s=4.0, improve_s=100.0) as url, httpx.AsyncClient() as http:

            async def known():
                nodes = (await http.get(f"{url}/topology/{STREAM}")).json().get("nodes", {})
                return len(nodes) == 12 and all(len(node["neighbours"]) == 4 for node in nodes.values())

            for _ in range(200):
                if await known():
                    break
                await asyncio.sleep(0.1)
            assert await known()
            await asyncio.sleep(0.5)
            after = {name: set(neighbours_of(node)) for name, node in overlay.nodes.items()}
            kept = sum(len(before[name] & after[name]) for name in before)
            assert kept >= 0.95 * sum(map(len, before.values()))
            await overlay.add("late")
            await overlay.linked()
            await publish(overlay, "n00", some[60:])
            await until(
                lambda: all(count >= 90 for name, count in overlay.received().items() if name != "n00")
            )
