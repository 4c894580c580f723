"""What the tracker's overlays are worth, on delays that were measured between 16 regions, with up to 2,048 nodes."""

from __future__ import annotations

import random
from functools import cache

import pytest
from support.overlay_simulation import Regions, built, flooded, largest_part

from triplewire.gates.relay.delays import Delays
from triplewire.gates.relay.paths import quantile
from triplewire.gates.relay.topology import Topology

MANY = 2048


@cache
def many(choice="detour"):
    return built(Regions(MANY, seed=5), choice=choice, seed=5)


def mean(values):
    return sum(values) / len(values)


def test_two_thousand_nodes_hear_each_other_about_as_fast_as_without_an_overlay():
    """With four links each, half a millisecond for each hop, and a region's name as all that is known."""
    measured = many().measured(sources=128)

    assert measured.mean_ms <= 75
    assert measured.p99_ms <= 170
    assert measured.mean_ms <= 1.12 * mean(many().world.unicast_ms())


def test_no_node_is_much_worse_off_than_without_an_overlay():
    """What spread is left is geography."""
    means, unicast = many().measured(sources=128).means_ms, many().world.unicast_means_ms()
    spread = quantile(means, 0.95) / quantile(means, 0.05)
    assert spread <= 1.1 * quantile(unicast, 0.95) / quantile(unicast, 0.05)


@pytest.mark.parametrize("choice", ["detour", "uniform"])
def test_each_item_comes_three_times(choice):
    """Twice for nothing, as of four links it comes over, and leaves by, all; the price of losing nothing with a node."""
    neighbours = many(choice).neighbours()
    for source in many(choice).world.nodes[:3]:
        arrived, copies = flooded(neighbours, many(choice).world.one_way_ms, source)
        assert len(arrived) == MANY
        assert (copies - (MANY - 1)) / MANY == pytest.approx(2 + 2 / MANY, abs=0.01)


def test_the_published_choice_is_four_times_slower():
    """299 ms by first-passage theory as well; the paper's 189 ms do not follow from its algorithm."""
    measured = many("uniform").measured(sources=64)

    assert 280 <= measured.mean_ms <= 315
    assert measured.mean_ms >= 3.5 * many().measured(sources=64).mean_ms
    assert 7 <= measured.diameter_hops <= 12


def test_the_published_choice_gives_what_was_published_for_few():
    """146 and 157 ms were measured with 32 and 64 nodes, from 127 to 172."""
    for count in (32, 64):
        means = [built(Regions(count, seed=s), choice="uniform", seed=s).measured().mean_ms for s in range(9)]
        assert 127 <= mean(means) <= 172


@pytest.mark.parametrize(("count", "tries", "rdp"), [(16, 160, 1.2), (64, 192, 1.12)])
def test_a_small_network_becomes_as_good_by_exchanging_links(count, tries, rdp):
    """With what regions and links tell; each of three."""
    for seed in range(3):
        world = Regions(count, seed=seed)
        tracker = built(world, knows="reports", seed=seed)
        tracker.improve(tries)
        measured, unicast = tracker.measured(), world.unicast_ms()
        assert measured.mean_ms <= rdp * mean(unicast)
        assert measured.p99_ms <= 1.15 * quantile(unicast, 0.99)


@pytest.mark.parametrize("choice", ["detour", "uniform"])
def test_what_the_tracker_believes_is_what_an_item_takes(choice):
    """It has half round trips, and delays differ by direction; the mean is within 3.5 %, and that of most nodes is."""
    tracker = built(Regions(128, seed=2), knows="reports", choice=choice)
    estimate, neighbours, true = tracker.estimate(), tracker.neighbours(), []
    for source in tracker.world.nodes:
        arrived, _ = flooded(neighbours, tracker.world.one_way_ms, source)
        true += [at for node, at in arrived.items() if node != source]

    assert estimate.mean_ms == pytest.approx(mean(true), rel=0.035)
    assert estimate.p99_ms == pytest.approx(quantile(sorted(true), 0.99), rel=0.05)


def test_survivors_still_hear_each_other():
    """A fifth of all is gone at once, or a whole region, and nobody has mended anything."""
    tracker, rng = many(), random.Random(1)
    nodes, neighbours = tracker.world.nodes, tracker.neighbours()
    alive = rng.sample(nodes, len(nodes) * 4 // 5)
    assert largest_part(alive, neighbours) >= 0.997 * len(alive)
    for gone in ("us-east-1", "sa-east-1", "ap-south-1"):
        alive = [node for node in nodes if tracker.world.region(node) != gone]
        assert largest_part(alive, neighbours) >= 0.995 * len(alive)


def test_it_lasts():
    """Every node is replaced four times over: whole at each step, all slots taken, and as fast as in the beginning."""
    world, rng = Regions(256, seed=3), random.Random(3)
    tracker = built(world, knows="reports", seed=3)
    before, after = tracker.measured().mean_ms, []
    for number in range(4 * 256):
        gone = rng.choice(world.nodes)
        world.take_over(f"new-{number}", gone)
        assert tracker.leave(gone) <= 6
        assert largest_part(tracker.topology, tracker.topology.neighbours) == 255
        assert all(len(tracker.topology.neighbours(node)) == 4 for node in tracker.topology)
        assert tracker.join(f"new-{number}") == 5
        if number % 256 == 255:
            after.append(tracker.measured().mean_ms)
    assert mean(after) <= 1.05 * before


def test_most_honest_nodes_hear_all_beside_many_who_pass_nothing_on():
    """A fifth of 64 is silent; who is left out is found by its gaps."""
    missed = total = 0
    for seed in range(5):
        world, rng = Regions(64, seed=seed), random.Random(seed)
        tracker = built(world, knows="reports", seed=seed)
        tracker.improve(64)
        silent = frozenset(rng.sample(world.nodes, 13))
        for source in world.nodes:
            if source not in silent:
                arrived, _ = flooded(tracker.neighbours(), world.one_way_ms, source, silent=silent)
                missed += sum(node not in arrived for node in world.nodes if node not in silent)
                total += 51
    assert missed <= 0.01 * total


@pytest.mark.parametrize("is_first", [True, False])
def test_who_claims_to_be_near_everybody_gains_no_link(is_first):
    """The overlay is the same as if it had told the truth, whichever end of a link speaks first."""
    overlays = []
    for lies in (False, True):
        world = Regions(128, seed=7)
        liar = world.nodes[3] if lies else ""
        delays = Delays()
        topology = Topology(delays.between, seed=7)
        for node in world.nodes:
            delays.place(node, world.region(node))
            for changed in sorted(topology.join(node)):
                pairs = [(changed, peer) for peer in sorted(topology.neighbours(changed))]
                pairs += [(peer, changed) for _, peer in pairs]
                for here, there in sorted(pairs, key=lambda pair: (pair[0] == liar) != is_first):
                    true = world.one_way_ms(here, there) + world.one_way_ms(there, here)
                    delays.report(here, there, 0.0 if here == liar else true)
        overlays.append({node: topology.neighbours(node) for node in topology})
    assert overlays[0] == overlays[1]
