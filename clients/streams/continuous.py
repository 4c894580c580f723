"""Publishing without waiting for each answer: one POST in chunks, which is ended and answered now and then.

`AsyncContinuousPublisher` works on an event loop; `ContinuousPublisher` is the same, on a thread of its own.

Items are gathered for `buffering_s`, then sent as one chunk.  The server says that it has taken them at the end of the
POST, which is after `post_items`, `post_bytes` or `post_s`, or when `flush` asks for it.  Until then they are kept
here; where the answer does not come, all of the POST is sent again under the same ids, of which the server passes
over those that it has.  So nothing is lost, and nothing comes twice while the ids are in the server's history.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from random import SystemRandom
from typing import TYPE_CHECKING

from triplewire.broker.errors import ConnectionLost
from triplewire.broker.wire.items import encode_item
from triplewire.clients.authorization import source_of
from triplewire.clients.backoff import Backoff
from triplewire.clients.flows import BUSY, refused, wait_s
from triplewire.clients.loop_thread import LoopThread

from .addresses import published_url
from .chunked_post import Answered, ChunkedPost
from .outgoing import Outgoing
from .settings import StreamSettings

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from triplewire.broker.wire.items import Item
    from triplewire.clients.authorization import Authorization
    from triplewire.clients.flows import Reply

# One for all publishers of the process.
_LOOP = LoopThread()
_STREAM = "application/ztreamy-stream"


class AsyncContinuousPublisher:
    """Sends items to one stream in the background.

    What can't be sent now is tried again, with growing waits and without an end, while at most `waiting_items` wait.
    An error of ours (4xx) ends it: every later call raises it.
    """

    def __init__(
        self, url: str, *, settings: StreamSettings | None = None, authorization: Authorization | None = None
    ) -> None:
        self._settings = settings or StreamSettings()
        self._url = published_url(url, "publish-cont")
        self._source = source_of(authorization)
        self._backoff = Backoff(SystemRandom(), self._settings)
        self._outgoing = Outgoing(self._settings)
        self._work = asyncio.Event()  # for the sender: there is more to send, or somebody wants an answer
        self._progress = (
            asyncio.Condition()
        )  # for the others: less waits, more has been taken, or it has ended
        self._task: asyncio.Task[None] | None = None
        self._error: Exception | None = None  # what ended it
        self._lost: ConnectionLost | None = None  # why the last attempt failed
        self._refused_token: str | None = None

    @property
    def unanswered(self) -> int:
        """How many items were published and not yet taken, as far as is known here."""
        return self._outgoing.published - self._outgoing.taken

    async def publish(self, *items: Item) -> None:
        """Have them sent in their order; waits while too many wait already.

        Raises:
            BrokerRefused: the server took no items of ours; what was published and not flushed may be lost.
        """
        if self._task is None:
            self._task = asyncio.ensure_future(self._run())
        for item in items:
            if self._outgoing.is_crowded:
                await self._until(lambda: not self._outgoing.is_crowded)
            self._raise()
            self._outgoing.put(encode_item(item))
            self._work.set()

    async def flush(self, timeout_s: float | None = None) -> None:
        """Return when all that was published so far has been taken.

        Raises:
            BrokerRefused: as `publish`.
            ConnectionLost: it was not taken in time.  It is still tried.
        """
        wanted = self._outgoing.wanted = self._outgoing.published
        self._work.set()
        try:
            async with asyncio.timeout(timeout_s):
                await self._until(lambda: self._outgoing.taken >= wanted)
        except TimeoutError as error:
            why = f": {self._lost}" if self._lost is not None else ""
            raise ConnectionLost(f"{self.unanswered} items were not taken in time{why}") from error
        self._raise()

    async def close(self, timeout_s: float | None = None) -> None:
        """Flush, and end; what was not taken in `timeout_s`, or the settings' own, is given up.

        Raises:
            BrokerRefused: as `publish`.
            ConnectionLost: it was not taken in time.
        """
        try:
            await self.flush(self._settings.timeout_s if timeout_s is None else timeout_s)
        finally:
            if self._task is not None:
                self._task.cancel()
                await asyncio.wait([self._task])

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _until(self, reached: Callable[[], bool]) -> None:
        async with self._progress:
            await self._progress.wait_for(lambda: reached() or self._error is not None)

    async def _tell(self) -> None:
        async with self._progress:
            self._progress.notify_all()

    def _raise(self) -> None:
        if self._error is not None:
            raise self._error

    async def _run(self) -> None:
        try:
            while True:
                while self._outgoing.is_idle:
                    await self._work.wait()
                    self._work.clear()
                await self._attempt()
        except Exception as error:  # noqa: BLE001 - whoever waits is told, whatever it was
            self._error = error
            await self._tell()

    async def _attempt(self) -> None:
        """One POST with what has no answer yet, and what comes meanwhile."""
        try:
            reply = await self._post()
        except ConnectionLost as error:
            self._lost = error
            await asyncio.sleep(self._backoff.next_s())
            return
        if reply is None:
            return
        if 200 <= reply.status < 300:
            self._outgoing.answered()
            self._backoff.reset()
            self._refused_token = self._lost = None
            await self._tell()
            return
        self._lost = ConnectionLost(str(refused(reply)))
        asked_s = wait_s(reply, 0, self._settings) if "retry-after" in reply.headers else 0.0
        await asyncio.sleep(asked_s + self._backoff.next_s())

    async def _post(self) -> Reply | None:
        """The answer, None where it should be tried at once with another token.

        Raises:
            BrokerRefused: it will not be better next time.
            ConnectionLost: it may.
        """
        refused_token = self._refused_token
        token = self._source.known(refused_token) or await self._source.token_async(refused_token)
        headers = {"Content-Type": _STREAM, "Accept": "application/json, */*;q=0.1"}
        if token.text is not None:
            headers["Authorization"] = f"Bearer {token.text}"
        post = await ChunkedPost.open(self._url, headers, self._settings)
        try:
            with suppress(Answered):
                await self._send_all(post)
            reply = await post.finish(self._settings.timeout_s)
        finally:
            await post.close()
        if reply.status == 401 and token.text is not None and refused_token is None:
            self._refused_token = token.text
            return None
        if reply.status < 200 or (300 <= reply.status < 500 and reply.status not in BUSY):
            raise refused(reply)
        return reply

    async def _send_all(self, post: ChunkedPost) -> None:
        """What an attempt before had, and then what comes, until the POST has to be answered."""
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + self._settings.post_s
        data = self._outgoing.again() + self._outgoing.take()
        while True:
            if data:
                await post.send(data)
                await self._tell()
            if self._outgoing.is_full or self._outgoing.is_asked:
                return
            try:
                async with asyncio.timeout_at(ends_at):
                    await self._gather()
            except TimeoutError:
                return
            data = self._outgoing.take()

    async def _gather(self) -> None:
        """Wait for items, and a little longer for others, unless somebody waits for them to be taken."""
        self._work.clear()
        while self._outgoing.is_hungry and not self._outgoing.is_asked:
            await self._work.wait()
            self._work.clear()
        if self._outgoing.wanted <= self._outgoing.taken:
            await asyncio.sleep(self._settings.buffering_s)


class ContinuousPublisher:
    """`AsyncContinuousPublisher` for blocking code; threads may share it."""

    def __init__(
        self, url: str, *, settings: StreamSettings | None = None, authorization: Authorization | None = None
    ) -> None:
        published_url(url)  # what is wrong with it is told here
        self._publisher = _LOOP.run(_made(url, settings, authorization))

    @property
    def unanswered(self) -> int:
        """As `AsyncContinuousPublisher.unanswered`."""
        return self._publisher.unanswered

    def publish(self, *items: Item) -> None:
        """As `AsyncContinuousPublisher.publish`."""
        _LOOP.run(self._publisher.publish(*items))

    def flush(self, timeout_s: float | None = None) -> None:
        """As `AsyncContinuousPublisher.flush`."""
        _LOOP.run(self._publisher.flush(timeout_s))

    def close(self, timeout_s: float | None = None) -> None:
        """As `AsyncContinuousPublisher.close`."""
        _LOOP.run(self._publisher.close(timeout_s))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


async def _made(
    url: str, settings: StreamSettings | None, authorization: Authorization | None
) -> AsyncContinuousPublisher:
    # What it waits with belongs to the loop that it is made on.
    return AsyncContinuousPublisher(url, settings=settings, authorization=authorization)
