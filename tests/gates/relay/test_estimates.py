"""Delays through an overlay are worked out beside the loop, seldom, and as Dijkstra would."""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from dataclasses import replace

import pytest
from support.simulated_nodes import World

from triplewire.broker.errors import NotFound, Overloaded
from triplewire.gates.relay import estimates
from triplewire.gates.relay.estimates import Estimates
from triplewire.gates.relay.paths import fastest, figures, way


class Counting:
    """Counts how often something is worked out."""

    def __init__(self, monkeypatch):
        self.figures = self.fastest = 0
        monkeypatch.setattr(estimates, "figures", self._figures)
        monkeypatch.setattr(estimates, "fastest", self._fastest)

    def _figures(self, *arguments):
        self.figures += 1
        return figures(*arguments)

    def _fastest(self, *arguments):
        self.fastest += 1
        return fastest(*arguments)


@pytest.fixture
def counting(monkeypatch):
    return Counting(monkeypatch)


def a_world(count=20):
    world = World()
    for number in range(count):
        world.join(f"n{number}", region=f"r{number % 3}")
    world.settle()
    return world, Estimates(world.tracking.overlays, world.config, lambda: world.now)


async def test_figures_are_those_of_the_overlay():
    """From all nodes where they are few."""
    world, found = a_world()
    links = world.tracking.overlays.there("S").links()
    assert await found.figures("S") == figures(
        list(links), links.__getitem__, lambda a, b: links[a][b], world.config.hop_ms
    )


async def test_they_are_worked_out_seldom(counting):
    """When something has changed, figures_s later; else a minute later, as delays change, too."""
    world, found = a_world()
    for _ in range(5):
        await found.figures("S")
    world.join("new")
    await found.figures("S")
    assert counting.figures == 1
    world.now += world.config.figures_s
    await found.figures("S")
    assert counting.figures == 2
    world.now += world.config.figures_s
    await found.refresh()
    assert counting.figures == 2
    world.now += 12 * world.config.figures_s
    await found.refresh()
    assert counting.figures == 3


async def test_many_who_ask_at_once_wait_for_one(counting):
    """Not each for its own."""
    _, found = a_world()
    await asyncio.gather(
        *(found.figures("S") for _ in range(20)), *(found.routes("S", "n3") for _ in range(20))
    )
    assert (counting.figures, counting.fastest) == (1, 1)


async def test_ways_from_a_node():
    """As they are for some seconds; None where the node is not there."""
    world, found = a_world()
    routes = await found.routes("S", "n0")
    assert set(routes) == {f"n{number}" for number in range(20)}
    path = way(routes, "n9")
    assert (path[0], path[-1]) == ("n0", "n9")
    links = world.tracking.overlays.there("S").links()
    total = sum(links[a][b] + world.config.hop_ms for a, b in itertools.pairwise(path))
    assert routes["n9"].delay_ms == pytest.approx(total)
    assert await found.routes("S", "x") is None
    world.tracking.remove("n9", world.now)
    world.now += world.config.figures_s
    assert "n9" not in await found.routes("S", "n0")


async def test_ways_of_many_nodes_are_not_all_kept(counting):
    """Those that were asked for last."""
    _, found = a_world()
    for number in range(17):
        await found.routes("S", f"n{number}")
    await found.routes("S", "n16")
    assert counting.fastest == 17
    await found.routes("S", "n0")
    assert counting.fastest == 18


async def test_an_overlay_is_copied_once_for_many_sources(monkeypatch):
    """Within some seconds; and again for a node that was not there yet."""
    world, found = a_world()
    overlay = world.tracking.overlays.there("S")
    copies = []
    links = type(overlay).links
    monkeypatch.setattr(type(overlay), "links", lambda self: copies.append(1) or links(self))
    for number in range(20):
        await found.routes("S", f"n{number}")
    await found.routes("S", "nobody")
    assert len(copies) == 1
    world.join("new")
    assert "new" in await found.routes("S", "new")
    assert len(copies) == 2
    world.now += world.config.figures_s
    await found.routes("S", "n0")
    assert len(copies) == 3
    world.now += world.config.figures_s
    await found.refresh()
    assert not found._copies
    assert not found._routes


async def test_links_of_so_many_streams_are_kept_and_no_more():
    """Those that were asked for last."""
    world = World()
    world.join("a", *(f"S{number}" for number in range(9)))
    found = Estimates(world.tracking.overlays, world.config, lambda: world.now)
    for number in range(9):
        await found.routes(f"S{number}", "a")
    assert list(found._copies) == ["S5", "S6", "S7", "S8"]


async def test_so_many_wait_and_no_more():
    """The others are told to come back; what is known is answered all the same."""
    world, found = a_world()
    await found.figures("S")
    asked = [asyncio.ensure_future(found.routes("S", f"n{number % 20}")) for number in range(200)]
    await asyncio.sleep(0)
    assert (await found.figures("S")).pairs == 380
    answers = await asyncio.gather(*asked, return_exceptions=True)
    assert Counter(type(one) for one in answers) == {dict: 64, Overloaded: 136}
    assert await found.routes("S", "n3") is not None
    world.now += world.config.figures_s
    await found.refresh()


async def test_a_stream_that_ends_meanwhile_ends_nothing_else(monkeypatch):
    """The others' delays are estimated all the same."""
    world, found = a_world()
    monkeypatch.setattr(world.tracking.overlays, "names", lambda: ["gone", "S"])
    await found.refresh()
    assert set(found._figures) == {"S"}


async def test_a_stream_that_is_not_there():
    """Or not any more: nothing is kept of it."""
    world, found = a_world(3)
    with pytest.raises(NotFound):
        await found.figures("T")
    with pytest.raises(NotFound):
        await found.routes("T", "n0")
    await found.refresh()
    for name in list(world.nodes):
        world.tracking.remove(name, world.now)
    await found.refresh()
    assert found._figures == {}


async def test_nodes_are_told_what_was_estimated():
    """So that they know when an item must have come."""
    world, found = a_world()
    await found.refresh()
    p99_ms = (await found.figures("S")).p99_ms
    assert world.tracking.instructions("n0").streams["S"].p99_ms == round(p99_ms, 3) > 0


async def test_of_large_overlays_some_nodes_are_asked():
    """As many as the setting says."""
    world, _ = a_world(80)
    found = Estimates(world.tracking.overlays, replace(world.config, figures_sources=4), lambda: world.now)
    assert (await found.figures("S")).pairs == 4 * 79


async def test_a_stream_that_is_there_again_is_another_one():
    """Its figures are not those of before, whatever numbers its changes have."""
    world, found = a_world(6)
    await found.figures("S")
    names = list(world.nodes)
    for name in names:
        world.tracking.remove(name, world.now)
        world.die(name)
    world.now += 2 * world.config.figures_s
    for name in names:
        world.join(name, region=name)
    overlay = world.tracking.overlays.there("S")
    await found.figures("S")
    assert overlay.p99_ms > 0


async def test_a_node_that_lies_makes_nobody_wait():
    """What is told of delays is bounded: who says that its links take a minute would have all wait for what they miss."""
    world, found = a_world(6)
    world.nodes["n0"].rtt_ms = lambda _, __: 60_000.0
    for _ in range(2):
        for name in world.nodes:
            world.speak(name)
    assert (await found.figures("S")).p99_ms > 10_000
    assert world.tracking.overlays.there("S").p99_ms == 1000.0
