"""A kept stream that was away, at one node whose neighbours are the test."""

from __future__ import annotations

import asyncio
import time

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st
from support.carriers import FakeCarrier
from support.overlay import Recorder, items, until
from support.streams import opened

from triplewire.broker.overlay_config import RelayConfig
from triplewire.gates.relay import gaps, returning
from triplewire.gates.relay.carrying import OverlayFeed
from triplewire.gates.relay.counted import Counted
from triplewire.gates.relay.forwarding import Forwarding
from triplewire.gates.relay.giving import Giving
from triplewire.gates.relay.messages import Absent, Heads, Wanted, decode
from triplewire.gates.relay.ordered import GapMarker, Piece
from triplewire.gates.relay.parcels import seal, unpack
from triplewire.gates.relay.places import Places
from triplewire.gates.relay.tickets import Certificate

KEY = Ed25519PrivateKey.generate()
CHAIN, OTHER = b"12345678", b"abcdefgh"


def parcel(first, count=1, chain=CHAIN):
    return seal(chain, first, items(count), KEY)


class Neighbour:
    """Keeps these parcels of one item each, and answers when it is asked; `newest` is what it remembers."""

    waiting_bytes = 0
    rtt_ms = 1.0

    def __init__(self, peer, kept=(), newest=0):
        self.peer = peer
        self.said = []
        self.kept = {each.first: each for each in kept}
        self.newest = newest
        self.forwarding = None

    def send(self, message):
        for each in decode(message):
            self.said.append(each)
            if isinstance(each, Wanted):
                asyncio.get_running_loop().call_soon(self._answer, each)

    send_parcel = send

    def _answer(self, want):
        for number in range(want.first, want.last + 1):
            if number in self.kept:
                self.forwarding.resent(self.kept[number], self)
        for number in range(want.first, want.last + 1):
            if number not in self.kept:
                self.forwarding.absent(Absent(want.chain, number, number), self)
        if len(self.kept) < want.last - want.first + 1:
            oldest = min(self.kept, default=self.newest + 1)
            self.forwarding.heads(Heads({want.chain: (oldest, self.newest)}), self)


def wants(link):
    """What it was asked for."""
    return [(each.first, each.last) for each in link.said if isinstance(each, Wanted)]


class Back:
    """The stream at a node that has come back."""

    def __init__(self, places, *neighbours):
        self.places = places
        self.sink = Recorder()
        self.origin = []
        self.links = neighbours
        self.forwarding = Forwarding(
            self.sink,
            RelayConfig(gap_tries=1),
            Counted(),
            lambda _, want: self.origin.append((want.chain, want.first, want.last)),
            lambda _: None,
            lambda: False,
            places,
        )
        self.forwarding.expect(50.0)
        for link in neighbours:
            link.forwarding = self.forwarding
            self.forwarding.share(link)

    def certify(self, chain=CHAIN, source="a"):
        now = time.time()
        found = Certificate("news", chain, KEY.public_key(), "me", "o", "ws://x:1/l", now + 100)
        assert self.forwarding.certified(found, "a.b.c", source)

    def tell(self, oldest, newest, chain=CHAIN, link=0):
        self.forwarding.heads(Heads({chain: (oldest, newest)}), self.links[link])

    async def settled(self):
        """All has been told that is told of its own accord."""
        end = time.monotonic() + 10
        # What came in part is waited for anew
        while not self.forwarding._returning._over or self.forwarding._sequencer.due() is not None:
            assert time.monotonic() < end
            self.forwarding.tick()
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.02)

    def said(self):
        """The markers, without the chain where it is the usual one."""
        return [(first, last) if chain == CHAIN.hex() else chain for chain, first, last in self.sink.gaps]


@pytest.fixture(autouse=True)
def _soon(monkeypatch):
    monkeypatch.setattr(returning, "SETTLE_S", 0.1)
    monkeypatch.setattr(gaps, "_LAST_WAIT_S", 0.2)


@pytest.fixture
def places_of(tmp_path):
    """The places of a process that has ended, with its stream at the number `following` of the chain."""

    def make(following=None, *, chain=CHAIN, ago_s=1.0, there=True):
        clock = [time.time() - ago_s]
        before = Places(tmp_path / "p", "me", 9, 1000, lambda: clock[0])
        before.begun()
        before.pass_time(is_there=there)
        if following is not None:
            before.gave(chain, following)
        before.write()
        return Places(tmp_path / "p", "me", 9, 1000)

    return make


async def test_the_newest_of_a_neighbour_proves_what_is_missing(places_of):
    """Another one has what was before it, and does not say so."""
    kept = [parcel(number) for number in range(1, 9)]
    link, other = Neighbour("a", kept[7:], 8), Neighbour("b", kept, 8)
    back = Back(places_of(4), link, other)
    back.certify()
    back.tell(8, 8)
    await until(lambda: len(back.sink.ids) == 5)
    assert wants(link)[0] == (8, 8) and (4, 7) in wants(other)
    await back.settled()
    assert back.said() == [] and back.places.after(CHAIN) == 8
    await back.forwarding.close()


async def test_what_is_left_of_it_comes_and_the_rest_is_told(places_of):
    """By a marker that is certain, as what comes after it is signed: then the stream has passed it."""
    back = Back(places_of(4), Neighbour("a", [parcel(7), parcel(8)], 8))
    back.certify()
    back.tell(7, 8)
    await until(lambda: len(back.sink.ids) == 2)
    assert back.said() == [(4, 6)] and back.places.after(CHAIN) == 8
    await back.settled()
    assert back.said() == [(4, 6)]
    await back.forwarding.close()


async def test_what_nobody_has_is_told_and_not_passed_over(places_of):
    """There is only a neighbour's word: should it come all the same, it is taken."""
    back = Back(places_of(4), Neighbour("a", newest=8))
    back.certify()
    back.tell(9, 8)
    await back.settled()
    assert back.said() == [(4, 8)] and back.places.after(CHAIN) == 3
    assert {*back.origin} == {(CHAIN, 8, 8)}
    back.forwarding.came(parcel(4, 5), back.links[0])
    await until(lambda: len(back.sink.ids) == 5)
    assert back.places.after(CHAIN) == 8
    await back.forwarding.close()


async def test_a_chain_that_began_meanwhile_is_wanted_whole(places_of):
    """Not only what neighbours say that they have."""
    back = Back(places_of(4), Neighbour("a", [parcel(number, chain=OTHER) for number in (3, 4)], 4))
    back.certify(OTHER)
    back.tell(4, 4, OTHER)
    await until(lambda: len(back.sink.ids) == 2)
    assert back.sink.gaps == [(OTHER.hex(), 1, 2)]
    await back.forwarding.close()


async def test_who_missed_nothing_asks_for_nothing(places_of):
    """And hears of no gap; nor does a process whose own chain it was."""
    places = places_of(9)
    places.own(OTHER)
    link = Neighbour("a", newest=8)
    back = Back(places, link)
    for chain in (CHAIN, OTHER):
        back.certify(chain)
        back.tell(9, 8, chain)
    await back.settled()
    assert (back.said(), wants(link), back.origin) == ([], [], [])
    await back.forwarding.close()


async def test_a_stream_that_is_new_begins_where_others_are(tmp_path):
    """What was before that it never had; what begins later is wanted whole."""
    places = Places(tmp_path / "p", "me", 0, 1000)
    link = Neighbour("a", newest=8)
    back = Back(places, link)
    back.certify()
    back.tell(9, 8)
    await back.settled()
    assert (back.said(), wants(link), places.after(CHAIN), places.after(OTHER)) == ([], [], 8, 0)
    back.forwarding.came(parcel(9), link)
    await until(lambda: len(back.sink.ids) == 1)
    await back.forwarding.close()


@pytest.mark.parametrize(("ago_s", "there", "is_known", "is_told"), [
    (30, True, True, False),
    (700, True, True, True),  # chains may have begun and ended that nobody knows any more
    (30, True, False, True),  # others are new themselves
    (700, False, True, False),  # nobody else was ever there
])  # fmt: skip
async def test_what_nobody_knows_of_any_more(places_of, ago_s, there, is_known, is_told):
    """One marker of the whole stream, between two times."""
    back = Back(places_of(9, ago_s=ago_s, there=there), Neighbour("a", newest=8))
    if is_known:
        back.certify()
        back.tell(9, 8)
    await back.settled()
    assert back.said() == (["*"] if is_told else [])
    if is_told:
        ((_, first, last),) = back.sink.gaps
        assert last - first == pytest.approx(ago_s, abs=10)
    await back.forwarding.close()


async def test_places_that_can_not_be_believed(tmp_path):
    """All that others keep is asked for, and it is told that there may have been more."""
    (tmp_path / "p").write_bytes(b"TWSp")
    back = Back(Places(tmp_path / "p", "me", 9, 1000), Neighbour("a", [parcel(1), parcel(2)], 2))
    back.certify()
    back.tell(1, 2)
    await back.settled()
    assert len(back.sink.ids) == 2 and back.said() == ["*"]
    await back.forwarding.close()


async def test_many_words_are_few_markers(places_of):
    """A neighbour can say that there was much in many chains."""
    back = Back(places_of(), Neighbour("a", newest=8))
    for number in range(150):
        chain = number.to_bytes(8, "big")
        back.certify(chain)
        back.tell(9, 8, chain)
    await back.settled()
    assert len(back.sink.gaps) == 101 and back.said()[-1] == "*"
    await back.forwarding.close()


async def test_left_alone_and_back_among_others(places_of):
    """The same as after a start: a chain's last items came and went meanwhile."""
    back = Back(places_of(1), Neighbour("a", newest=0), Neighbour("b", [parcel(2), parcel(3)], 3))
    back.certify()
    back.forwarding.came(parcel(1), back.links[0])
    await back.settled()
    for link in back.links:
        back.forwarding.unshare(link.peer)
    back.forwarding.tick()
    back.forwarding.share(back.links[1])
    back.tell(2, 3, link=1)
    await until(lambda: len(back.sink.ids) == 3)
    await back.settled()
    assert back.said() == [] and back.places.after(CHAIN) == 3
    await back.forwarding.close()


async def test_places_are_told_when_the_stream_has_taken_it(tmp_path):
    """Not before, as it may be kept by nobody then; and not once the stream has ended."""
    carrier, stream = FakeCarrier(), opened()
    places = Places(tmp_path / "p", "me", 0, 1000)
    feed = OverlayFeed(stream, carrier, places=places)
    assert carrier.places == {feed.name: places}
    given = Giving(carrier.sinks[feed.name], 10, lambda _: "", lambda: None, Counted(), places.gave)
    given.put([Piece(parcel(1, 3), 1), GapMarker(CHAIN, 4, 5), GapMarker(CHAIN, 6, 9, certain=False)])
    await until(lambda: len(stream.history) == 5 and not len(given))
    assert places.after(CHAIN) == 5
    places.write()
    assert not Places(tmp_path / "p", "me", 4, 1000).believed
    assert Places(tmp_path / "p", "me", 5, 1000).believed
    stream.close()
    given.put([Piece(parcel(6), 6)])
    await until(lambda: not len(given))
    assert places.after(CHAIN) == 5
    await given.close()
    await feed.close()


@settings(max_examples=15, deadline=None)
@given(st.data())
def test_each_item_is_there_or_told(tmp_path_factory, data):
    """Whatever was kept before, however far the places lag, whatever neighbours keep, and whether the chain goes on or not."""
    newest = data.draw(st.integers(1, 12))
    had = data.draw(st.integers(0, newest))
    following = data.draw(st.integers(1, had + 1))
    some = st.sets(st.integers(1, newest)).map(lambda kept: kept and kept | {newest})  # the oldest go first
    neighbours = [data.draw(some) for _ in range(data.draw(st.integers(1, 3)))]
    heads = [data.draw(st.sampled_from(sorted(kept) or [newest + 1])) for kept in neighbours]
    goes_on = data.draw(st.booleans())

    async def run():
        before = Places(path, "me", 9, 1000)
        before.begun()
        before.gave(CHAIN, following)
        before.write()
        parcels = [parcel(number) for number in range(1, newest + 2)]
        number_of = {item.event_id: each.first for each in parcels for item in unpack(each)}
        links = [
            Neighbour("abc"[at], [parcels[number - 1] for number in kept], newest)
            for at, kept in enumerate(neighbours)
        ]
        back = Back(Places(path, "me", 9, 1000), *links)
        back.certify()
        for at, oldest in enumerate(heads):
            back.tell(oldest, newest, link=at)
        if goes_on:
            back.forwarding.came(parcels[newest], links[0])
        await back.settled()
        await asyncio.sleep(0)
        came = [number_of[event_id] for event_id in back.sink.ids]
        told = {number for _, first, last in back.sink.gaps for number in range(first, last + 1)}
        await back.forwarding.close()
        assert came == sorted({*came})
        assert {*range(1, had + 1), *came} | told >= {*range(1, newest + 1 + goes_on)}
        assert back.places.after(CHAIN) == max([following - 1, *came])
        if any(neighbours) or goes_on:
            assert {*came} >= {n for kept in neighbours for n in kept if n >= following}

    path = tmp_path_factory.mktemp("returning") / "p"
    asyncio.run(run())
