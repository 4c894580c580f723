"""One stream at one node, with links whose other ends are the test."""

from __future__ import annotations

import asyncio
import time

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from support.fake_link import FakeLink
from support.overlay import Recorder, items, until

from triplewire.broker.errors import ProtocolError
from triplewire.broker.overlay_config import RelayConfig
from triplewire.gates.relay.counted import Counted
from triplewire.gates.relay.forwarding import Forwarding
from triplewire.gates.relay.messages import Absent, Certified, Heads, Resent, Wanted
from triplewire.gates.relay.parcels import Parcel, seal
from triplewire.gates.relay.tickets import Certificate

KEY = Ed25519PrivateKey.generate()
CHAIN = b"12345678"


class Here:
    """The stream at a node with three neighbours, and one chain of somebody else's."""

    def __init__(self, **settings):
        self.counted = Counted()
        self.sink = Recorder()
        self.asked_origin = []
        self.forgotten = []
        self.forwarding = Forwarding(
            self.sink,
            RelayConfig(**settings),
            self.counted,
            lambda certificate, want: self.asked_origin.append((certificate.node, want.first, want.last)),
            self.forgotten.append,
            lambda: False,
        )
        self.links = [FakeLink(name) for name in "abc"]
        for link in self.links:
            self.forwarding.share(link)
        assert self.certify(CHAIN)

    def certify(self, chain, key=KEY, expires=None, source="a", node="origin"):
        expires = time.time() + 100 if expires is None else expires
        found = Certificate(
            "news", chain, key.public_key(), "me", node, "ws://x:1/links", time.time(), expires, "t"
        )
        return self.forwarding.certified(found, "a.b.c", source)


@pytest.fixture
async def here():
    found = Here()
    yield found
    await found.forwarding.close()


def parcel(first, count=1, chain=CHAIN, key=KEY):
    return seal(chain, first, items(count), key)


async def test_a_parcel_goes_on_once_to_all_but_where_it_came_from(here):
    """The same bytes; a second copy goes nowhere, and is counted."""
    a, b, c = here.links
    one = parcel(1, 3)
    here.forwarding.came(one, a)
    here.forwarding.came(one, b)
    assert (a.of(Parcel), b.of(Parcel), c.of(Parcel)) == ([], [one], [one])
    assert (here.counted.duplicates, here.counted.duplicate_items, here.counted.items) == (1, 3, 3)
    await until(lambda: len(here.sink.ids) == 3)
    assert here.sink.publishers == {"me"}


async def test_a_certificate_goes_on_where_it_is_news(here):
    """Once, and again when it is renewed."""
    a, b, _ = here.links
    assert (len(a.of(Certified)), len(b.of(Certified))) == (0, 1)
    assert here.certify(CHAIN, expires=time.time() + 50)
    assert len(b.of(Certified)) == 1
    assert here.certify(CHAIN, expires=time.time() + 500)
    assert len(b.of(Certified)) == 2


async def test_a_forged_parcel_ends_its_link_and_hides_nothing(here):
    """Whether it says that it was asked for or not."""
    forged = parcel(1, key=Ed25519PrivateKey.generate())
    for give in (here.forwarding.came, here.forwarding.resent):
        with pytest.raises(ProtocolError, match="not signed"):
            give(forged, here.links[0])
    here.forwarding.came(parcel(1), here.links[1])
    assert here.counted.forged == 2 and here.counted.items == 1


async def test_what_was_asked_for_is_not_passed_on_but_news_is(here):
    """A neighbour can't stop what is new by calling it resent; who says that it has it is not given it."""
    a, b, c = here.links
    here.forwarding.came(parcel(1), a)
    here.forwarding.came(parcel(5), a)
    filling = parcel(2)
    here.forwarding.resent(filling, a)
    assert filling not in b.said
    here.forwarding.heads(Heads({CHAIN: (1, 9)}), b)
    news = parcel(9)
    here.forwarding.resent(news, a)
    assert news not in a.said and news not in b.said and news in c.said


async def test_a_newcomer_is_told_what_there_is(here):
    """Certificates, and of each chain what is kept; of one of which nothing is kept, what comes next."""
    here.forwarding.heads(Heads({CHAIN: (7, 6)}), here.links[0])
    here.forwarding.came(parcel(7, 2), here.links[0])
    late = FakeLink("late")
    here.forwarding.share(late)
    assert [type(each) for each in late.said] == [Certified, Heads]
    assert late.of(Heads) == [Heads({CHAIN: (7, 8)})]
    here.forwarding._kept.expire(asyncio.get_running_loop().time() + 1000)
    later = FakeLink("later")
    here.forwarding.share(later)
    assert later.of(Heads) == [Heads({CHAIN: (9, 8)})]


async def test_quiet_chains_are_told_once(here):
    """Half a second after their last parcel, to all neighbours, and then no more."""
    here.forwarding.came(parcel(1), here.links[0])
    here.forwarding.tick()
    assert not here.links[1].of(Heads)

    def told():
        here.forwarding.tick()
        return here.links[1].of(Heads) == [Heads({CHAIN: (1, 1)})]

    await until(told, 3)
    here.forwarding.tick()
    assert all(len(link.of(Heads)) == 1 for link in here.links)


async def test_who_misses_something_is_given_it_and_then_told_what_is_not_here(here):
    """In this order, or it would ask somebody else for what is under way."""
    a = here.links[0]
    there = [parcel(3), parcel(4), parcel(8)]
    for each in there:
        here.forwarding.came(each, here.links[1])
    a.said.clear()
    here.forwarding.wanted(Wanted(CHAIN, 1, 10), a)
    assert a.said == [
        *map(Resent, there),
        Absent(CHAIN, 1, 2),
        Absent(CHAIN, 5, 7),
        Absent(CHAIN, 9, 10),
        Heads({CHAIN: (3, 8)}),
    ]
    a.said.clear()
    here.forwarding.wanted(Wanted(CHAIN, 3, 4), a)
    assert a.said == [Resent(there[0]), Resent(there[1])]


async def test_strangers_are_given_only_what_begins_here(here):
    """A ticket for the stream is enough to ask the origin, and for nothing else."""
    x = FakeLink("x")
    here.forwarding.came(parcel(1), here.links[0])
    here.forwarding.wanted(Wanted(CHAIN, 1, 1), x)
    assert x.said == [] and here.counted.resent_refused == 1
    own = b"87654321"
    here.certify(own)
    here.forwarding.publish(parcel(1, chain=own))
    here.forwarding.wanted(Wanted(own, 1, 1), x)
    assert len(x.of(Resent)) == 1


async def test_resending_is_bounded_by_node():
    """As much in a second as a queue holds, whether the link is a new one or not; other nodes have their own."""
    here = Here(link_bytes=20_000)
    a, b, _ = here.links
    for number in range(1, 101):
        here.forwarding.came(parcel(number), b)
    for _ in range(20):
        here.forwarding.wanted(Wanted(CHAIN, 1, 100), a)
        here.forwarding.unshare("a")
        a.said = a.of(Resent)
        here.forwarding.share(a)
    assert 0 < len(a.of(Resent)) < 120
    assert here.counted.resent_refused >= 18
    here.forwarding.wanted(Wanted(CHAIN, 1, 2), here.links[2])
    assert len(here.links[2].of(Resent)) == 2
    await here.forwarding.close()


async def test_what_is_missing_is_asked_of_who_has_it_then_of_others_then_of_the_origin(here):
    """One after the other, as each says that it has it not."""
    a, b, c = here.links
    here.forwarding.came(parcel(1), a)
    here.forwarding.heads(Heads({CHAIN: (1, 3)}), b)
    here.forwarding.came(parcel(4), a)
    await until(lambda: b.of(Wanted))
    assert b.of(Wanted)[0] == Wanted(CHAIN, 2, 3)
    for link in (b, a, c, b):
        for want in link.of(Wanted)[-1:]:
            here.forwarding.absent(Absent(*(want.chain, want.first, want.last)), link)
    for _ in range(3):
        for link in here.links:
            if link.of(Wanted):
                here.forwarding.absent(Absent(CHAIN, 2, 3), link)
    assert a.of(Wanted) and c.of(Wanted)
    assert ("origin", 2, 3) in here.asked_origin
    here.forwarding.resent(parcel(2, 2), a)
    await until(lambda: len(here.sink.ids) == 4)


async def test_who_is_gone_is_not_waited_for(here):
    """What was asked of a neighbour whose link ends is asked of another at once."""
    _, b, _ = here.links
    here.forwarding.came(parcel(1), b)
    here.forwarding.heads(Heads({CHAIN: (1, 3)}), b)
    here.forwarding.came(parcel(4), b)
    await until(lambda: b.of(Wanted))
    here.forwarding.unshare("b")
    assert any(link.of(Wanted) for link in here.links if link is not b)


async def test_chains_are_bounded_and_let_go():
    """More than there may be are refused; one that has been idle for too long goes, with all that was kept of it."""
    here = Here(chains=2, chain_idle_s=0.2)
    here.forwarding.came(parcel(1), here.links[0])
    assert here.certify(b"second..")
    assert not here.certify(b"third...")
    await asyncio.sleep(0.25)
    assert here.certify(b"third...")
    assert sorted(here.forgotten) == sorted([CHAIN, b"second.."])
    assert list(here.forwarding.chains()) == [b"third..."]
    await here.forwarding.close()


async def test_nobody_forgets_a_chain_sooner_than_its_publisher():
    """What is renewed is alive; and who publishes begins a new one before the last is forgotten elsewhere."""
    here = Here(chain_idle_s=1.0)
    assert here.certify(b"mine....", source="")
    here.forwarding.publish(parcel(1, chain=b"mine...."))
    await asyncio.sleep(0.8)
    assert here.certify(CHAIN, expires=time.time() + 500)
    assert here.certify(b"mine....", expires=time.time() + 500, source="")
    now = asyncio.get_running_loop().time()
    here.forwarding._expire(now)
    assert here.forgotten == [b"mine...."]
    here.forwarding._expire(now + 0.9)
    assert here.forgotten == [b"mine...."]
    here.forwarding._expire(now + 1.1)
    assert here.forgotten == [b"mine....", CHAIN]
    await here.forwarding.close()


async def test_what_is_waited_for_is_told_as_well(here):
    """Who hears of a chain by one that still waits for its first items wants these, too, and nothing is passed over."""
    a, *_ = here.links
    here.forwarding.heads(Heads({CHAIN: (1, 5)}), a)
    here.forwarding.came(parcel(6), a)
    late = FakeLink("late")
    here.forwarding.share(late)
    (heads,) = late.of(Heads)
    assert heads.heads == {CHAIN: (1, 6)}
    # As it is heard there
    there = Here()
    there.forwarding.heads(heads, there.links[0])
    there.forwarding.came(parcel(7), there.links[0])
    for number in range(1, 7):
        there.forwarding.resent(parcel(number), there.links[1])
    await until(lambda: len(there.sink.ids) == 7)
    assert not there.sink.gaps
    await there.forwarding.close()


async def test_what_heads_told_of_is_asked_for_over_the_next_link():
    """A link that ends before anything was asked over it takes its words along: those of the next one are news."""
    here = Here(gap_tries=1)
    a, b, c = here.links
    here.forwarding.came(parcel(1), a)
    for link in (b, c):
        here.forwarding.unshare(link.peer)
    here.forwarding.heads(Heads({CHAIN: (1, 5)}), a)
    here.forwarding.unshare("a")
    await asyncio.sleep(0.1)  # then it was to be asked for
    again = FakeLink("a")
    here.forwarding.share(again)
    here.forwarding.heads(Heads({CHAIN: (1, 5)}), again)
    await until(lambda: again.of(Wanted) == [Wanted(CHAIN, 2, 5)], 1)
    await here.forwarding.close()


@pytest.mark.parametrize("tries", [1, 5])
async def test_heads_that_come_before_the_stream_is_shared_count_once_it_is(tries):
    """The other end may share it a while before this one does, and says what it has only then."""
    here = Here(gap_tries=tries)
    a, *others = here.links
    here.forwarding.came(parcel(1), a)
    for link in (a, *others):
        here.forwarding.unshare(link.peer)
    late = FakeLink("late")
    here.forwarding.heads(Heads({CHAIN: (1, 5)}), late)
    await asyncio.sleep(1.2)
    here.forwarding.share(late)
    await until(lambda: late.of(Wanted) == [Wanted(CHAIN, 2, 5)], 1)
    await here.forwarding.close()
