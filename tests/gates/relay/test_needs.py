"""Certificates that are missing: who is asked for which, how many at a time, and what happens when they don't come."""

from __future__ import annotations

import pytest
from support.chained import CHAIN, chain_of
from support.fake_link import FakeLink

from triplewire.gates.relay.messages import MOST_NEEDED, Need
from triplewire.gates.relay.needs import Head, Needs

HEAD = Head(1, 5, 3)


def asked(link):
    """For how many, each time."""
    return [len(need.chains) for need in link.of(Need)]


def test_so_many_are_asked_for_at_a_time():
    """The next when these have come; what was said of each is given back with it."""
    needs, link = Needs(1_000), FakeLink("a")
    chains = [chain_of(number) for number in range(2 * MOST_NEEDED + 50)]
    for chain in chains:
        needs.told(chain, link, HEAD)
    needs.ask(0.0)
    for number, chain in enumerate(chains):
        assert len(asked(link)) == number // MOST_NEEDED + 1
        assert needs.came(chain, 0.1) == {link: HEAD}
    assert asked(link) == [MOST_NEEDED, MOST_NEEDED, 50]
    assert [chain for need in link.of(Need) for chain in need.chains] == chains
    assert len(needs) == 0 and needs.came(CHAIN, 0.2) == {}


def test_only_the_first_that_speaks_of_a_chain_is_asked():
    """The next where it does not answer in time; who says more later has the last word."""
    needs, a, b = Needs(1_000), FakeLink("a"), FakeLink("b")
    needs.told(CHAIN, a, HEAD)
    needs.ask(0.0)
    needs.told(CHAIN, b, Head(4, 9, 4))
    needs.told(CHAIN, a, Head(1, 6, 3))
    needs.told(CHAIN, b)
    needs.ask(0.9)
    assert (asked(a), asked(b)) == ([1], [])
    needs.ask(1.0)
    assert (asked(a), asked(b)) == ([1], [1])
    assert needs.came(CHAIN, 1.1) == {a: Head(1, 6, 3), b: Head(4, 9, 4)}


def test_who_makes_up_chains_is_asked_in_vain_three_times():
    """Others are asked for theirs all the while."""
    needs, liar, b = Needs(1_000), FakeLink("liar"), FakeLink("b")
    for number in range(500):
        needs.told(chain_of(number), liar, HEAD)
    needs.ask(0.0)
    needs.told(CHAIN, b, HEAD)
    now = 0.0
    while len(needs) > 1:
        now += 1.0
        needs.ask(now)
        assert now < 100
    assert asked(b)[0] == 1
    assert sum(asked(liar)) == 1_500


def test_who_makes_up_chains_keeps_nobody_from_being_asked_for_theirs():
    """However many, again and again: each has its own bound."""
    needs, liar, b = Needs(1_000), FakeLink("liar"), FakeLink("b")
    made_up = 0
    for now in range(20):
        for _ in range(1_000):
            needs.told(chain_of(made_up := made_up + 1), liar, HEAD)
        needs.parcel(CHAIN, b, float(now))
        assert asked(b) == [1] * (now + 1)
        assert needs.came(CHAIN, now + 0.1) == {b: None}


@pytest.mark.parametrize("liar_is_first", [True, False])
def test_who_makes_up_chains_hides_no_true_one_among_them(liar_is_first):
    """Where another speaks of it as well, it does not wait for its turn there."""
    needs, liar, b = Needs(1_000), FakeLink("liar"), FakeLink("b")
    for number in range(MOST_NEEDED):
        needs.told(chain_of(number), liar, HEAD)
    for link in (liar, b) if liar_is_first else (b, liar):
        needs.told(CHAIN, link, HEAD)
    needs.ask(0.0)
    assert asked(b) == [1]


def test_chains_are_bounded():
    """However many there are said to be, by however many."""
    needs, links = Needs(10), [FakeLink(str(number)) for number in range(100)]
    for number in range(100):
        needs.told(chain_of(number), links[0], HEAD)
    assert len(needs) == 10
    for number, link in enumerate(links[1:]):
        for which in range(100):
            needs.told(chain_of(100 * number + which), link, HEAD)
    assert 80 <= len(needs) < 300


def test_a_link_that_ends_can_not_be_asked():
    """Its turn is another's that spoke of the chain; what it alone spoke of is forgotten."""
    needs, a, b = Needs(1_000), FakeLink("a"), FakeLink("b")
    for number in range(2):
        needs.told(chain_of(number), a, HEAD)
    needs.told(chain_of(1), b, HEAD)
    needs.ask(0.0)
    needs.closed(a)
    needs.ask(0.1)
    assert [need.chains for need in b.of(Need)] == [(chain_of(1),)]
    needs.closed(b)
    needs.closed(b)
    assert len(needs) == 0


def test_parcels_are_believed_once_in_a_second():
    """Of each link: anybody can make up a chain."""
    needs, a, b = Needs(1_000), FakeLink("a"), FakeLink("b")
    for number in range(100):
        needs.parcel(chain_of(number), a, number / 100)
    needs.parcel(CHAIN, b, 0.5)
    assert (len(needs), asked(a), asked(b)) == (2, [1], [1])
    needs.came(chain_of(0), 1.0)
    needs.parcel(chain_of(0), a, 1.0)
    assert asked(a) == [1, 1]
    assert needs.came(chain_of(0), 1.1) == {a: None}
