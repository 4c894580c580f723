"""What the tests of resilience share: how long they take, who publishes all the while, and whether anything was lost."""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter, defaultdict
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Self, TypeVar

import httpx

from support.overlay import STREAM, items, neighbours_of, until
from support.running_tracker import RunningTracker

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Collection, Iterable, Mapping

    from support.overlay import Overlay

# TRIPLEWIRE_OVERLAY=full: as many nodes, and for as long, as the acceptance criteria say
FULL = os.environ.get("TRIPLEWIRE_OVERLAY") == "full"

T = TypeVar("T")


def either(short: T, full: T) -> T:
    """What is to be used in the shortened form, and in the full one."""
    return full if FULL else short


def by_source(ids: Iterable[str]) -> dict[str, list[str]]:
    """Ids of items as `support.overlay.items` makes them, by their source."""
    found: dict[str, list[str]] = defaultdict(list)
    for each in ids:
        found[each.rpartition("-")[0]].append(each)
    return dict(found)


class Flow:
    """Nodes of an overlay that publish one item after the other, until the block ends or `stop` is called.

    `sent` has the ids by node: each node is one source, and has one chain.
    """

    def __init__(self, overlay: Overlay, *names: str, per_s: float = 50.0, stream: str = STREAM) -> None:
        self.sent: dict[str, list[str]] = {name: [] for name in names}
        self._overlay = overlay
        self._per_s = per_s
        self._stream = stream
        self._ends = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        await asyncio.gather(*(self._overlay.nodes[name].ready(self._stream) for name in self.sent))
        self._tasks = [asyncio.create_task(self._publish(name)) for name in self.sent]
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def _publish(self, name: str) -> None:
        node, sent = self._overlay.nodes[name], self.sent[name]
        begun = time.monotonic()
        while not self._ends.is_set():
            some = items(1, name)
            sent += [item.event_id for item in some]
            await node.publish(self._stream, some)
            with suppress(TimeoutError):
                next_at = begun + len(sent) / self._per_s
                await asyncio.wait_for(self._ends.wait(), max(0.0, next_at - time.monotonic()))

    async def stop(self) -> None:
        """Publish no more; raises what publishing raised."""
        self._ends.set()
        await asyncio.gather(*self._tasks)

    async def all_have(
        self,
        *more: Mapping[str, list[str]],
        late: Collection[str] = (),
        within_s: float = 20.0,
        but: tuple[str, str] | None = None,
    ) -> None:
        """Each node gets all items of the others, each chain in order, each item once; those that came `late` the end of it.

        `more` is what was published elsewhere besides; `but` is a source and its chain that nobody vouches for.
        """
        overlay = self._overlay
        source_but, chain_but = but or ("", "")
        nodes = [*overlay.nodes]
        sent = {source: ids for some in (self.sent, *more) for source, ids in some.items()}
        lasts = {source: ids[-1] for source, ids in sent.items()}

        def all_came() -> bool:
            return not any(self._waiting(name, lasts) for name in nodes)

        def what() -> str:
            waiting = {name: self._waiting(name, lasts) for name in nodes}
            counts = {name: len(overlay.sinks[name].ids) for name in nodes}
            gaps = {name: overlay.sinks[name].gaps for name in nodes if overlay.sinks[name].gaps}
            return f"waiting: {waiting}; have {counts}, gaps {gaps}"

        await until(all_came, within_s, what)
        for name in nodes:
            of_others = {source: ids for source, ids in sent.items() if source != name}
            sink = overlay.sinks[name]
            received = [each for each in sink.ids if not but or each.rpartition("-")[0] != source_but]
            check_whole(received, of_others, is_late=name in late, who=name)
            assert not [gap for gap in sink.gaps if gap[0] != chain_but]

    def _waiting(self, name: str, lasts: Mapping[str, str]) -> list[str]:
        times = self._overlay.sinks[name].times
        return [last for source, last in lasts.items() if source != name and last not in times]


# Items, by all publishers of a test: those that were under way as somebody came
_UNDER_WAY = 100


def check_whole(
    received: Iterable[str], sent: Mapping[str, list[str]], *, is_late: bool = False, who: str = ""
) -> None:
    """Of each source all that was sent, in order and once.

    Who came late may lack a beginning: what was published before the first item that came at all, and nothing else.
    """
    found = by_source(received)
    assert found.keys() <= sent.keys(), f"{who}: sources {found.keys() - sent.keys()}"
    since = min(map(_number, (each for ids in found.values() for each in ids)), default=0) + _UNDER_WAY
    for source, ids in sent.items():
        came = found.get(source, [])
        at = next((place for place, each in enumerate(ids) if each in {*came}), len(ids)) if is_late else 0
        late = [each for each in ids[:at] if _number(each) > since]
        wanted = ids[at:]
        if came != wanted or late:
            missing, more = sorted(set(wanted) - set(came)), sorted(set(came) - set(wanted))
            again = sorted(each for each, times in Counter(came).items() if times > 1)
            raise AssertionError(
                f"{who}: of {source} {len(came)} of {len(wanted)}; missing {_some(missing)}, more {_some(more)},"
                f" twice {_some(again)}, in order: {came == sorted(came)}; not from the beginning {_some(late)}"
            )


def _number(each: str) -> int:
    """The place of an item among all that a test has made."""
    return int(each.rpartition("-")[2])


def _some(ids: list[str]) -> str:
    return f"{ids[:20]} ({len(ids)})"


def links_of(overlay: Overlay) -> dict[str, set[str]]:
    """By node, with whom it says that it shares the stream."""
    return {name: set(neighbours_of(node)) for name, node in overlay.nodes.items()}


def links_lost(before: Mapping[str, set[str]], after: Mapping[str, set[str]]) -> int:
    """How many links there are no more."""
    return sum(len(peers - after.get(name, set())) for name, peers in before.items()) // 2


def reached(links: Mapping[str, Collection[str]]) -> set[str]:
    """The nodes that the first of these reaches over links."""
    found = set([*links][:1])
    waiting = [*found]
    while waiting:
        for peer in links.get(waiting.pop(), ()):
            if peer in links and peer not in found:
                found.add(peer)
                waiting.append(peer)
    return found


class Asked:
    """What a tracker says of the stream, and of itself; for tests on the event loop."""

    def __init__(self, url: str) -> None:
        self._http = httpx.AsyncClient(base_url=url, timeout=10)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    async def links(self, stream: str = STREAM) -> dict[str, set[str]]:
        """Who it thinks is linked with whom; nothing where it knows no such stream, or does not answer."""
        try:
            answer = await self._http.get(f"/topology/{stream}")
        except httpx.TransportError:
            return {}
        if not answer.is_success:
            return {}
        return {name: set(node["neighbours"]) for name, node in answer.json()["nodes"].items()}

    async def figures(self) -> dict[str, float]:
        """Its /metrics, those without labels and the name's beginning."""
        lines = (await self._http.get("/metrics")).text.splitlines()
        pairs = (
            line.split(" ") for line in lines if line.startswith("triplewire_tracker_") and "{" not in line
        )
        return {name.removeprefix("triplewire_tracker_"): float(value) for name, value in pairs}

    async def is_collecting(self) -> bool:
        """Whether there is a stream about which it decides nothing yet."""
        try:
            return (await self.figures())["collecting"] > 0
        except httpx.TransportError:
            return True

    async def p99_ms(self) -> float:
        """The delay that one item in a hundred exceeds, as it tells its nodes."""
        return float((await self._http.get("/latency", params={"stream": STREAM})).json()["p99_ms"])


async def soon(condition, within_s: float = 15.0, what: str = "") -> float:
    """Wait until an awaitable condition is true; how many seconds it took."""
    begun = time.monotonic()
    while not await condition():
        assert time.monotonic() - begun < within_s, what or "it did not come true"
        await asyncio.sleep(0.05)
    return time.monotonic() - begun


@asynccontextmanager
async def a_tracker(*settings: str) -> AsyncIterator[RunningTracker]:
    """A tracker in a process of its own, which decides at once."""
    every = ("tracker.collect_s=0", *settings)
    options = [part for setting in every for part in ("--set", setting)]
    running = await asyncio.to_thread(RunningTracker.start, *options)
    try:
        yield running
    finally:
        await asyncio.to_thread(running.stop)


def kill(tracker: RunningTracker) -> int:
    """As by a loss of power; the port that it had."""
    tracker.process.kill()
    tracker.process.wait()
    tracker.stop()
    return int(tracker.http.rpartition(":")[2])
