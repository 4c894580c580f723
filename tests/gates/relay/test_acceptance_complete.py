"""Acceptance: every item comes to everybody, once and in order, or a marker says which did not.

Nodes in this process, whose links lose and delay what is sent, and relays in processes of their own with consumers over
HTTP; with TRIPLEWIRE_OVERLAY=full as many, and for as long, as the criterion says.
"""

from __future__ import annotations

import asyncio
import itertools
import random
import time
from contextlib import AsyncExitStack
from itertools import pairwise

from support.aws_delays import REGIONS
from support.overlay import STREAM, Overlay, items, tracker, until
from support.relay_readers import Poster, Reader
from support.relays import Relays
from support.resilience import Asked, Flow, a_tracker, check_whole, either

from triplewire.broker.wire.gap_items import Missing
from triplewire.gates.relay.chains import Sequencer


async def test_lost_sends_and_a_node_killed_again_and_again():
    """One send in a hundred is lost, and every few seconds a node or a relay is killed, and a new one comes."""
    async with (
        a_tracker() as tracking,
        # Without capacity, so that consumers are sent to relays
        Overlay(tracking.http, delayed=True, lost=0.01, capacity=0) as overlay,
        Relays(overlay) as relays,
        AsyncExitStack() as stack,
    ):
        first, *others = await asyncio.gather(*(relays.start() for _ in range(either(3, 6))))
        await overlay.grow(either(7, 18))
        steady = [*overlay.nodes]
        poster = await stack.enter_async_context(Poster(relays.at(first), "poster"))
        for name in others:
            await has_some(relays.at(name))
        readers = [
            Reader(f"{tracking.http}/consume/{STREAM}", region=relays.region(name))
            for name in (first, *others)
        ]
        for reader in readers:
            await stack.enter_async_context(reader)
        await until(lambda: all(reader.given for reader in readers), what="a consumer has nothing")
        flow = await stack.enter_async_context(Flow(overlay, "n00", "n01", per_s=either(40.0, 20.0)))
        count = await lose_some(overlay, relays, {first, "n00", "n01"}, *either((5.5, 1.0), (60.0, 5.0)))
        await flow.stop()
        await poster.stop()
        await flow.all_have(poster.sent, late=overlay.nodes.keys() - steady)
        sent = flow.sent | poster.sent
        for reader in readers:
            await until(lambda: all(ids[-1] in reader.times for ids in sent.values()), 20)  # noqa: B023
            posted = {each for each in reader.ids if each.startswith("poster-")}
            check_whole([each for each in reader.ids if each in posted], poster.sent, is_late=True)
            check_whole([each for each in reader.ids if each not in posted], flow.sent)
            assert not reader.told
        asked = sum(node.counted.wants for node in overlay.nodes.values())
        moved = sum(reader.reconnections for reader in readers)
        print(f"{count} killed, {sum(map(len, sent.values()))} items, {asked} wants, {moved} consumers moved")
        assert asked > 0
        assert moved > 0


async def has_some(url):
    """A consumer comes there, has an item, and goes."""
    async with Reader(url) as reader:
        await until(lambda: reader.given)


async def lose_some(overlay, relays, steady, lasts_s, every_s):
    """A relay and a node in turn are killed, none of those that stay, and another comes; how many."""
    begun = time.monotonic()
    for number in itertools.count():
        await asyncio.sleep(max(0.0, begun + (number + 1) * every_s - time.monotonic()))
        if time.monotonic() - begun >= lasts_s:
            return number
        among = overlay.nodes if number % 2 else relays.running
        victim = next(name for name in among if name not in steady)  # the one that is there for longest
        if number % 2:
            await overlay.lose(victim)
            await overlay.add(f"m{number:02d}")
        else:
            relays.running.pop(victim).kill()
            await relays.start()
    raise AssertionError


async def test_what_is_missing_is_asked_for_in_time():
    """At the latest three times the estimated p99 after the next item has come."""
    async with (
        tracker(heartbeat_s=0.5, figures_s=0.5, improve_s=0) as url,
        Overlay(url, delayed=True) as overlay,
        Asked(url) as asked,
    ):
        for number in range(either(6, 16)):
            await overlay.add(f"n{number:02d}", region=5 * number % len(REGIONS))  # all over the world
        await overlay.linked()
        await asyncio.sleep(1.0)  # round trips are told with the next status
        p99_ms = await asked.p99_ms()
        await asyncio.sleep(0.7)  # and so is this
        some = iter(items(1000, "n00"))
        victim = overlay.nodes["n05"].counted
        told = overlay.nodes["n05"]._members[STREAM].forwarding._sequencer
        late_s = []
        await overlay.nodes["n00"].ready(STREAM)
        took_s = []
        for count in range(1, either(3, 30) * 3, 3):
            await overlay.nodes["n00"].publish(STREAM, [next(some)])
            await all_but(overlay, {"n00"}, count)
            silence(overlay, "n05")
            await overlay.nodes["n00"].publish(STREAM, [next(some)])
            await all_but(overlay, {"n00", "n05"}, count + 1)
            silence(overlay)
            parcels, wants, before_ms = victim.parcels, victim.wants, told.p99_ms
            await overlay.nodes["n00"].publish(STREAM, [next(some)])
            came, asked_at = await asyncio.gather(
                moment(lambda: victim.parcels > parcels),  # noqa: B023
                moment(lambda: victim.wants > wants),  # noqa: B023
            )
            took_s.append(asked_at - came)
            # It is estimated anew all the time
            late_s.append(took_s[-1] - 3 * max(before_ms, told.p99_ms) / 1000)
            await all_but(overlay, {"n00"}, count + 2)
        print(
            f"p99 {p99_ms:.0f} ms at first and {told.p99_ms:.0f} at last, asked after {min(took_s):.3f} to {max(took_s):.3f} s"
        )
        assert 50 < p99_ms < 1000
        assert max(late_s) <= 0.05
        assert not overlay.sinks["n05"].gaps


async def all_but(overlay, names, count):
    """All other nodes get so many items."""
    among = overlay.nodes.keys() - names
    await until(lambda: {*overlay.received(among).values()} == {count}, what=overlay.received)


def silence(overlay, *names):
    """No parcel goes to these any more."""
    for network in overlay.networks.values():
        network.silent.clear()
        network.silent.update(names)


async def moment(condition):
    """When it came true."""
    while not condition():  # noqa: ASYNC110 - these are plain counters
        await asyncio.sleep(0.001)
    return time.monotonic()


async def test_what_nobody_has_is_told_by_a_marker():
    """In its place, counted, and in time; and meanwhile nothing else stands still."""
    async with (
        tracker(heartbeat_s=0.5, figures_s=0.5, improve_s=0) as url,
        Overlay(url, kept_bytes=0, capacity=0) as overlay,
        Relays(overlay) as relays,
    ):
        for number in range(5):
            await overlay.add(f"n{number:02d}", region=1)  # where relays begin
        await overlay.linked()
        name = await relays.start("relay.kept_bytes=0")
        relay = relays.running[name]
        some = items(9, "n00")
        publisher = overlay.nodes["n00"]
        await publisher.ready(STREAM)
        async with Reader(f"{url}/consume/{STREAM}") as reader:
            async with Flow(overlay, "n02"):
                await until(lambda: reader.given)
                await asyncio.sleep(1.5)  # all know how long items take
            await publisher.publish(STREAM, some[:2])
            await until(lambda: some[1].event_id in reader.times)
            silence(overlay, name, "n04")
            await publisher.publish(STREAM, some[2:6])
            await until(lambda: all(some[5].event_id in overlay.sinks[one].times for one in ("n02", "n03")))
            silence(overlay)
            async with Flow(overlay, "n01", per_s=100.0) as flow:
                next_at = time.monotonic()
                await publisher.publish(STREAM, some[6:])
                await until(lambda: some[8].event_id in reader.times)
                await until(lambda: some[8].event_id in overlay.sinks["n04"].times)
            await until(lambda: flow.sent["n01"][-1] in reader.times)
            figures = await asyncio.to_thread(relay.figures)
        chain = reader.gaps[0].chain
        marker = Missing(chain, "", 3, 6)
        wanted = [item.event_id for item in some]
        wanted[2:6] = [marker]
        assert [each for each in reader.given if each == marker or each in wanted] == wanted
        assert [gap.missing for gap in reader.told] == reader.gaps == [marker]
        assert overlay.sinks["n04"].gaps == [(chain, 3, 6)]
        assert figures["triplewire_relay_gaps_total"] == overlay.nodes["n04"].counted.gaps == 1
        assert not any(overlay.sinks[one].gaps for one in ("n00", "n01", "n02", "n03"))
        # What another node publishes meanwhile goes on
        check_whole([each for each in reader.ids if each.startswith("n01")], flow.sent)
        told_s = reader.times[marker] - next_at
        longest_s = max(
            later - sooner for sooner, later in pairwise(reader.times[each] for each in flow.sent["n01"])
        )
        print(f"told after {told_s:.2f} s; the other publisher's items at most {longest_s:.2f} s apart")
        assert told_s <= Sequencer(random.Random(1)).longest_s + 0.5
        assert longest_s < told_s / 2
