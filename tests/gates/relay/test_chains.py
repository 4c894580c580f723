"""The order of each chain: what is delivered when, what is asked of whom, and what is given up."""

from __future__ import annotations

from random import Random

import pytest
from support.chained import CHAIN, chain_of, items, sealed, unsigned

from triplewire.gates.relay.chains import GapMarker, Piece, Sequencer, SequencerLimits
from triplewire.gates.relay.parcels import unpack

PATIENCE_S = 0.6  # three times the p99 below
SOON_S = 0.06


def sequencer(**limits):
    """With a p99 of 200 ms."""
    return Sequencer(Random(1), SequencerLimits(**limits), p99_ms=200.0)


def arrive(into, *parcels, now=0.0):
    """Several at the same moment; the numbers that are delivered."""
    return numbers([found for first in parcels for found in into.arrived(unsigned(first), now)])


def numbers(deliveries):
    """Each delivered number; those of markers as a pair."""
    found = []
    for each in deliveries:
        if isinstance(each, GapMarker):
            found.append((each.first, each.last))
        else:
            assert each.first <= each.parcel.last
            found += range(each.first, each.parcel.last + 1)
    return found


def wanted(into, now):
    """From and to which numbers."""
    return [(want.first, want.last) for want in into.wants(now)]


def until(into, now):
    """All that is given up, with what is behind it, when asked for in vain, up to this time."""
    found = []
    while (due := into.due()) is not None and due <= now:
        found += into.given_up(due)
        into.wants(due)
    return numbers(found)


def test_what_comes_in_order_goes_on_at_once():
    """And nothing is missing."""
    into = sequencer()

    assert arrive(into, 1, 2, 3) == [1, 2, 3]
    assert into.due() is None
    assert into.position(CHAIN) == 4


def test_what_comes_too_early_waits():
    """For what is before it, and no longer."""
    into = sequencer()

    assert arrive(into, 1, 3, 4) == [1]
    assert (into.held_parcels, into.held_bytes) == (2, 200)
    assert arrive(into, 2) == [2, 3, 4]
    assert (into.held_parcels, into.held_bytes, into.due(), into.gaps) == (0, 0, None, 1)
    assert into.wants(10.0) == []


def test_a_late_parcel_fills_its_gap_before_it_is_asked_for():
    """As most do: another way was faster."""
    into = sequencer()
    arrive(into, 1, 3)

    assert into.wants(PATIENCE_S - 0.01) == []
    assert arrive(into, 2, now=PATIENCE_S - 0.01) == [2, 3]
    assert into.wants(PATIENCE_S) == []
    assert into.asked == 0


def test_a_gap_is_asked_for_when_all_must_have_come():
    """Three times the p99 after it was seen."""
    into = sequencer()
    arrive(into, 1, 4, now=5.0)

    assert into.due() == pytest.approx(5.0 + PATIENCE_S)
    (want,) = into.wants(5.0 + PATIENCE_S)
    assert (want.chain, want.first, want.last, want.tried, want.proven) == (CHAIN, 2, 3, 0, True)
    assert into.wants(5.0 + PATIENCE_S) == []


@pytest.mark.parametrize(("p99_ms", "patience_s"), [(1.0, 0.15), (100.0, 0.3), (1e9, 9.0)])
def test_the_p99_is_believed_within_bounds(p99_ms, patience_s):
    """As it is somebody's estimate."""
    into = sequencer()
    into.p99_ms = p99_ms
    arrive(into, 1, 3)

    assert into.p99_ms == p99_ms
    assert into.due() == pytest.approx(patience_s)


def test_what_a_neighbour_has_is_asked_for_at_once():
    """Or nearly, as others may miss the same."""
    into = sequencer()
    arrive(into, 1, 4)
    into.heads(CHAIN, 1, 4, "near", 0.1)

    assert 0.1 <= into.due() <= 0.1 + SOON_S
    (want,) = into.wants(0.1 + SOON_S)
    assert (want.first, want.last, want.holders) == (2, 3, {"near"})


def test_what_a_neighbour_has_not_is_not_asked_for_sooner():
    """Its heads are elsewhere."""
    into = sequencer()
    arrive(into, 1, 4)

    into.heads(CHAIN, 4, 4, "near", 0.1)
    into.heads(CHAIN, 3, 2, "empty", 0.1)

    assert into.due() == pytest.approx(PATIENCE_S)


def test_a_lost_tail_is_seen_by_heads():
    """No later parcel tells of it."""
    into = sequencer()
    arrive(into, 1)
    into.heads(CHAIN, 1, 1, "a", 1.0)
    assert into.due() is None

    into.heads(CHAIN, 1, 3, "b", 1.0)
    (want,) = into.wants(1.0 + SOON_S)

    assert (want.first, want.last, want.holders, want.proven) == (2, 3, {"b"}, False)
    assert arrive(into, 2, 3, now=1.2) == [2, 3]
    assert into.due() is None


def test_a_chain_that_was_left_goes_on_with_what_others_have():
    """Where it stood, if they have that; else behind a marker.  What was held back and wanted before is forgotten."""
    into = sequencer()
    arrive(into, 1, 2, 5)
    into.heads(CHAIN, 1, 9, "a", 0.0)
    into.leave()
    assert (into.held_parcels, into.held_bytes, into.due()) == (0, 0, None)
    assert into.position(CHAIN) is None
    into.heads(CHAIN, 2, 7, "b", 1.0, 7)
    assert arrive(into, 8, now=1.0) == []
    assert arrive(into, 3, 4, 5, 6, 7, now=1.0) == [3, 4, 5, 6, 7, 8]

    into.leave()
    into.leave()
    into.heads(CHAIN, 20, 29, "b", 2.0, 25)
    assert arrive(into, 20, now=2.0) == [(9, 19), 20]
    assert (into.counted.markers, into.counted.lost) == (1, 11)
    assert wanted(into, 3.0) == [(21, 29)]


def test_places_of_what_was_left_are_bounded():
    """As those of chains that went."""
    into = sequencer(chains=2)
    for number in range(5):
        arrive(into, 1)
        into.arrived(unsigned(1, chain=chain_of(number)), 0.0)
        into.leave()
    assert len(into._left) == 2


def test_a_chain_that_only_heads_tell_of():
    """It begins where the neighbours' items do."""
    into = sequencer()
    into.heads(CHAIN, 5, 6, "a", 0.0)
    into.heads(CHAIN, 4, 7, "b", 0.0)
    assert into.position(CHAIN) is None

    (want,) = into.wants(SOON_S)
    assert (want.first, want.last, want.holders) == (4, 7, {"a", "b"})
    assert arrive(into, 5, now=0.1) == []
    assert arrive(into, 4, 6, 7, now=0.1) == [4, 5, 6, 7]
    assert into.due() is None


def test_a_parcel_that_comes_before_the_past_waits_for_it():
    """What has been asked for is not asked for again before there was time to answer."""
    into = sequencer()
    into.heads(CHAIN, 1, 3, "a", 0.0)
    into.wants(SOON_S)

    assert arrive(into, 5, now=0.1) == []
    into.heads(CHAIN, 1, 5, "a", 0.1)
    assert wanted(into, 0.2) == []
    assert arrive(into, 1, 2, 3, 4, now=0.3) == [1, 2, 3, 4, 5]


def test_the_answer_to_what_heads_told_of_is_waited_for_once():
    """What a parcel behind it proves is asked for again when the first question has had its time, not later."""
    into = sequencer()
    into.heads(CHAIN, 1, 3, "a", 0.0)
    into.wants(SOON_S)
    arrive(into, 5, now=0.5)

    assert 1.0 * PATIENCE_S <= into.due() <= 1.1 * PATIENCE_S + SOON_S


def test_a_tail_that_does_not_come_is_forgotten():
    """Without a marker; whoever says again that it is there is asked again."""
    into = sequencer(tries=2)
    arrive(into, 1)
    for now in (0.0, 100.0):
        into.heads(CHAIN, 1, 3, "a", now)
        assert wanted(into, now + SOON_S) == [(2, 3)]
        assert until(into, now + 100.0) == []
        assert (into.due(), into.counted.markers) == (None, 0)
    assert into.counted.forgotten == 2


def test_a_signed_parcel_counts_more_than_where_somebody_says_the_chain_begins():
    """It is delivered, though it is before that."""
    into = sequencer()
    into.begin(CHAIN, 50, 0.0)

    assert arrive(into, 5, 6) == [5, 6]


def test_a_chain_that_begins_after_a_number():
    """What others have before it is not wanted."""
    into = sequencer()
    into.heads(CHAIN, 1, 9, "a", 0.0)
    into.begin(CHAIN, 7, 0.0)

    assert wanted(into, SOON_S) == [(8, 9)]
    assert arrive(into, 9, 8) == [8, 9]
    into.begin(CHAIN, 0, 0.0)
    assert into.position(CHAIN) == 10


def test_the_first_parcel_of_a_new_chain_may_come_second():
    """It is known from where on it is wanted."""
    into = sequencer()
    into.begin(CHAIN, 0, 0.0)

    assert arrive(into, 2) == []
    assert arrive(into, 1) == [1, 2]


def test_of_a_chain_that_never_was_here_what_is_old_is_not_wanted():
    """Whoever keeps it, and whatever it says later; the one that says that least is old has the last word."""
    into = sequencer()
    into.heads(CHAIN, 1, 9, "a", 0.0, recent=8)
    into.heads(CHAIN, 1, 9, "b", 0.0, recent=7)
    (want,) = into.wants(SOON_S)
    assert (want.first, want.last) == (7, 9)
    into.heads(CHAIN, 1, 10, "a", 0.1, recent=11)

    assert arrive(into, 8, now=0.2) == []
    assert arrive(into, 7, 9, 10, now=0.2) == [7, 8, 9, 10]
    into.heads(CHAIN, 1, 12, "a", 0.3, recent=13)
    assert wanted(into, 0.3 + SOON_S) == [(11, 12)]


def test_what_was_told_of_when_it_was_too_old_is_no_reason_to_pass_over_what_comes_later():
    """A neighbour is gone, and comes back when what came meanwhile is old, too."""
    into = sequencer()
    into.heads(CHAIN, 1, 9, "a", 0.0, recent=10)
    assert into.due() is None
    into.unlinked("a", 1.0)
    into.heads(CHAIN, 1, 12, "a", 100.0, recent=13)

    assert wanted(into, 100.0 + SOON_S) == [(10, 12)]


def test_what_was_there_and_is_no_more_is_a_gap():
    """It came, and went before it was put in order: what it proves counts all the same."""
    into = sequencer(tries=1)
    arrive(into, 1, 4)
    assert into.misses(CHAIN, 2, 2) and into.misses(CHAIN, 5, 5)
    assert not into.misses(CHAIN, 4, 4) and not into.misses(chain_of(1), 1, 1)
    into.passed(CHAIN, 3, 6, 0.0)
    into.passed(CHAIN, 1, 5, 0.0)

    assert until(into, 100.0) == [(2, 3), 4, (5, 6)]
    into.passed(chain_of(1), 3, 4, 100.0)
    assert until(into, 200.0) == [(3, 4)]
    assert (into.position(CHAIN), into.position(chain_of(1)), into.counted.lost) == (7, 5, 6)


def test_a_head_of_nothing_tells_what_comes_next():
    """A neighbour keeps nothing of the chain, but knows where it is."""
    into = sequencer()
    into.heads(CHAIN, 8, 7, "a", 0.0)

    assert into.due() is None
    assert arrive(into, 9) == []
    assert arrive(into, 8) == [8, 9]


def test_without_any_word_the_first_parcel_is_the_first():
    """What is before it is nobody's business."""
    into = sequencer()

    assert arrive(into, 7, 8) == [7, 8]
    assert arrive(into, 6) == []
    assert into.counted.late == 1


def test_a_gap_that_nobody_fills_is_told():
    """After so many tries, in its place."""
    into = sequencer(tries=3)
    arrive(into, 1, 4, 5, 7)
    asked = []
    now = 0.0
    given = []
    while (due := into.due()) is not None:
        now = due
        given += into.given_up(now)
        asked += [(want.first, want.tried) for want in into.wants(now)]

    assert numbers(given) == [(2, 3), 4, 5, (6, 6), 7]
    assert sorted(asked) == [(2, 0), (2, 1), (2, 2), (6, 0), (6, 1), (6, 2)]
    assert now <= into.longest_s
    assert (into.counted.markers, into.counted.lost, into.asked, into.held_parcels) == (2, 3, 6, 0)


def test_each_wait_is_longer_than_the_one_before():
    """So that a neighbour in trouble is not asked the more for it."""
    into = sequencer()
    arrive(into, 1, 3)
    times = []
    while (due := into.due()) is not None:
        times.append(due)
        into.given_up(due)
        into.wants(due)
    waits = [after - before for before, after in zip([0.0, *times], times, strict=False)]

    # first the patience, then five waits, and at the end of the last, which is long enough for any answer, it is given up
    expected = [PATIENCE_S, *[PATIENCE_S * 1.5**tried for tried in range(4)], 5.0]
    assert [0 <= found / wait - 1 <= 0.1 for found, wait in zip(waits, expected, strict=True)] == [True] * 6


def test_a_parcel_that_comes_after_its_gap_was_given_up():
    """Is dropped and counted: the order would break."""
    into = sequencer()
    arrive(into, 1, 3)
    assert until(into, 100.0) == [(2, 2), 3]

    assert arrive(into, 2, now=100.0) == []
    assert into.counted.late == 1
    assert arrive(into, 4, now=100.0) == [4]


def test_it_still_fills_a_gap_whose_marker_waits():
    """Nobody has been told yet."""
    into = sequencer(tries=1)
    arrive(into, 1, 3)
    arrive(into, 5, now=0.01)
    into.heads(CHAIN, 4, 4, "a", 0.02)  # what is behind is asked for first, and given up first
    assert until(into, PATIENCE_S) == []
    assert until(into, 0.1 + 1.1 * PATIENCE_S) == []

    assert arrive(into, 4, now=1.0) == []
    assert until(into, 100.0) == [(2, 2), 3, 4, 5]


def test_no_chain_waits_for_another():
    """Each has its own order."""
    into = sequencer()
    into.arrived(unsigned(1, chain=chain_of(1)), 0.0)
    into.arrived(unsigned(3, chain=chain_of(1)), 0.0)

    assert numbers(into.arrived(unsigned(1, chain=chain_of(2)), 0.0)) == [1]
    assert numbers(into.arrived(unsigned(2, chain=chain_of(2)), 0.0)) == [2]


def test_who_has_it_not_is_told_and_the_next_is_asked_at_once():
    """In the same round, without a try more."""
    into = sequencer()
    arrive(into, 1, 3)
    (want,) = into.wants(PATIENCE_S)
    assert want.absent == frozenset()

    into.absent(CHAIN, 2, 2, "a", 0.7)
    assert into.due() == 0.7
    (want,) = into.wants(0.7)
    assert (want.first, want.tried, want.absent) == (2, 0, {"a"})

    into.absent(CHAIN, 2, 2, "a", 0.8)
    assert into.wants(0.8) == []
    into.absent(CHAIN, 1, 9, "b", 0.8)
    (want,) = into.wants(0.8)
    assert want.absent == {"a", "b"}

    (want,) = into.wants(PATIENCE_S * 2.2)
    assert (want.tried, want.absent) == (1, frozenset())


def test_absence_of_what_was_not_asked_for():
    """Changes nothing."""
    into = sequencer()
    arrive(into, 1, 3)

    into.absent(CHAIN, 2, 2, "a", 0.1)
    into.absent(chain_of(5), 2, 2, "a", 0.1)

    assert into.wants(0.1) == []


def test_what_only_heads_tell_of_is_asked_of_who_said_so():
    """And forgotten when they have it not, without a marker: it is not proven."""
    into = sequencer()
    arrive(into, 1)
    into.heads(CHAIN, 1, 5, "a", 0.0)
    into.heads(CHAIN, 3, 9, "b", 0.0)
    (want,) = into.wants(SOON_S)
    assert (want.first, want.last, want.holders, want.proven) == (2, 9, {"a", "b"}, False)

    into.absent(CHAIN, 2, 9, "a", 0.1)
    (want,) = into.wants(0.1)
    assert (want.first, want.last, want.holders) == (3, 9, {"b"})
    into.absent(CHAIN, 3, 9, "b", 0.2)

    assert into.wants(0.2) == []
    assert into.due() is None
    assert into.counted.markers == 0


def test_a_liar_can_not_make_it_pass_over_what_is_yet_to_come():
    """However far ahead it says that it has items, and however often it does not give them."""
    into = sequencer()
    into.heads(CHAIN, 2**62, 2**62 + 5, "liar", 0.0)
    now = 0.0
    for first in range(1, 20):
        assert arrive(into, first, now=now) == [first]
        into.heads(CHAIN, 1, 2**62, "liar", now)
        now += 1.0
        assert until(into, now) == []
    assert until(into, 1_000.0) == []
    assert (into.due(), into.counted.markers, into.counted.late) == (None, 0, 0)


def test_a_liar_does_not_make_others_be_given_up_sooner():
    """What it was asked for in vain is asked of others as if for the first time, once it is proven."""
    into = sequencer(tries=2)
    arrive(into, 1)
    into.heads(CHAIN, 1, 50, "liar", 0.0)
    until(into, 1.5)
    assert arrive(into, 5, now=1.5) == []

    (want,) = [want for want in into.wants(1.5 + PATIENCE_S) if want.proven]
    assert (want.first, want.last, want.tried) == (2, 4, 0)


def test_a_long_gap_is_asked_for_in_parts():
    """The next as soon as one has come; the tries begin anew, as somebody answers."""
    into = sequencer(want_items=10, tries=2)
    into.heads(CHAIN, 1, 25, "a", 0.0)
    now, asked, found = 0.0, [], []
    while (due := into.due()) is not None:
        now = due
        for want in into.wants(now):
            asked.append((want.first, want.last))
            for first in range(want.first, want.last + 1):
                now += 0.05
                found += numbers(into.arrived(unsigned(first), now))

    assert asked == [(1, 10), (11, 20), (21, 25)]
    assert found == list(range(1, 26))
    assert now < 25 * 0.05 + 2 * SOON_S


def test_an_answer_that_is_under_way_is_waited_for():
    """It is not asked for again while the beginning of it keeps coming."""
    into = sequencer()
    arrive(into, 1, 100)
    (want,) = into.wants(PATIENCE_S)
    assert (want.first, want.last) == (2, 99)
    for first in range(2, 20):
        now = PATIENCE_S + (first - 1) * 0.5 * PATIENCE_S
        assert arrive(into, first, now=now) == [first]
        assert into.wants(now) == []


def test_a_gap_is_cut_where_a_neighbours_items_begin():
    """What is before that is given up by itself, and what is behind it is not."""
    into = sequencer(want_items=10, tries=1)
    arrive(into, 1)
    into.arrived(unsigned(61), 0.0)
    into.heads(CHAIN, 31, 61, "a", 0.0)

    found = []
    while (due := into.due()) is not None:
        found += into.given_up(due)
        for want in into.wants(due):
            for first in range(want.first, want.last + 1):
                if "a" in want.holders:
                    found += into.arrived(unsigned(first), due)

    assert numbers(found) == [(2, 30), *range(31, 62)]


def test_what_was_cut_and_is_lost_is_one_marker():
    """Where the parts stand side by side."""
    into = sequencer(tries=1)
    arrive(into, 1, 61)
    into.heads(CHAIN, 31, 61, "a", 0.0)

    assert until(into, 100.0) == [(2, 60), 61]
    assert (into.counted.markers, into.counted.lost) == (1, 59)


def test_it_is_cut_when_it_is_seen_too():
    """The neighbour had said so before."""
    into = sequencer(want_items=10)
    into.begin(CHAIN, 0, 0.0)
    into.heads(CHAIN, 31, 60, "a", 0.0)
    into.arrived(unsigned(61), 0.0)

    assert wanted(into, SOON_S) == [(31, 40)]
    assert (1, 10) in wanted(into, PATIENCE_S)


def test_a_parcel_that_overlaps_with_what_was_delivered():
    """The rest of it is."""
    into = sequencer()
    into.begin(CHAIN, 5, 0.0)
    into.arrived(sealed(6, 1), 0.0)
    parcel = sealed(4, 5)

    (piece,) = into.arrived(parcel, 0.0)

    assert piece == Piece(parcel, 7)
    assert piece.of(unpack(parcel)) == items(7, 2)
    assert into.position(CHAIN) == 9


def test_what_is_held_back_already():
    """Is not held back twice."""
    into = sequencer()
    arrive(into, 1, 3)

    assert arrive(into, 3, 3) == []
    assert into.held_parcels == 1
    assert arrive(into, 2) == [2, 3]


def test_what_is_held_back_within_another_parcel():
    """Is delivered with that one."""
    into = sequencer()
    arrive(into, 1, 5)
    into.arrived(unsigned(4, 3), 0.0)
    assert into.held_parcels == 2

    assert arrive(into, 2, 3) == [2, 3, 4, 5, 6]
    assert (into.held_parcels, into.held_bytes) == (0, 0)


@pytest.mark.parametrize("limits", [{"held_parcels": 3}, {"held_bytes": 300}])
def test_what_is_held_back_is_bounded(limits):
    """The oldest gap is given up early then, and told."""
    into = sequencer(**limits)
    arrive(into, 1, 3, 5, 7)

    assert arrive(into, 9) == [(2, 2), 3]
    assert (into.held_parcels, into.held_bytes, into.counted.early, into.counted.markers) == (3, 300, 1, 1)
    assert arrive(into, 2) == []
    assert arrive(into, 4, 6, 8) == [4, 5, 6, 7, 8, 9]


def test_the_chain_that_holds_back_most_pays():
    """Not one that waits for a single parcel."""
    into = sequencer(held_parcels=5)
    arrive(into, 1, 3)
    for first in (1, 3, 5, 7, 9):
        found = into.arrived(unsigned(first, chain=chain_of(9)), 0.0)
    assert found == []

    found = into.arrived(unsigned(11, chain=chain_of(9)), 0.0)

    assert numbers(found) == [(2, 2), 3]
    assert found[0].chain == chain_of(9)
    assert arrive(into, 2) == [2, 3]


def test_chains_are_bounded():
    """The one that was idle longest goes, with markers for what it missed; its place stays known."""
    into = sequencer(chains=2)
    arrive(into, 1, 3)
    for number in (1, 2):
        found = into.arrived(unsigned(1, chain=chain_of(number)), float(number))

    assert numbers(found) == [(2, 2), 3, 1]
    assert len(into) == 2
    assert into.position(CHAIN) == 4
    assert into.held_parcels == 0
    assert arrive(into, 2, now=3.0) == []
    assert arrive(into, 4, now=3.0) == [4]


def test_what_a_chain_misses_when_it_goes_is_told():
    """With what it held back, in order."""
    into = sequencer(chains=1)
    arrive(into, 1, 3)
    into.begin(chain_of(1), 0, 1.0)

    assert into.due() == 1.0
    assert numbers(into.given_up(1.0)) == [(2, 2), 3]
    assert into.due() is None


def test_a_chain_that_has_gone_does_not_begin_anew():
    """What others still have of it was delivered."""
    into = sequencer(idle_s=600.0)
    arrive(into, 1, 2)
    into.begin(chain_of(1), 0, 601.0)
    assert len(into) == 1

    into.heads(CHAIN, 1, 2, "a", 602.0)
    assert (into.due(), len(into)) == (None, 1)
    into.heads(CHAIN, 1, 3, "a", 602.0)
    assert wanted(into, 603.0) == [(3, 3)]


def test_the_words_of_too_many_neighbours():
    """Are not all kept; nor does a gap become pieces without end."""
    into = sequencer()
    arrive(into, 1, 1_000)
    for number in range(2, 900):
        into.heads(CHAIN, number, 1_000, f"peer {number}", 0.0)
        into.heads(CHAIN, number, 1_000, "peer 2", 0.0)

    wants = into.wants(SOON_S)
    assert len(wants) <= 40
    assert max(len(want.holders) for want in wants) <= 32
    assert arrive(into, *range(2, 1_000)) == list(range(2, 1_001))
    assert into.due() is None
