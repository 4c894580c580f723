"""What is believed of delays: what both ends say, then what regions say, then labels."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triplewire.gates.relay import delays as module
from triplewire.gates.relay.delays import Delays


@pytest.fixture
def delays():
    """Four nodes in each of two regions, and one that names none."""
    found = Delays()
    for number in range(4):
        found.place(f"eu{number}", "eu")
        found.place(f"us{number}", "us")
    found.place("somewhere", "")
    return found


def both(delays, a, b, rtt_ms):
    delays.report(a, b, rtt_ms)
    delays.report(b, a, rtt_ms)


def test_labels_are_what_is_known_at_first(delays):
    """The same is near, another one is far, and who names none, or is not known, is far from all."""
    assert delays.between("eu0", "eu1") == 0.1
    assert delays.between("eu0", "us1") == 70.0
    assert delays.between("eu0", "somewhere") == 70.0
    assert delays.between("somewhere", "nobody") == 70.0
    assert delays.measured("eu0", "eu1") is None


def test_two_nodes_without_a_region_are_not_in_the_same(delays):
    """Unknown is no place."""
    delays.place("elsewhere", "")
    assert delays.between("elsewhere", "somewhere") == 70.0


def test_a_link_is_as_long_as_the_end_says_that_says_more(delays):
    """Half of that round trip, from both ends."""
    delays.report("eu0", "us0", 80.0)
    delays.report("us0", "eu0", 90.0)

    assert delays.measured("eu0", "us0") == 45.0
    assert delays.between("eu0", "us0") == delays.between("us0", "eu0") == 45.0


def test_who_says_that_it_is_near_gains_nothing(delays):
    """Neither before the other end has spoken, nor after."""
    delays.report("us0", "eu0", 0.0)
    assert delays.measured("eu0", "us0") == 0.1
    assert delays.between("eu0", "us0") == 70.0

    delays.report("eu0", "us0", 80.0)
    assert delays.between("eu0", "us0") == 40.0


def test_who_says_that_it_is_far_is_believed(delays):
    """It can hold pings back anyway, and loses by it."""
    delays.report("eu1", "eu0", 300.0)
    assert delays.between("eu0", "eu1") == 150.0
    delays.report("eu0", "eu1", 0.2)
    assert delays.between("eu0", "eu1") == 150.0


def test_nothing_is_nearer_than_a_region_in_itself(delays):
    """Two who lie together say no more than that they are neighbours."""
    both(delays, "eu0", "us0", 0.0)
    assert delays.between("eu0", "us0") == 0.1


def test_three_links_of_different_nodes_tell_what_lies_between_two_regions(delays):
    """Their median; for pairs that were not measured, and for nodes that come."""
    both(delays, "eu0", "us0", 80.0)
    both(delays, "eu1", "us1", 84.0)
    assert delays.between("eu3", "us3") == 70.0

    both(delays, "eu2", "us2", 300.0)
    delays.place("new", "us")
    assert (
        delays.between("eu3", "us3") == delays.between("us3", "eu3") == delays.between("new", "eu3") == 42.0
    )
    assert delays.between("eu0", "us0") == 40.0


def test_one_node_does_not_decide_what_lies_between_two_regions(delays):
    """However many links it has."""
    for number in range(4):
        both(delays, "eu0", f"us{number}", 1.0)
    assert delays.between("eu1", "us1") == 70.0


def test_what_one_end_alone_says_tells_nothing_of_regions(delays):
    """Or liars would have it as they like."""
    for number in range(4):
        delays.report(f"eu{number}", f"us{number}", 1.0)
    delays.place("new", "eu")
    assert delays.between("new", "us0") == 70.0


def test_what_lies_between_regions_follows_what_is_measured(delays):
    """A cable broke."""
    for rtt_ms in (80.0, 120.0):
        for number in range(3):
            both(delays, f"eu{number}", f"us{number}", rtt_ms)
    assert delays.between("eu3", "us3") == 60.0


def test_a_region_in_itself_is_measured_as_well(delays):
    """Some name a continent."""
    for at in range(4, 8):
        delays.place(f"eu{at}", "eu")
    for at in (0, 2, 4):
        both(delays, f"eu{at}", f"eu{at + 1}", 20.0)
    assert delays.between("eu6", "eu7") == 10.0


def test_a_link_that_is_cut_is_a_guess_again(delays):
    """By what it was, while nothing better is known; what one end alone said is gone."""
    both(delays, "eu0", "us0", 80.0)
    delays.report("eu1", "us1", 300.0)
    for number in range(2):
        delays.cut(f"eu{number}", f"us{number}")

    assert delays.measured("eu0", "us0") is None
    assert delays.between("eu0", "us0") == 40.0
    assert delays.between("eu1", "us1") == 70.0
    delays.cut("eu0", "us0")
    delays.cut("eu0", "nobody")


def test_a_node_that_is_gone_is_forgotten(delays):
    """What it said, what was said of it, and where it was; it may come back elsewhere."""
    both(delays, "eu0", "us0", 80.0)
    delays.report("us1", "eu0", 80.0)
    delays.forget("eu0")
    delays.forget("eu0")

    assert delays.measured("us0", "eu0") is None
    assert delays.measured("us1", "eu0") is None
    assert delays.between("eu0", "us1") == 70.0
    delays.place("eu0", "us")
    assert delays.between("eu0", "us1") == 0.1


def test_what_is_said_of_who_is_not_there_counts_for_nothing(delays):
    """By it, of it, and of oneself."""
    delays.report("eu0", "nobody", 1.0)
    delays.report("nobody", "eu0", 1.0)
    delays.report("eu0", "eu0", 1.0)
    assert delays.measured("eu0", "nobody") is None
    assert delays.measured("eu0", "eu0") is None


@pytest.mark.parametrize("rtt_ms", [-0.1, math.nan, math.inf])
def test_what_is_no_length_of_time_is_refused(delays, rtt_ms):
    """With what it was."""
    with pytest.raises(ValueError, match=r"a round trip takes from 0 ms on, not"):
        delays.report("eu0", "us0", rtt_ms)


@pytest.mark.parametrize(("same", "other"), [(0.0, 70.0), (80.0, 70.0), (0.1, math.inf)])
def test_labels_must_make_sense(same, other):
    """A delay of nothing would make each link as good as any."""
    with pytest.raises(ValueError, match="nearer to itself"):
        Delays(same_region_ms=same, other_region_ms=other)


def test_memory_is_bounded(monkeypatch):
    """Regions are names that anybody may make up."""
    monkeypatch.setattr(module, "REGIONAL", 10)
    delays = Delays()
    for number in range(40):
        for node in (f"a{number}", f"b{number}"):
            delays.place(node, f"region {node}")
        both(delays, f"a{number}", f"b{number}", 10.0)
        delays.cut(f"a{number}", f"b{number}")
    assert delays.between("a0", "b0") == 70.0
    assert delays.between("a39", "b39") == 5.0


names = st.sampled_from("abcdef")
said = st.tuples(names, names, st.sampled_from([0.0, 0.2, 30.0, 140.0, 900.0]))


def test_whose_word_alone_makes_a_link_long(delays):
    """One that says clearly more than the other end, or is the only one to say that it is long; not one that is off by a little."""
    delays.report("eu0", "us0", 60_000.0)
    assert delays.stretches("eu0", "us0")
    assert not delays.stretches("us0", "eu0")
    delays.report("us0", "eu0", 140.0)
    assert delays.stretches("eu0", "us0")
    assert not delays.stretches("us0", "eu0")
    for here, there in ((150.0, 140.0), (140.0, 150.0), (0.3, 2.2)):
        delays.report("eu0", "us0", here)
        delays.report("us0", "eu0", there)
        assert not delays.stretches("eu0", "us0")
        assert not delays.stretches("us0", "eu0")
    delays.cut("eu0", "us0")
    assert not delays.stretches("eu0", "us0")


@given(st.dictionaries(names, st.sampled_from(["", "eu", "us"])), st.lists(said))
def test_a_lie_that_is_less_never_brings_a_node_nearer(regions, reports):
    """Whatever all others say: what x says of its links, halved, puts it nearer to nobody who spoke."""
    honest, lying = Delays(), Delays()
    for delays in (honest, lying):
        for node in "abcdef":
            delays.place(node, regions.get(node, ""))
        for node, peer, rtt_ms in reports:
            if node != "a":
                delays.report(node, peer, rtt_ms)
    true_ms = {peer: rtt_ms for node, peer, rtt_ms in reports if node != "a" and peer == "a"}
    for delays, share in ((honest, 1.0), (lying, 0.0)):
        for node, rtt_ms in true_ms.items():
            delays.report("a", node, share * rtt_ms)
    for node in true_ms.keys() - {"a"}:
        assert lying.between("a", node) == honest.between("a", node)


@given(
    st.lists(
        st.tuples(st.sampled_from(["place", "forget", "report", "cut"]), names, names, st.floats(0, 500))
    )
)
def test_it_is_the_same_both_ways_and_more_than_nothing(calls):
    """And forgetting all of them leaves nothing of their links."""
    delays = Delays()
    for call, node, peer, rtt_ms in calls:
        match call:
            case "place":
                delays.place(node, peer)
            case "forget":
                delays.forget(node)
            case "report":
                delays.report(node, peer, rtt_ms)
            case "cut":
                delays.cut(node, peer)
        assert delays.between(node, peer) == delays.between(peer, node) >= 0.1
    for node in "abcdef":
        delays.forget(node)
    assert all(delays.measured(a, b) is None for a in "abcdef" for b in "abcdef")
