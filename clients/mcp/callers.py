"""Who calls: each token is a caller with connections and subscriptions of its own, which no other caller sees."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import secrets
import time
from typing import TYPE_CHECKING

from triplewire.broker.errors import ClientError

from .errors import ToolRefused
from .followed import SCHEME, Followed
from .link import Link

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from triplewire.broker.model import Query
    from triplewire.clients.application import Addressed
    from triplewire.clients.authorization import Authorization
    from triplewire.clients.settings import ClientSettings

    from .limits import Limits

    Publish = Callable[[str, bool], Awaitable[None]]

logger = logging.getLogger("triplewire.clients.mcp")


class Caller:
    """One caller's link to the broker and what it follows; `publish` tells who listens that a resource changed, or is gone."""

    def __init__(
        self, settings: ClientSettings, authorization: Authorization | None, limits: Limits, publish: Publish
    ) -> None:
        self.link = Link(settings, authorization, limits, on_lost=self._lost, on_back=self._back)
        self.used_at = time.monotonic()
        self.calls = 0  # that are under way
        self._limits = limits
        self._publish = publish
        self._followed: dict[str, Followed] = {}
        self._used: dict[str, float] = {}
        self._listeners: dict[str, int] = {}
        self._kept: set[str] = set()  # never idle
        self._changing: set[str] = set()  # what will be told of soon
        self._tasks: set[asyncio.Task[None]] = set()  # that tell of it

    @property
    def followed(self) -> tuple[Followed, ...]:
        """Its subscriptions, in the order in which they were made."""
        return tuple(self._followed.values())

    async def subscribe(self, to: Addressed[Query]) -> Followed:
        """Follow a query; raises ClientError and ToolRefused."""
        await self._make_room()
        if len(self._followed) >= self._limits.subscriptions:
            raise ToolRefused(
                f"there are {self._limits.subscriptions} subscriptions already: unsubscribe one"
            )
        name = secrets.token_urlsafe(16)
        sparql = to.operation.sparql
        followed = Followed(name, sparql, to.url, self._limits, lambda: self._changed(name))
        self._followed[name] = followed  # counted from now on, while others subscribe as well
        self._used[name] = time.monotonic()
        # A task of its own: a caller that hangs up while we wait must not leave half a subscription.
        following = asyncio.create_task(self._follow(to, followed))
        following.add_done_callback(lambda task: task.cancelled() or task.exception())
        await asyncio.shield(following)
        if followed.over:
            await self.unsubscribe(name)
            raise ToolRefused(_too_large(self._limits))
        return followed

    def find(self, name: str) -> Followed:
        """A subscription by its id or resource, which is used now; raises ToolRefused."""
        name = name.removeprefix(SCHEME)
        if name not in self._followed:
            raise ToolRefused(
                f"there is no subscription {name[:100]!r} of this caller; the tool `subscribe` makes one"
            )
        self._used[name] = time.monotonic()
        return self._followed[name]

    def listens(self, name: str, more: int) -> None:
        """As many more (or fewer) listen to a subscription, which is not idle while somebody does."""
        self._listeners[name] = self._listeners.get(name, 0) + more
        if not self._listeners[name]:
            del self._listeners[name]
        if name in self._used:
            self._used[name] = time.monotonic()

    def keep(self, name: str) -> None:
        """A subscription is never idle."""
        self._kept.add(name)

    async def unsubscribe(self, name: str) -> None:
        """End a subscription; raises ToolRefused where there is none."""
        followed = self.find(name)
        self._forget(followed.name)
        await self._leave(followed)

    async def end_idle(self, before: float) -> None:
        """End what nobody has read since, nor listens to."""
        for followed in self.followed:
            if self._is_idle(followed.name, before):
                await self._end(followed, "nobody read it for a long time; subscribe again")

    async def close(self) -> None:
        """End everything."""
        for task in tuple(self._tasks):
            task.cancel()
        await self.link.close()

    async def _follow(self, to: Addressed[Query], followed: Followed) -> None:
        try:
            followed.live = await self.link.follow(to, followed)
        except BaseException:
            self._forget(followed.name)
            raise

    async def _leave(self, followed: Followed) -> None:
        if followed.live is None:
            return
        try:
            await self.link.leave(followed.url, followed.live)
        except ClientError as error:
            # It ends with its connection at the latest.
            logger.info("a subscription was left without the broker's word: %s", error)

    def _forget(self, name: str) -> None:
        self._followed.pop(name, None)
        self._used.pop(name, None)
        self._kept.discard(name)
        self._changed(name)

    async def _make_room(self) -> None:
        """Where all places are taken: let go what has ended, or else what was abandoned longest ago."""
        if len(self._followed) < self._limits.subscriptions:
            return
        ended = [followed for followed in self.followed if followed.ended is not None]
        for followed in ended:
            self._forget(followed.name)
        before = time.monotonic() - self._limits.abandoned_s
        idle = [followed for followed in self.followed if self._is_idle(followed.name, before)]
        if not ended and idle:
            oldest = min(idle, key=lambda followed: self._used[followed.name])
            await self._end(oldest, "nobody read it, and another subscription needed its place")

    def _is_idle(self, name: str, before: float) -> bool:
        return self._used[name] < before and name not in self._listeners and name not in self._kept

    async def _end(self, followed: Followed, why: str) -> None:
        self._forget(followed.name)
        followed.end(why)
        await self._leave(followed)

    def _lost(self, url: str) -> None:
        for followed in self.followed:
            if followed.url == url:
                followed.lost()

    def _back(self, url: str) -> None:
        for followed in self.followed:
            if followed.url == url:
                followed.back()

    def _changed(self, name: str) -> None:
        if name not in self._changing:
            self._changing.add(name)
            task = asyncio.create_task(self._tell(name))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _tell(self, name: str) -> None:
        # What changes while we wait is told with it: who hears of it reads all there is.
        await asyncio.sleep(self._limits.notify_s)
        self._changing.discard(name)
        followed = self._followed.get(name)
        if followed is not None and followed.over and followed.ended is None:
            followed.end(_too_large(self._limits))
            await self._leave(followed)
        await self._publish(f"{SCHEME}{name}", name not in self._followed)


class Callers:
    """The callers by their token; over stdio there is one, None, with the credentials that the command was given."""

    def __init__(
        self,
        settings: ClientSettings,
        authorization: Authorization | None,
        limits: Limits,
        publish: Publish,
    ) -> None:
        self._settings = settings
        self._authorization = authorization
        self._limits = limits
        self._publish = publish
        self._callers: dict[bytes, Caller] = {}
        self._closing: set[asyncio.Task[None]] = set()

    def of(self, token: str | None) -> Caller:
        """Whoever has that token; raises ToolRefused where there are too many."""
        key = b"" if token is None else hashlib.sha256(token.encode()).digest()
        if key not in self._callers:
            self._make_room()
            source = self._authorization if token is None else lambda: token
            self._callers[key] = Caller(self._settings, source, self._limits, self._publish)
        caller = self._callers[key]
        caller.used_at = time.monotonic()
        return caller

    def _make_room(self) -> None:
        """Where all places are taken: let go who holds nothing and called longest ago, as those with no good token do."""
        if len(self._callers) < self._limits.callers:
            return
        idle = [key for key, caller in self._callers.items() if not caller.followed and not caller.calls]
        if not idle:
            raise ToolRefused("too many callers at a time; try again later")
        gone = self._callers.pop(min(idle, key=lambda key: self._callers[key].used_at))
        task = asyncio.create_task(gone.close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def tidy(self) -> None:
        """For ever: end subscriptions that are idle, and let callers go that have none."""
        while True:
            await asyncio.sleep(min(self._limits.idle_s / 4, 60.0))
            before = time.monotonic() - self._limits.idle_s
            for key, caller in tuple(self._callers.items()):
                try:
                    await caller.end_idle(before)
                    if not caller.followed and not caller.calls and caller.used_at < before:
                        del self._callers[key]
                        await caller.close()
                except Exception:
                    logger.exception("! a caller could not be tidied")  # the others have to be, all the same

    async def close(self) -> None:
        """End everything."""
        callers, self._callers = tuple(self._callers.values()), {}
        for caller in callers:
            await caller.close()


def _too_large(limits: Limits) -> str:
    return (
        f"the answer has more than the {limits.subscription_rows} rows that are kept of a subscription: "
        "filter it, or aggregate"
    )
