"""A node's talk with one tracker over HTTP: its status, which is the heartbeat, and the instructions, as they come."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Protocol

import httpx

from triplewire.broker.errors import BrokerRefused, ClientError, ProtocolError

from .members import Members
from .statuses import STREAM_SCHEMES, Instructions, Neighbour, StatusLimits

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from .statuses import Status

log = logging.getLogger("triplewire.gates.relay")

_APART_S: Final = 0.11  # between two statuses: a tracker takes ten a second
_AGAIN_S: Final = 0.25  # after one that was not answered
_AGAIN_LONGEST_S: Final = 1.0
_DENIALS: Final = frozenset({401, 403})
_ALIVE: Final = frozenset({400, 409, 413, 429}) | _DENIALS  # what a tracker says that is well
_TIMEOUT_S: Final = 2.0
_WHOLE_S: Final = 5.0  # for all of an answer
_SILENT_S: Final = 60.0  # a tracker sends a comment each 15 s where it has nothing to say
_GOODBYE_S: Final = 1.0
_MOST_TRACKERS: Final = 16  # of one stream
_MOST_BYTES: Final = 4 * 1024 * 1024  # of one answer, or of one event


class TalkUser(Protocol):
    """Who has something to say, and listens."""

    def status_for(self, url: str) -> Status | None:
        """What this tracker is to know now; None where it is told by another of its URLs."""

    def instructed(self, url: str, instructions: Instructions, status: Status | None) -> None:
        """What it says, as the answer to a status or by itself."""

    def has_keys(self, url: str, jwks: bytes) -> None:
        """What it signs by; raises ProtocolError where these are no keys."""

    def unanswered(self, url: str) -> None:
        """It did not answer, or refused; `talk.trouble` says why."""


class TrackerTalk:
    """The talk with the tracker at `url`; begins by `start`."""

    def __init__(self, url: str, http: httpx.AsyncClient, user: TalkUser, limits: StatusLimits) -> None:
        self.url = url.rstrip("/")
        self.trouble = ""  # of the last try; "" where it was answered
        self.refused = False  # whether the trouble is the tracker's word, and not its silence
        self.answered = False  # ever
        self.answering_since: float | None = None  # without a pause
        self.no_keys_at: float | None = None  # when they could not be had
        self._failing_since: float | None = None
        self._http = http
        self._user = user
        self._limits = limits
        self._poke = asyncio.Event()
        self._heartbeat_s = 3.0
        self._tasks: list[asyncio.Task[None]] = []
        self._known_as: tuple[str, str] | None = None  # node and instance
        self._epoch = ""
        self._has_keys = False
        self._stopping = False

    @property
    def running(self) -> bool:
        """Whether it has been started."""
        return bool(self._tasks)

    def start(self) -> None:
        """Say the status now, and again and again."""
        if not self._tasks:
            self._tasks = [asyncio.create_task(self._tell()), asyncio.create_task(self._listen())]

    def poke(self) -> None:
        """Something has changed: say so at once."""
        self._poke.set()

    def silent_s(self) -> float:
        """For how long it has been asked in vain."""
        since = self._failing_since
        return 0.0 if since is None else asyncio.get_running_loop().time() - since

    async def stop(self, *, goodbye: bool) -> None:
        """End the talk, and tell the tracker where it is a `goodbye`."""
        self._stopping = True
        self._poke.set()
        # A status that is under way may be read behind the goodbye, and would take it back
        await asyncio.wait(self._tasks[:1], timeout=_GOODBYE_S)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []
        if goodbye and self._known_as is not None:
            node, instance = self._known_as
            with suppress(httpx.HTTPError, ClientError):
                url = f"{self.url}/nodes/{node}"
                await self._http.delete(url, params={"instance": instance}, timeout=_GOODBYE_S)

    async def _tell(self) -> None:
        wait_s = _AGAIN_S
        while not self._stopping:
            self._poke.clear()
            if await self._told():
                wait_s = _AGAIN_S
                longest_s = self._heartbeat_s
            else:
                self._user.unanswered(self.url)
                longest_s, wait_s = wait_s, min(2 * wait_s, _AGAIN_LONGEST_S)
            with suppress(TimeoutError):
                async with asyncio.timeout(longest_s - _APART_S):
                    await self._poke.wait()
            if not self._stopping:
                await asyncio.sleep(_APART_S)

    async def _told(self) -> bool:
        try:
            return await self._said()
        except Exception as error:  # whatever it answers, it is asked again
            log.exception("! tracker %s", self.url)
            self._failed(f"{error!r:.300}", asyncio.get_running_loop().time(), 0)
            return False

    async def _said(self) -> bool:
        """Whether the status was taken, or there was none to tell."""
        began = asyncio.get_running_loop().time()
        try:
            if not self._has_keys:
                # By them it is seen whether it is told already: what one talk says would take back what another has
                self._user.has_keys(self.url, await self.keys())
                self._has_keys = True
            status = self._user.status_for(self.url)
            if status is None:
                return True
            code, answer = await self._ask(
                "PUT",
                f"/nodes/{status.node}",
                content=status.encode(),
                headers={"Content-Type": "application/json"},
            )
            if not 200 <= code < 300:
                self._failed(f"{code} {answer[:300].decode(errors='replace')}", began, code)
                return False
            instructions = Instructions.read(answer, self._limits)
            await self._take(instructions, status)
        except (httpx.HTTPError, ClientError, ProtocolError) as error:
            self._failed(f"{error!r:.300}", began, error.status if isinstance(error, BrokerRefused) else 0)
            return False
        if self.answering_since is None:
            self.answering_since = began
        if self.trouble:
            log.info("= tracker %s answers", self.url)
        self.trouble, self.refused, self.answered, self._failing_since = "", False, True, None
        self._known_as = (status.node, status.instance)
        return True

    def _failed(self, trouble: str, began: float, status: int) -> None:
        if trouble != self.trouble:
            log.warning("! tracker %s: %s", self.url, trouble)
        self.trouble = trouble
        self.refused = status in _DENIALS
        self.answering_since = None
        if status in _ALIVE:
            self._failing_since = None
        elif self._failing_since is None:
            self._failing_since = began

    async def _take(self, instructions: Instructions, status: Status | None = None) -> None:
        if instructions.epoch != self._epoch:  # its keys may be others, too
            self._user.has_keys(self.url, await self.keys())
            self._epoch = instructions.epoch
        self._heartbeat_s = max(0.5, instructions.heartbeat_s)
        self._user.instructed(self.url, instructions, status)

    async def _listen(self) -> None:
        """Hear instructions between the statuses, once it has had one."""
        while True:
            try:
                if self._known_as is not None and not self.trouble:
                    await self._events(*self._known_as)
                    self.poke()
            except (httpx.HTTPError, ClientError, ProtocolError) as error:
                log.info("! tracker %s: no instructions: %.200r", self.url, error)
                self.poke()
            except Exception:
                log.exception("! tracker %s: no instructions", self.url)
            await asyncio.sleep(_AGAIN_S)

    async def _events(self, node: str, instance: str) -> None:
        url = f"{self.url}/nodes/{node}/instructions"
        headers = {"Accept": "text/event-stream"}
        timeout = httpx.Timeout(_TIMEOUT_S, read=_SILENT_S)
        async with self._http.stream(
            "GET", url, params={"instance": instance}, headers=headers, timeout=timeout
        ) as answer:
            if not answer.is_success:
                return
            data: list[str] = []
            size = 0
            async for line in _lines(answer):  # HTML, 9.2.6
                if line.startswith("data:"):
                    data.append(line[5:].removeprefix(" "))
                    size += len(line)
                    if size > _MOST_BYTES:
                        raise ProtocolError(f"an event of more than {_MOST_BYTES} bytes")
                elif not line and data:
                    await self._take(Instructions.read("\n".join(data), self._limits))
                    data, size = [], 0

    async def _ask(self, method: str, path: str, **options: Any) -> tuple[int, bytes]:
        """The status and the body of an answer, neither of which may be too long in coming.

        Raises:
            httpx.HTTPError, ClientError: there is none.
            ProtocolError: it is too long.
        """
        body = bytearray()
        try:
            async with (
                asyncio.timeout(_WHOLE_S),
                self._http.stream(method, f"{self.url}{path}", timeout=_TIMEOUT_S, **options) as answer,
            ):
                async for part in answer.aiter_bytes():
                    body += part
                    if len(body) > _MOST_BYTES:
                        raise ProtocolError(f"an answer of more than {_MOST_BYTES} bytes")
        except TimeoutError as error:
            raise httpx.ReadTimeout(f"not all of the answer has come in {_WHOLE_S:g} s") from error
        return answer.status_code, bytes(body)

    async def _get(self, path: str, params: Mapping[str, str] | None = None) -> bytes:
        status, body = await self._ask("GET", path, params=params)
        if not 200 <= status < 300:
            raise ProtocolError(f"{path}: {status} {body[:200].decode(errors='replace')}")
        return body

    async def keys(self) -> bytes:
        """GET /keys.

        Raises:
            httpx.HTTPError, ClientError, ProtocolError: it can't be had.
        """
        try:
            return await self._get("/keys")
        except (httpx.HTTPError, ClientError, ProtocolError):
            self.no_keys_at = asyncio.get_running_loop().time()
            raise

    async def trackers_of(self, stream: str) -> list[str]:
        """The trackers that the registry names for a stream, in their order; none where it leaves that open.

        Raises:
            httpx.HTTPError, ClientError, ProtocolError: the tracker does not tell.
        """
        found = Members.of(await self._get(f"/streams/{stream}"))
        return found.urls("trackers", _MOST_TRACKERS, STREAM_SCHEMES)

    async def origin(self, node: str, stream: str, chain: str) -> Neighbour:
        """Where a chain begins, and a ticket for a link with that node.

        Raises:
            httpx.HTTPError, ClientError, ProtocolError: the tracker does not tell.
        """
        return Neighbour.read(await self._get(f"/nodes/{node}/origin", {"stream": stream, "chain": chain}))


async def _lines(answer: httpx.Response) -> AsyncIterator[str]:
    waiting = b""
    async for part in answer.aiter_bytes():
        *lines, waiting = (waiting + part).split(b"\n")
        if len(waiting) > _MOST_BYTES:
            raise ProtocolError(f"a line of more than {_MOST_BYTES} bytes")
        for line in lines:
            yield line.decode("utf-8", "replace").removesuffix("\r")
