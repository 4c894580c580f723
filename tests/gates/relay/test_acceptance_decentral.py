"""Acceptance: no tracker and no node is needed for what runs already (nodes that are killed: test_acceptance_churn.py, too).

Trackers are processes of their own, killed by SIGKILL; with TRIPLEWIRE_OVERLAY=full there are as many nodes, and each thing
lasts as long, as the criterion says.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager

import httpx
from support.overlay import STREAM, Overlay, Recorder, items, tracker, until
from support.resilience import FULL, Asked, Flow, check_whole, either, kill, links_lost, links_of, soon
from support.running import RunningBroker
from support.running_tracker import RunningTracker

NODES = either(8, 32)
OTHER = "traffic"
REGISTERED = """PREFIX tw: <urn:triplewire:> PREFIX dct: <http://purl.org/dc/terms/>
INSERT DATA {{ GRAPH <urn:triplewire:registry> {{
  <urn:s:1> dct:identifier "news" ; tw:mayPublish "*" ; tw:tracker (<{0}>) .
  <urn:s:2> dct:identifier "traffic" ; tw:mayPublish "*" ; tw:tracker (<{1}>) .
}} }}"""
# A tracker that starts waits for at least one heartbeat of all nodes
SOON = either(("tracker.heartbeat_s=1", "tracker.collect_s=1.5"), ())


def a_tracker(*settings):
    # The exchanges of links for better ones are not what is looked at here
    every = ("tracker.improve_s=0", *SOON, *settings)
    return RunningTracker.start(*(part for setting in every for part in ("--set", setting)))


@asynccontextmanager
async def trackers(*settings):
    """Two of them; those that are alive at the end are ended."""
    running = await asyncio.gather(*(asyncio.to_thread(a_tracker, *settings) for _ in range(2)))
    try:
        yield running
    finally:
        await asyncio.gather(*(asyncio.to_thread(one.stop) for one in running))


@asynccontextmanager
async def a_broker():
    broker = await asyncio.to_thread(RunningBroker.start)
    try:
        yield broker
    finally:
        await asyncio.to_thread(broker.stop)


async def knows_all(asked, overlay):
    """The tracker has decided, and has the links that the nodes have."""
    return not await asked.is_collecting() and await asked.links() == links_of(overlay)


async def has_nodes(asked, stream, count):
    """The tracker has so many nodes in the stream, all of which have four neighbours."""
    return sorted(map(len, (await asked.links(stream)).values())) == [4] * count


async def has_nobody(asked, stream=STREAM):
    """The tracker has no node in the stream."""
    return not await asked.links(stream)


async def test_a_tracker_dies_and_an_empty_one_takes_its_place():
    """Nothing is lost without one, nor when one comes that knows nothing, and that one keeps the links.

    Two streams are at all nodes, with a tracker each by the registry: the other stream notices nothing.
    """
    async with (
        a_broker() as broker,
        trackers(f"tracker.registry={broker.http}") as running,
        Overlay(*(one.http for one in running), delayed=True) as overlay,
        Asked(running[0].http) as asked,
        Asked(running[1].http) as others,
    ):
        await register(broker, running)
        await overlay.grow(NODES)
        sinks = {name: Recorder() for name in overlay.nodes}
        for name, node in overlay.nodes.items():
            node.carry(OTHER, sinks[name])
            node.follow(OTHER, 1)
        await soon(lambda: has_nodes(others, OTHER, NODES), what="the other stream's tracker")
        await soon(lambda: has_nodes(asked, STREAM, NODES), what="the stream's tracker")
        await soon(lambda: has_nobody(asked, OTHER))
        await soon(lambda: has_nobody(others, STREAM))
        async with Flow(overlay, "n00", "n03") as flow, Flow(overlay, "n01", stream=OTHER) as unconcerned:
            links, others_links = links_of(overlay), await others.links(OTHER)
            changes = (await others.figures())["changes_total"]
            port = kill(running[0])
            await asyncio.sleep(either(3.5, 60.0))  # it counts as dead after 2.5 s
            assert links_of(overlay) == links
            running[0] = await asyncio.to_thread(
                a_tracker, f"tracker.port={port}", f"tracker.registry={broker.http}"
            )
            took_s = await soon(lambda: knows_all(asked, overlay), 20, "the tracker does not know its nodes")
            lost = links_lost(links, links_of(overlay))
            print(f"{lost} of {sum(map(len, links.values())) // 2} links lost, known after {took_s:.1f} s")
            assert lost <= 0.05 * sum(map(len, links.values())) / 2
            await overlay.add("late")
            await overlay.linked(within_s=5)
            await asyncio.sleep(0.5)
            await flow.stop()
            await unconcerned.stop()
            await flow.all_have(late={"late"})
        for name, sink in sinks.items():
            if name != "n01":
                await until(lambda: unconcerned.sent["n01"][-1] in sink.times)  # noqa: B023
                check_whole(sink.ids, unconcerned.sent, who=name)
        assert await others.links(OTHER) == others_links
        assert (await others.figures())["changes_total"] == changes


async def register(broker, running):
    """Which tracker has which stream."""
    update = REGISTERED.format(*(one.http for one in running))
    async with httpx.AsyncClient() as http:
        answer = await http.post(f"{broker.http}/update", data={"update": update})
        assert answer.is_success, answer.text
        for one in running:
            for place, stream in enumerate((STREAM, OTHER)):
                wanted = [running[place].http]
                await soon(lambda: has_trackers(http, one.http, stream, wanted))  # noqa: B023


async def has_trackers(http, url, stream, wanted):
    return (await http.get(f"{url}/streams/{stream}")).json()["trackers"] == wanted


async def test_where_the_first_tracker_is_dead_the_next_one_lets_nodes_in(monkeypatch):
    """Within 5 s, also just after its death; all go back when it answers again; neither way costs an item or a link."""
    if not FULL:
        monkeypatch.setattr("triplewire.gates.relay.tracked._BACK_S", 3.0)
    async with (
        trackers() as running,
        Overlay(*(one.http for one in running)) as overlay,
        Asked(running[0].http) as first,
        Asked(running[1].http) as second,
    ):
        await overlay.grow(NODES)
        assert await second.links() == {}
        async with Flow(overlay, "n00", "n03") as flow:
            links = links_of(overlay)
            port = kill(running[0])
            died = time.monotonic()
            await asyncio.sleep(1.0)
            took_s = {"early": await joined(overlay, "early")}
            await soon(lambda: knows_all(second, overlay), 20, "not all nodes are at the next tracker")
            print(f"all are there {time.monotonic() - died:.1f} s after its death")
            assert links_lost(links, links_of(overlay)) <= 2  # in which the newcomer took its place
            took_s["late"] = await joined(overlay, "late")
            links = links_of(overlay)
            running[0] = await asyncio.to_thread(a_tracker, f"tracker.port={port}")
            begun = time.monotonic()
            await soon(lambda: knows_all(first, overlay), either(20, 60), "not all nodes came back")
            print(f"all are back {time.monotonic() - begun:.1f} s after its return")
            assert links_lost(links, links_of(overlay)) <= 0.05 * sum(map(len, links.values())) / 2
            took_s["again"] = await joined(overlay, "again")
            await flow.stop()
            await flow.all_have(late=took_s)
        print(f"joins took {took_s}")
        assert max(took_s.values()) <= 5


async def joined(overlay, name):
    """Seconds until a new node has an item."""
    begun = time.monotonic()
    await overlay.add(name)
    await until(lambda: overlay.sinks[name].ids, 30, f"{name} has no item")
    return time.monotonic() - begun


async def test_the_publishers_own_node_may_be_killed():
    """In the middle of its items: what one of the others has, all of them have."""
    async with tracker(improve_s=0) as url, Overlay(url, delayed=True) as overlay:
        await overlay.grow(NODES)
        some = items(300, "n00")
        await overlay.nodes["n00"].ready(STREAM)
        for item in some:
            await overlay.nodes["n00"].publish(STREAM, [item])
            if overlay.received(["n01"])["n01"] > 50:
                break
        await overlay.lose("n00")
        count = await quiet(overlay)
        assert {*count.values()} == {count["n01"]}
        assert 50 < count["n01"] < 300
        wanted = [item.event_id for item in some[: count["n01"]]]
        assert all(overlay.sinks[name].ids == wanted for name in overlay.nodes)


async def quiet(overlay, for_s=1.0):
    """How many items each has, when nobody got one for so long."""
    count, since = overlay.received(), time.monotonic()
    while time.monotonic() - since < for_s:
        await asyncio.sleep(0.02)
        if overlay.received() != count:
            count, since = overlay.received(), time.monotonic()
    return count
