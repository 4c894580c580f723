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
from triplewire.gates.relay import gaps
from triplewire.gates.relay.counted import Counted
from triplewire.gates.relay.forwarding import Forwarding
from triplewire.gates.relay.messages import MOST_NEEDED, Absent, Certified, Heads, Resent, Wanted, decode
from triplewire.gates.relay.needs import Head
from triplewire.gates.relay.parcels import Parcel, seal
from triplewire.gates.relay.tickets import Certificate

KEY = Ed25519PrivateKey.generate()
CHAIN, OTHER = b"12345678", b"abcdefgh"


class Here:
    """The stream at a node with three neighbours, or others, and one chain, which begins or `begun`; without a `source` its own."""

    def __init__(self, links="abc", *, begun=False, source="a", **settings):
        self.name = f"node {id(self)}"
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
        self.links = [FakeLink(name) for name in links]
        for link in self.links:
            self.forwarding.share(link)
        assert self.certify(CHAIN, begun=begun, source=source)

    def certify(self, chain, key=KEY, expires=None, source="a", node="origin", **more):
        expires = time.time() + 100 if expires is None else expires
        found = Certificate("news", chain, key.public_key(), "me", node, "ws://x:1/links", expires)
        return self.forwarding.certified(found, "a.b.c", source, **more)


class Wire:
    """One end of a link; what is said over it is heard at the other one in the next step, as long as there is one."""

    waiting_bytes = 0
    rtt_ms = 1.0

    def __init__(self, peer, there):
        self.peer = peer
        self.there = there
        self.back = None
        self.said = []

    def send(self, message):
        for each in decode(message):
            self.said.append(each)
            asyncio.get_running_loop().call_soon(self._arrive, each)

    send_parcel = send

    def _arrive(self, message):
        if self.back.peer not in self.there.forwarding:
            return
        there = self.there.forwarding
        match message:
            case Parcel():
                there.came(message, self.back)
            case Resent():
                there.resent(message.parcel, self.back)
            case Heads():
                there.heads(message, self.back)
            case Wanted():
                there.wanted(message, self.back)
            case Absent():
                there.absent(message, self.back)


def link(one, other):
    """Two nodes share the stream."""
    there, here = Wire(other.name, other), Wire(one.name, one)
    there.back, here.back = here, there
    one.forwarding.share(there)
    other.forwarding.share(here)
    return there


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


async def test_a_newcomer_is_told_what_there_is():
    """Of each chain what is kept; of one of which nothing is kept, what comes next.  Of what is old that it is."""
    here = Here(begun=True, kept_bytes=1_200, backfill_s=0.2)
    here.certify(OTHER, begun=True)
    here.forwarding.came(parcel(7, 2), here.links[0])
    late = FakeLink("late")
    here.forwarding.share(late)
    assert late.said == [Certified("a.b.c", begun=True), Heads({CHAIN: (7, 8)})]
    await asyncio.sleep(0.25)
    here.forwarding.came(parcel(9), here.links[0])
    later = FakeLink("later")
    here.forwarding.share(later)
    assert later.of(Heads) == [Heads({CHAIN: (7, 9)}, {CHAIN: 9})]
    here.forwarding.came(parcel(1, 5, chain=OTHER), here.links[0])
    latest = FakeLink("latest")
    here.forwarding.share(latest)
    assert latest.of(Heads) == [Heads({CHAIN: (10, 9)}), Heads({OTHER: (1, 5)})]
    await here.forwarding.close()


async def test_certificates_are_for_those_who_need_them(here):
    """A newcomer is given those of which parcels come at once: of chains that begin, are busy, or are published here; else it asks."""
    here.certify(OTHER, begun=True)
    here.certify(b"busy....", begun=True)
    here.forwarding.came(parcel(7, chain=b"busy...."), here.links[0])
    here.certify(b"mine....", source="")
    here.forwarding.publish(parcel(1, chain=b"mine...."))
    here.certify(b"ended...", expires=time.time() - 1)
    late = FakeLink("late")
    here.forwarding.share(late)
    begun, begins = Certified("a.b.c", begun=True), Certified("a.b.c")
    assert late.said == [
        *(begun, Heads({b"mine....": (1, 1)})),
        *(begins, Heads({CHAIN: (1, 0)})),
        *(begun, Heads({b"busy....": (7, 7)})),
        Heads({b"ended...": (1, 0)}),
    ]
    late.said.clear()
    for chain in (OTHER, CHAIN, b"ended..."):
        here.forwarding.needed(chain, late)
    assert late.said == [begun, begins, Heads({CHAIN: (1, 0)})]
    late.said.clear()
    here.forwarding.needed(b"busy....", late)
    assert late.said == [begun, Heads({b"busy....": (7, 7)})]
    here.forwarding.needed(CHAIN, stranger := FakeLink("x"))
    here.forwarding.needed(b"mine....", stranger)
    assert stranger.said == [begun]
    assert here.forwarding.lacks(b"ended...") and not here.forwarding.lacks(CHAIN)


async def test_certificates_are_given_at_a_bounded_rate():
    """As all else that is asked for."""
    here = Here(link_bytes=100)
    for _ in range(1_000):
        here.forwarding.needed(CHAIN, here.links[1])
    assert 0 < len(here.links[1].of(Certified)) < 200
    assert here.counted.resent_refused > 800
    await here.forwarding.close()


async def test_a_new_link_of_many_chains_is_a_small_thing():
    """Ten thousand of them: their heads, and few certificates, however many have not begun."""
    here = Here("a")
    for number in range(9_999):
        chain = number.to_bytes(8, "big")
        here.certify(chain, begun=bool(number % 2))
        if number % 2:
            here.forwarding._chains[chain].newest = number
    late = FakeLink("late")
    here.forwarding.share(late)
    assert len(late.of(Certified)) == MOST_NEEDED
    assert sum(len(heads.heads) for heads in late.of(Heads)) == 10_000
    assert late.bytes < 250_000
    await here.forwarding.close()


async def test_a_chain_that_has_begun_is_passed_on_as_such():
    """To those who have not spoken of it; one that begins to all, and its items are wanted from the first on."""
    here = Here()
    a, b, c = here.links
    here.certify(OTHER, begun=True, told={b: Head(3, 2, 3)})
    assert (a.said, b.said) == ([], [Certified("a.b.c")])
    assert c.said == [Certified("a.b.c"), Certified("a.b.c", begun=True), Heads({OTHER: (3, 2)})]
    here.forwarding.came(parcel(3, chain=OTHER), b)
    here.forwarding.came(parcel(3), b)
    await until(lambda: len(here.sink.ids) == 1)
    here.forwarding.came(parcel(1, 2), c)
    await until(lambda: len(here.sink.ids) == 4)
    assert not here.sink.gaps
    await here.forwarding.close()


async def test_of_a_chain_that_is_published_here_nobody_elses_word_counts():
    """A neighbour has heard of it before its first item, and of that it is to begin; newcomers want what is new, all the same."""
    here = Here("a", source="", backfill_s=0.05)
    here.forwarding.share(other := FakeLink("b"))
    here.forwarding.heads(Heads({CHAIN: (1, 0)}), other)
    here.forwarding.publish(parcel(1, 3))
    await asyncio.sleep(0.06)
    here.forwarding.publish(parcel(4))
    here.forwarding.share(newcomer := FakeLink("c"))
    assert newcomer.of(Heads) == [Heads({CHAIN: (1, 4)}, {CHAIN: 4})]
    await here.forwarding.close()


async def test_certificates_of_quiet_chains_are_not_for_each_new_link(monkeypatch):
    """Those of which parcels may be under way are, for a moment."""
    monkeypatch.setattr("triplewire.gates.relay.forwarding._BEGINS_S", 0.1)
    here = Here(begun=True)
    here.forwarding.heads(Heads({CHAIN: (3, 5)}), here.links[0])
    here.forwarding.share(soon := FakeLink("d"))
    assert soon.said == [Certified("a.b.c", begun=True), Heads({CHAIN: (3, 2)})]
    await asyncio.sleep(0.11)
    here.forwarding.share(late := FakeLink("e"))
    assert late.said == [Heads({CHAIN: (3, 2)})]
    await here.forwarding.close()


async def test_who_comes_back_to_a_stream_waits_for_nothing_that_is_too_old():
    """It goes on with what others have by then, and one marker tells of the rest, at once."""
    here = Here("a", begun=True, backfill_s=0.05)
    (a,) = here.links
    here.forwarding.came(parcel(1, 3), a)
    here.forwarding.unshare("a")
    here.forwarding.leave()
    here.forwarding.share(b := FakeLink("b"))
    here.forwarding.heads(Heads({CHAIN: (8, 9)}, {CHAIN: 9}), b)
    here.forwarding.came(parcel(10), b)
    await until(lambda: here.sink.gaps == [(CHAIN.hex(), 4, 7)], 0.3)
    await until(lambda: b.of(Wanted) == [Wanted(CHAIN, 8, 9)])
    here.forwarding.resent(parcel(8, 2), b)
    await until(lambda: len(here.sink.ids) == 6)
    assert len(here.sink.gaps) == 1
    await here.forwarding.close()


async def test_where_a_chain_begins_is_passed_on_before_anything_of_it():
    """A publisher's new neighbour asks it for the first items, while the next ones go on: the others want the first as well."""
    here = Here()
    a, b, c = here.links
    b.said.clear()
    here.certify(OTHER, begun=True)
    assert not b.said and not c.of(Heads)
    here.forwarding.heads(Heads({OTHER: (1, 3)}), a)
    told = [Certified("a.b.c", begun=True), Heads({OTHER: (1, 0)})]
    assert b.said == told
    first, fourth = parcel(1, 3, chain=OTHER), parcel(4, chain=OTHER)
    here.forwarding.came(fourth, a)
    here.forwarding.resent(first, a)
    assert b.said == [*told, fourth]

    there = Here("xyz")  # what one of them makes of it
    x, y, _ = there.links
    there.certify(OTHER, begun=True, source="x")
    there.forwarding.heads(Heads({OTHER: (1, 0)}), x)
    there.forwarding.came(fourth, x)
    there.forwarding.came(first, y)
    await until(lambda: len(there.sink.ids) == 4)
    assert not there.counted.late
    for each in (here, there):
        await each.forwarding.close()


async def test_a_chain_of_which_nobody_says_where_it_begins_begins_with_its_first_parcel():
    """That is passed on as well; or who heard of it sooner says that it begins now."""
    here = Here(begun=True)
    b = here.links[1]
    fifth = parcel(5)
    here.forwarding.came(fifth, here.links[0])
    assert b.said == [Certified("a.b.c", begun=True), Heads({CHAIN: (5, 4)}), fifth]
    b.said.clear()
    here.certify(OTHER, begun=True, expires=(later := time.time() + 60))
    here.certify(OTHER, expires=later, source="c")
    assert b.said == [Certified("a.b.c")]
    here.forwarding.came(parcel(3, chain=OTHER), here.links[2])
    here.forwarding.came(parcel(1, 2, chain=OTHER), here.links[0])
    await until(lambda: len(here.sink.ids) == 4)
    await here.forwarding.close()


async def test_the_first_items_may_come_in_any_order_at_any_time(here, monkeypatch):
    """The chain was certified a while ago; what is overtaken is none that was here already."""
    loop = asyncio.get_running_loop()
    now = loop.time
    monkeypatch.setattr(loop, "time", lambda: now() + 60)
    for first in (3, 1, 2):
        here.forwarding.came(parcel(first), here.links[1])
    await until(lambda: len(here.sink.ids) == 3)
    assert here.counted.duplicates == 0


async def test_what_a_quiet_chain_published_while_two_were_apart_comes():
    """It is kept, though it is older than what newcomers are given."""
    settings = {"backfill_s": 0.05, "silent_s": 0.05, "ping_s": 0.05}
    one, other = Here("", source="", **settings), Here("", **settings)
    link(one, other)
    one.forwarding.publish(parcel(1))
    await until(lambda: len(other.sink.ids) == 1)
    other.forwarding.unshare(one.name)
    one.forwarding.publish(parcel(2, 3))
    await asyncio.sleep(0.15)
    one.forwarding.unshare(other.name)
    assert not one.forwarding.alone
    link(one, other)
    await until(lambda: len(other.sink.ids) == 4, 3)
    newcomer = Here("", begun=True, **settings)
    link(one, newcomer)
    one.forwarding.publish(parcel(5))
    await until(lambda: len(newcomer.sink.ids) == 1)
    assert not other.sink.gaps and not newcomer.sink.gaps
    for each in (one, other, newcomer):
        await each.forwarding.close()


async def test_what_a_quiet_chain_published_meanwhile_and_nobody_keeps_is_told(monkeypatch):
    """Its last item is kept where it begins, and by others while there is room: it proves that there were more."""
    monkeypatch.setattr(gaps, "_LAST_WAIT_S", 0.1)
    settings = {"kept_s": 0.1, "backfill_s": 0.1, "silent_s": 0.05, "ping_s": 0.05, "gap_tries": 1}
    one, between, other = (Here("", source=source, **settings) for source in ("", "a", "a"))
    other.forwarding.expect(50.0)
    link(one, other)
    link(one, between)
    one.forwarding.publish(parcel(1))
    await until(lambda: len(other.sink.ids) == len(between.sink.ids) == 1)
    other.forwarding.unshare(one.name)
    for number in range(2, 6):
        one.forwarding.publish(parcel(number))
    await until(lambda: len(between.sink.ids) == 5)
    await asyncio.sleep(0.15)
    for each in (one, between):
        each.forwarding.tick()
    link(between, other)
    await until(lambda: len(other.sink.ids) == 2, 5)
    assert other.sink.gaps == [(CHAIN.hex(), 2, 4)]
    for each in (one, between, other):
        await each.forwarding.close()


@pytest.mark.parametrize(("is_new", "first"), [(True, 3), (False, 1)])
async def test_how_much_is_wanted_of_a_chain_that_never_was_here(is_new, first):
    """What is not too old for a newcomer; and all, where it may have begun while this node was there and apart."""
    here = Here("ab", kept_s=0.2, backfill_s=0.1)
    if not is_new:
        await asyncio.sleep(0.11)
    here.certify(OTHER, begun=True)
    here.forwarding.heads(Heads({OTHER: (1, 4)}, {OTHER: 3}), here.links[1])
    await until(lambda: here.links[1].of(Wanted) == [Wanted(OTHER, first, 4)])
    await here.forwarding.close()


async def test_what_the_last_neighbour_may_not_have_had_is_kept_for_the_next():
    """It may have been dead for as long as that is noticed; so may be one that was given it again."""
    here = Here("a", silent_s=0.2, ping_s=0.1)
    here.certify(b"mine....", source="")
    here.forwarding.publish(parcel(1, chain=b"mine...."))
    await asyncio.sleep(0.35)
    some = [parcel(number, chain=b"mine....") for number in (2, 3)]
    for each in some:
        here.forwarding.publish(each)
    here.forwarding.unshare("a")
    assert here.forwarding.alone
    for name in "bc":
        here.forwarding.share(next_one := FakeLink(name))
        assert next_one.of(Parcel) == some and not here.forwarding.alone
        here.forwarding.unshare(name)
        assert here.forwarding.alone
    here.forwarding.share(FakeLink("d"))
    await asyncio.sleep(0.35)
    here.forwarding.unshare("d")
    assert not here.forwarding.alone
    await here.forwarding.close()


async def test_whom_a_lone_publisher_gives_what_nobody_has_knows_that_it_is_not_the_first():
    """What was before it is told first: there is no gap for a newcomer."""
    one = Here("a", source="")
    for number in range(1, 6):
        one.forwarding.publish(parcel(number))
    one.forwarding._kept.expire(asyncio.get_running_loop().time() + 1000)
    await asyncio.sleep(0.01)
    one.forwarding.unshare("a")
    one.forwarding.publish(parcel(6))
    newcomer = Here("", begun=True)
    said = link(one, newcomer).said
    assert [type(each) for each in said if not isinstance(each, Certified)][:2] == [Heads, Parcel]
    await until(lambda: newcomer.sink.ids)
    assert not newcomer.sink.gaps
    for each in (one, newcomer):
        await each.forwarding.close()


async def test_what_went_before_a_slow_sink_had_room_for_it_is_asked_for():
    """It was here already, and is taken again."""
    here = Here("a", sink_parcels=2, kept_bytes=3_000)
    here.forwarding.expect(50.0)
    here.sink.may_take = asyncio.Event()
    some = [parcel(number) for number in range(1, 41)]
    for each in some:
        here.forwarding.came(each, here.links[0])
    assert here.counted.items == 40
    here.sink.may_take.set()

    async def answer():
        asked = 0
        while len(here.sink.ids) < 40:
            for want in here.links[0].of(Wanted)[asked:]:
                asked += 1
                for each in some[want.first - 1 : want.last]:
                    here.forwarding.resent(each, here.links[0])
                    await asyncio.sleep(0)
            await asyncio.sleep(0.01)

    await asyncio.wait_for(answer(), 10)
    assert here.sink.ids == sorted(here.sink.ids) and not here.sink.gaps
    assert here.counted.items == 40 and here.counted.wants
    here.forwarding.resent(some[5], here.links[0])
    assert len(here.sink.ids) == 40
    await here.forwarding.close()


async def test_what_went_whole_before_a_slow_sink_had_room_for_it_is_told(monkeypatch):
    """Nothing follows in its chain, and nobody has it."""
    monkeypatch.setattr(gaps, "_LAST_WAIT_S", 0.1)
    here = Here("a", sink_parcels=1, kept_bytes=2_000, gap_tries=1)
    here.forwarding.expect(50.0)
    here.certify(OTHER)
    here.sink.may_take = asyncio.Event()
    here.forwarding.came(parcel(1), here.links[0])
    here.forwarding.came(parcel(1, 3, chain=OTHER), here.links[0])
    for number in range(2, 30):
        here.forwarding.came(parcel(number), here.links[0])
    here.sink.may_take.set()
    await until(lambda: (OTHER.hex(), 1, 3) in here.sink.gaps, 5)
    await here.forwarding.close()


async def test_what_is_said_while_a_sink_is_too_slow_counts_later():
    """That there is more of the chain."""
    here = Here("a", sink_parcels=1)
    here.sink.may_take = asyncio.Event()
    for number in range(1, 4):
        here.forwarding.came(parcel(number), here.links[0])
    here.forwarding.heads(Heads({CHAIN: (1, 5)}), here.links[0])
    here.sink.may_take.set()
    await until(lambda: here.links[0].of(Wanted) == [Wanted(CHAIN, 4, 5)], 3)
    await here.forwarding.close()


async def test_what_is_given_up_is_counted(monkeypatch):
    """Gaps and their items, what comes too late, and what was spoken of and did not come."""
    monkeypatch.setattr(gaps, "_LAST_WAIT_S", 0.1)
    here = Here("a", gap_tries=1)
    here.forwarding.expect(50.0)
    here.forwarding.came(parcel(1), here.links[0])
    here.forwarding.came(parcel(4), here.links[0])
    await until(lambda: here.sink.gaps == [(CHAIN.hex(), 2, 3)], 5)
    here.forwarding.came(parcel(2), here.links[0])
    here.forwarding.heads(Heads({CHAIN: (1, 9)}), here.links[0])
    await until(lambda: here.counted.forgotten, 5)
    counted = here.counted
    assert (counted.markers, counted.lost, counted.late, counted.early) == (1, 2, 1, 0)
    await here.forwarding.close()


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


async def test_who_asks_for_more_than_anybody_does_is_answered_for_a_part(here):
    """What is not looked at is not told as absent."""
    a = here.links[0]
    for first in (1, 1_000, 1_001, 5_000):
        here.forwarding.came(parcel(first), here.links[1])
    a.said.clear()
    here.forwarding.wanted(Wanted(CHAIN, 1, 10**12), a)
    assert [each.parcel.first for each in a.of(Resent)] == [1, 1_000]
    assert a.of(Absent) == [Absent(CHAIN, 2, 999)]


async def test_strangers_are_given_only_what_begins_here(here):
    """A ticket for the stream is enough to ask the origin, and for nothing else."""
    x = FakeLink("x")
    here.forwarding.came(parcel(1), here.links[0])
    here.forwarding.wanted(Wanted(CHAIN, 1, 1), x)
    assert x.said == [] and here.counted.resent_refused == 1
    own = b"87654321"
    here.certify(own, source="")
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


async def test_who_says_that_it_has_everything_and_answers_nothing_is_not_asked_alone(here):
    """The others are asked as well: they may have what they have not said."""
    a, b, c = here.links
    here.forwarding.expect(50.0)
    here.forwarding.came(parcel(1), b)
    here.forwarding.heads(Heads({CHAIN: (1, 10**9)}), a)
    here.forwarding.came(parcel(3), b)
    await until(lambda: Wanted(CHAIN, 2, 2) in b.said and Wanted(CHAIN, 2, 2) in c.said, 5)
    assert Wanted(CHAIN, 2, 2) in a.said


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
