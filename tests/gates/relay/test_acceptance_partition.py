"""Acceptance: a third of the relays is cut from the others and from the tracker, and later it is not.

Relays are processes in two network namespaces, consumers and publishers are on both sides, over HTTP.  One stream has relays
that keep what they must for longer than the cut lasts, and another one relays that do not.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

import pytest
from support.overlay import until
from support.relay_readers import Poster, Reader
from support.resilience import check_whole, either
from support.running_relay import RunningRelay
from support.running_tracker import RunningTracker
from support.sites import Site, Sites, trouble

CUT_S = either(4.0, 20.0)
LONG, SHORT = "news", "traffic"
# How many relays of each stream are at which site; "b" is cut off, "a" has the tracker
RELAYS = either(
    {LONG: {"a": 4, "b": 2}, SHORT: {"a": 2, "b": 1}}, {LONG: {"a": 16, "b": 8}, SHORT: {"a": 4, "b": 2}}
)
OPEN = "security.open_to_network=true"
TRACKER = (
    OPEN,
    "tracker.collect_s=0",
    *either(("tracker.heartbeat_s=0.5", "tracker.silent_s=2.5", "tracker.gone_s=1"), ()),
)
RELAY = (OPEN, *either(("relay.ping_s=0.5", "relay.silent_s=2", "relay.dial_s=1"), ()))

pytestmark = pytest.mark.timeout(either(120, 300))


def options(settings):
    return [part for setting in settings for part in ("--set", setting)]


@dataclass
class Side:
    """What of one stream is at one site."""

    site: Site
    relays: list[RunningRelay] = field(default_factory=list)
    readers: list[Reader] = field(default_factory=list)
    poster: Poster | None = None


class World:
    """A tracker, and streams at two sites: relays, a consumer at each and one that the tracker sends, and a publisher."""

    def __init__(self, sites: Sites, stack: AsyncExitStack) -> None:
        self.sites = sites
        self.sides: dict[tuple[str, str], Side] = {}
        self._stack = stack
        self._tracker = ""

    async def begin(self) -> None:
        site = self.sites["a"]
        tracker = await site.call(
            RunningTracker.start, *options((*TRACKER, f"tracker.host={site.address}", "tracker.port=0"))
        )
        self._stack.push_async_callback(asyncio.to_thread, tracker.stop)
        self._tracker = tracker.http
        counts = [
            (stream, letter)
            for stream, sides in RELAYS.items()
            for letter, count in sides.items()
            for _ in range(count)
        ]
        for place in counts:
            self.sides.setdefault(place, Side(self.sites[place[1]]))
        await asyncio.gather(*(self._relay(*place) for place in counts))
        await asyncio.gather(*(self._people(*place) for place in self.sides))

    async def _relay(self, stream: str, letter: str) -> None:
        side = self.sides[stream, letter]
        kept = ("relay.kept_s=1", "relay.backfill_s=1") if stream == SHORT else ()
        relay = await side.site.call(
            lambda: RunningRelay.start(
                *(
                    "--tracker",
                    self._tracker,
                    "--host",
                    side.site.address,
                    "--region",
                    letter,
                    *options((*RELAY, *kept)),
                ),
                streams=(stream,),
            )
        )
        self._stack.push_async_callback(asyncio.to_thread, relay.stop)
        side.relays.append(relay)

    async def _people(self, stream: str, letter: str) -> None:
        side = self.sides[stream, letter]
        sent = Reader(f"{self._tracker}/consume/{stream}", region=letter)
        side.readers = [sent, *(Reader(f"{relay.streams}/{stream}") for relay in side.relays)]
        side.poster = Poster(f"{side.relays[0].streams}/{stream}", f"{stream}.{letter}")
        for each in (*side.readers, side.poster):
            await self._stack.enter_async_context(side.site.within(each))

    def sent(self, stream: str) -> dict[str, list[str]]:
        """What was published to it, by who did."""
        return self.sides[stream, "a"].poster.sent | self.sides[stream, "b"].poster.sent

    def readers(self, stream: str) -> list[Reader]:
        """Of both sides."""
        return [*self.sides[stream, "a"].readers, *self.sides[stream, "b"].readers]

    async def all_hear(self, *streams: str, within_s: float = 30.0) -> None:
        """Each consumer gets something that is published from now on by both."""
        for stream in streams:
            after = {source: len(ids) for source, ids in self.sent(stream).items()}
            for number, reader in enumerate(self.readers(stream)):
                await until(
                    lambda: all(
                        any(each in reader.times for each in ids[after[source] :])  # noqa: B023
                        for source, ids in self.sent(stream).items()  # noqa: B023
                    ),
                    within_s,
                    f"consumer {number} of {stream} has nothing new: {reader.given[-3:]}",
                )


@dataclass
class Parted:
    """What came of it, by stream: what was published, and what each consumer was given; the times of cut and healing."""

    sent: dict[str, dict[str, list[str]]]
    readers: dict[str, dict[str, list[Reader]]]
    cut: float
    healed: float


async def parted() -> Parted:
    """Two streams, cut in the middle, healed, and silent in the end."""
    with Sites() as sites:
        async with AsyncExitStack() as stack:
            world = World(sites, stack)
            await world.begin()
            await world.all_hear(LONG, SHORT)
            sites.cut("b")
            cut = time.monotonic()
            await asyncio.sleep(CUT_S)
            sites.heal("b")
            healed = time.monotonic()
            await world.all_hear(LONG, SHORT)
            whole_s = time.monotonic() - healed
            await asyncio.gather(*(side.site.run(side.poster.stop()) for side in world.sides.values()))
            for stream in RELAYS:
                lasts = [ids[-1] for ids in world.sent(stream).values()]
                for reader in world.readers(stream):
                    await until(lambda: all(last in reader.times for last in lasts), 20)  # noqa: B023
            counts = {source: len(ids) for stream in RELAYS for source, ids in world.sent(stream).items()}
            print(f"all hear all again {whole_s:.1f} s after it was healed; published {counts}")
            for (stream, letter), side in world.sides.items():
                for number, reader in enumerate(side.readers):
                    print(
                        f"consumer {number} of {stream} at {letter}: {reader.reconnections} reconnections, now at {reader.relay}"
                    )
            return Parted(
                {stream: world.sent(stream) for stream in RELAYS},
                {
                    stream: {letter: world.sides[stream, letter].readers for letter in "ab"}
                    for stream in RELAYS
                },
                cut,
                healed,
            )


@pytest.fixture(scope="module")
def outcome():
    """The same for all tests."""
    if why := trouble():
        pytest.skip(why)
    return asyncio.run(parted())


def test_it_was_cut(outcome):
    """Meanwhile each side had its own items, and none of the other's; whom the tracker sent may be cut off from its relay."""
    for stream, sides in outcome.readers.items():
        for letter, readers in sides.items():
            for number, reader in enumerate(readers):
                sources = {
                    each.rpartition("-")[0]
                    for each, when in reader.times.items()
                    if outcome.cut + 0.5 < when < outcome.healed and isinstance(each, str)
                }
                own = {f"{stream}.{letter}"}
                assert sources == own or (not number and not sources), f"consumer {number} of {letter}"


def test_what_is_kept_long_enough_comes_to_all(outcome):
    """Every item of both sides to each consumer of both sides, once, in order; nothing is said to be missing."""
    for letter, readers in outcome.readers[LONG].items():
        for number, reader in enumerate(readers):
            who = f"consumer {number} of {letter}, which reconnected {reader.reconnections} times; told {reader.told}"
            check_whole(reader.ids, outcome.sent[LONG], is_late=True, who=who)
            assert not reader.gaps
            assert not reader.told


def test_what_is_kept_no_longer_is_told(outcome):
    """Each consumer has each item of both publishers or a marker in its place: nothing is left out, in order all the same."""
    sent = outcome.sent[SHORT]
    for letter, readers in outcome.readers[SHORT].items():
        for reader in readers:
            assert reader.gaps
            assert {gap.missing for gap in reader.told} == {*reader.gaps}
            chains = {gap.chain for gap in reader.gaps}
            for source, ids in sent.items():
                # Which chain is whose is not told: it is the one that fits
                given = [numbered(reader.given, ids, chain) for chain in ("", *chains)]
                assert any(numbers == [*range(numbers[0], len(ids) + 1)] for numbers in given), (
                    letter,
                    source,
                )
        # Where it was published nothing is missing
        own = f"{SHORT}.{letter}"
        came = [each for each in readers[1].ids if each.startswith(f"{own}-")]
        check_whole(came, {own: sent[own]}, is_late=True)


def numbered(given, ids, chain):
    """The numbers of one publisher's items in their chain, whether they came or are said to be missing."""
    places = {each: number for number, each in enumerate(ids, 1)}
    found = []
    for each in given:
        if not isinstance(each, str):
            found += range(each.first, each.last + 1) if each.chain == chain else ()
        elif each in places:
            found.append(places[each])
    return found
