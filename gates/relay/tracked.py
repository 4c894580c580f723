"""A node and its trackers: which of them is asked for a stream, and what becomes of what they say.

Trackers have an order.  A stream is with the first that answers; where that falls silent, with the next, and it goes back
when an earlier one answers again, or the registry names others, while it stays with both for a moment.  Links stay up
meanwhile, and what a tracker says of a stream that is not with it (any more) is ignored.

A tracker may have several URLs, by the settings and by the registry: by its keys it is seen to be the same.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import time
from typing import TYPE_CHECKING, Any, Final, Protocol

import httpx

from triplewire.broker.errors import BrokerError, ClientError, ProtocolError
from triplewire.clients.settings import ClientSettings
from triplewire.clients.trust import tls_context
from triplewire.gates.journal.leader import LeaderAuth

from .statuses import StatusLimits
from .tickets import TrackerKeys
from .tracker_talk import TrackerTalk

if TYPE_CHECKING:
    import ssl
    from collections.abc import Coroutine, Iterable

    from triplewire.broker.overlay_config import RelayConfig
    from triplewire.clients.authorization import TokenSource

    from .counted import Counted
    from .statuses import Instructions, Neighbour, Status, StreamInstructions, StreamStatus
    from .tickets import Ticket

log = logging.getLogger("triplewire.gates.relay")

_DEAD_S: Final = 2.5  # a tracker that is asked in vain for so long
_BACK_S: Final = 30.0  # how often an earlier one is tried again
_STAYS_S: Final = 5.0  # so much longer than that a stream stays with both
_FIND_FIRST_S: Final = 0.5  # after the first time that a stream's trackers could not be had
_KEYS_S: Final = 1.0  # between two times that keys are asked for because somebody shows an unknown one
_SETTLED_S: Final = 30.0  # a tracker that has just begun collects first, and others find it later
_MOST_TRACKERS: Final = 64
_EPOCHS: Final = 8  # of one tracker, that are over


@functools.lru_cache(8)
def _trust(ca: str) -> ssl.SSLContext:
    """Which certificates are believed; to read the system's takes a tenth of a second, and one will do for all nodes."""
    return tls_context(ClientSettings(ca_file=ca or None))


class TrackedUser(Protocol):
    """The node."""

    def status(self, streams: Iterable[str]) -> Status:
        """What there is to say, of these streams alone."""

    def instructed(
        self, stream: str, epoch: str, instructions: StreamInstructions, status: StreamStatus | None
    ) -> None:
        """What the stream's present tracker says, as the answer to a status or by itself."""


class _Epochs:
    """The present one of a tracker, and those that are over: nothing that bears one of these counts any more."""

    def __init__(self) -> None:
        self._present = ""
        self._over: list[str] = []

    def takes(self, epoch: str) -> bool:
        if epoch != self._present:
            if epoch in self._over:
                return False
            self._over = [*self._over, self._present][-_EPOCHS:]
            self._present = epoch
        return True


class Tracked:
    """The talks with all trackers of `node`."""

    def __init__(
        self,
        node: str,
        config: RelayConfig,
        user: TrackedUser,
        counted: Counted,
        tokens: TokenSource | None = None,
    ) -> None:
        self.keys = TrackerKeys()
        self.trust = _trust(config.ca)
        self._node = node
        self._user = user
        self._counted = counted
        auth = LeaderAuth(tokens) if tokens is not None else None
        self._http = httpx.AsyncClient(verify=self.trust, auth=auth)
        self._order = [url.rstrip("/") for url in config.trackers]
        self._talks: dict[str, TrackerTalk] = {}
        self._epochs: dict[str, _Epochs] = {}
        for url in self._order:
            self._add(url)
        self._orders: dict[
            str, list[str]
        ] = {}  # by stream, its trackers by the registry; none where that names none
        self._named_by: dict[str, str] = {}  # by stream, which tracker has told so
        self._at: dict[str, str] = {}  # by stream, where it is
        self._finding: dict[str, asyncio.Task[None]] = {}  # by stream, who finds its trackers
        self._both: dict[tuple[str, str], float] = {}  # by stream and tracker: until when it stays there, too
        self._home = self._order[0] if self._order else ""  # where the node is known in any case
        self._keys_at: float | None = None
        self._asking: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def _add(self, url: str) -> None:
        self._talks[url] = TrackerTalk(url, self._http, self, StatusLimits())
        self._epochs[url] = _Epochs()

    def start(self) -> None:
        """Be known to a tracker."""
        if self._home:
            self._talk(self._home)
            self._begin(self._return())

    def _begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def join(self, stream: str) -> None:
        """Be in a stream, and say so."""
        if stream not in self._at and self._home:
            self._at[stream] = self._home
            self._talk(self._home)
            self._finding[stream] = self._begin(self._find_trackers(stream))

    async def _find_trackers(self, stream: str) -> None:
        """The stream may have trackers of its own: the registry knows, and any tracker tells.

        Whoever stays with another tracker is in another overlay, so that is asked until it is known.
        """
        wait_s = _FIND_FIRST_S
        while not await self._find_order(stream):
            await asyncio.sleep(wait_s)
            wait_s = min(2 * wait_s, _BACK_S)
        first, *_ = self._order_of(stream)
        if self._orders.get(stream) and self._at[stream] != first:
            self._move(stream, first)

    async def _find_order(self, stream: str) -> bool:
        """Whether it is told now which trackers a stream has."""
        home = self._home
        try:
            told = await self._talks[home].trackers_of(stream)
        except (httpx.HTTPError, ClientError, ProtocolError) as error:
            log.info("! %s: whether it has trackers of its own is not known: %.200r", stream, error)
            return False
        urls = [url.rstrip("/") for url in told]
        new = [url for url in urls if url not in self._talks][: _MOST_TRACKERS - len(self._talks)]
        for url in new:
            self._add(url)
        await asyncio.gather(*map(self._answers, new))  # by its keys one may be seen to be known already
        # One that names none may have no registry, and so takes back what it has said itself alone
        if stream in self._at and (urls or self._named_by.get(stream, home) == home):
            self._orders[stream] = [url for url in urls if url in self._talks]
            self._named_by[stream] = home
        return True

    def _order_of(self, stream: str) -> list[str]:
        return list(dict.fromkeys(map(self._talked_with, self._orders.get(stream) or self._order)))

    def _talked_with(self, url: str) -> str:
        """The URL by which a tracker is told how it is here, of those that it has."""
        names = {url, *self.keys.same(url)}
        alive = (one for one, talk in self._talks.items() if talk.running and not talk.silent_s())
        return next((one for one in alive if one in names), url)

    def leave(self, stream: str) -> None:
        """Be in it no longer."""
        urls = {self._at.pop(stream, ""), *(url for one, url in self._both if one == stream)} - {""}
        self._both = {both: until for both, until in self._both.items() if both[0] != stream}
        self._orders.pop(stream, None)
        self._named_by.pop(stream, None)
        if stream in self._finding:
            self._finding.pop(stream).cancel()
        for url in urls:
            self._talks[url].poke()

    def changed(self, stream: str | None = None) -> None:
        """Something in a stream, or of the node itself, is not as it was when the tracker was told."""
        url = self._home if stream is None else self._at.get(stream)
        if url:
            self._talks[url].poke()

    def trouble(self, stream: str) -> tuple[str, bool]:
        """What is wrong with the stream's tracker, and whether it is its word; "" where nothing is."""
        url = self._at.get(stream, self._home)
        if not url:
            return "relay.trackers names no tracker", False
        return self._talks[url].trouble, self._talks[url].refused

    def renews(self, stream: str) -> bool:
        """Whether the stream's tracker has been answering for so long that all who publish have a new certificate."""
        talk = self._talks.get(self._at.get(stream, ""))
        if talk is None or talk.answering_since is None:
            return False
        return asyncio.get_running_loop().time() - talk.answering_since > _SETTLED_S

    def _talk(self, url: str) -> None:
        self._talks[url].start()
        self._talks[url].poke()

    def status_for(self, url: str) -> Status | None:
        """See `TalkUser`."""
        present = self._talked_with(url)
        if present != url:
            self._home = present if self._home == url else self._home
            for stream in [stream for stream, at in self._at.items() if at == url]:
                self._move(stream, present)
            return None
        now = asyncio.get_running_loop().time()
        self._both = {both: until for both, until in self._both.items() if until > now}
        return self._user.status(
            [stream for stream, at in self._at.items() if at == url or (stream, url) in self._both]
        )

    def instructed(self, url: str, instructions: Instructions, status: Status | None) -> None:
        """See `TalkUser`."""
        if not self._epochs[url].takes(instructions.epoch):
            self._counted.instructions_ignored += 1
            return
        for stream, one in instructions.streams.items():
            if self._at.get(stream) != url:
                self._counted.instructions_ignored += 1
                continue
            said = status.streams.get(stream) if status is not None else None
            try:
                self._user.instructed(stream, instructions.epoch, one, said)
            except Exception:  # the other streams have theirs, whatever became of this one
                log.exception("! %s: what tracker %s says can't be done", stream, url)

    def has_keys(self, url: str, jwks: bytes) -> None:
        """See `TalkUser`."""
        self.keys.add(jwks, url)

    def unanswered(self, url: str) -> None:
        """See `TalkUser`: what is with this one goes to the next, if this one is dead."""
        talk = self._talks[url]
        # One that never answered is not waited for: whoever joins would wait, too
        if not talk.silent_s() or (talk.answered and talk.silent_s() < _DEAD_S):
            return
        following = _next(self._order, url)
        if self._home == url and following != url:
            self._home = following
            self._talk(following)
        for stream in [stream for stream, at in self._at.items() if at == url]:
            following = _next(self._order_of(stream), url)
            if following != url:
                self._move(stream, following)

    def _move(self, stream: str, url: str) -> None:
        log.warning("= %s goes from tracker %s to %s", stream, self._at[stream], url)
        self._talks[self._at[stream]].poke()
        self._at[stream] = url
        self._talk(url)

    async def _return(self) -> None:
        """Each stream is with the first of its trackers that answers."""
        while True:
            await asyncio.sleep(_BACK_S)
            try:
                await self._go_back()
            except Exception:  # that is tried again
                log.exception("! the first trackers")

    async def _go_back(self) -> None:
        for stream in tuple(self._at):
            if self._talks[self._home].answering_since is None:
                break  # all would be asked in vain, one after the other
            if stream in self._finding and self._finding[stream].done():
                await self._find_order(stream)
        earlier = {*_before(self._order, self._home)}
        for stream, at in self._at.items():
            earlier.update(_before(self._order_of(stream), at))
        answering = {url for url in earlier if await self._answers(url)}
        home = next((url for url in _before(self._order, self._home) if url in answering), self._home)
        self._home = self._talked_with(home)
        self._talk(self._home)
        for stream, at in tuple(self._at.items()):
            urls = _before(self._order_of(stream), at)
            url = next((url for url in urls if url in answering), None)
            if url is not None:
                # Nodes go back one after the other: those that are still there keep their neighbours
                self._both[stream, at] = asyncio.get_running_loop().time() + _BACK_S + _STAYS_S
                self._move(stream, url)

    async def _answers(self, url: str) -> bool:
        try:
            self.keys.add(await self._talks[url].keys(), url)
        except (httpx.HTTPError, ClientError, ProtocolError) as error:
            log.info("! tracker %s: no keys: %.200r", url, error)
            return False
        return True

    async def ticket(self, token: str) -> Ticket:
        """What a ticket says; keys are asked for where its own is not known.

        Raises:
            Unauthorized: it is none that is good.
        """
        if not self.keys.knows(token):
            await self.learn()
        return self.keys.ticket(token, time.time())

    async def learn(self) -> None:
        """Ask all trackers for their keys, if that was not done just now."""
        if self._asking is None:
            now = asyncio.get_running_loop().time()
            if self._keys_at is not None and now - self._keys_at < _KEYS_S:
                return
            self._keys_at = now
            self._asking = asyncio.create_task(self._ask_for_keys())
            self._asking.add_done_callback(lambda _: setattr(self, "_asking", None))
        await asyncio.shield(self._asking)

    async def _ask_for_keys(self) -> None:
        now = asyncio.get_running_loop().time()
        await asyncio.gather(*(self._answers(url) for url in [*self._talks] if not self._is_dead(url, now)))

    def _is_dead(self, url: str, now: float) -> bool:
        """Whether its keys were asked for in vain lately, or all else: who waits for the others' should not wait for it."""
        talk = self._talks[url]
        no_keys = talk.no_keys_at is not None and now - talk.no_keys_at < _BACK_S
        return talk.silent_s() > _DEAD_S or (no_keys and talk.answering_since is None)

    async def origin(self, stream: str, chain: str) -> Neighbour | None:
        """Where a chain begins; None where the tracker does not tell."""
        url = self._at.get(stream)
        if url is None:
            return None
        try:
            return await self._talks[url].origin(self._node, stream, chain)
        except (httpx.HTTPError, ClientError, BrokerError, ProtocolError) as error:
            log.info("! tracker %s: no origin of %s: %.200r", url, chain, error)
            return None

    def health(self) -> dict[str, Any]:
        """Which tracker the node is with, and what is wrong with it."""
        trouble, _ = self.trouble("")
        return {"tracker": self._home, "tracker_trouble": trouble}

    async def close(self) -> None:
        """Tell the trackers that the node is gone."""
        tasks = [*self._tasks, *([self._asking] if self._asking is not None else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.gather(*(talk.stop(goodbye=True) for talk in self._talks.values() if talk.running))
        await self._http.aclose()


def _next(order: list[str], url: str) -> str:
    """The one behind it; the first behind the last."""
    return order[(order.index(url) + 1) % len(order)] if url in order else order[0]


def _before(order: list[str], url: str) -> list[str]:
    return order[: order.index(url)] if url in order else order
