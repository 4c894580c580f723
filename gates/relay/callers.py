"""Who asks a tracker for something, and what of it is read: before anything is done, the caller is known and within limits."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from fastapi.responses import Response

from triplewire.broker.errors import MalformedRequest
from triplewire.broker.security.sites import site_of
from triplewire.broker.stream_checks import is_stream_name
from triplewire.gates.http.bodies import whole_body
from triplewire.gates.http.response import JSON_TYPE, NO_SNIFFING

from .members import is_node
from .statuses import Status, StatusLimits

if TYPE_CHECKING:
    from collections.abc import Callable

    from fastapi import Request

    from triplewire.broker.config import Config
    from triplewire.broker.rights import Access
    from triplewire.gates.quotas import Quotas

    from .tracker_access import TrackerAccess
    from .tracking import Tracking

# What takes as long as one status more
_NAMED = 100  # streams that are named
_PROOFS = 10


class Callers:
    """What stands before each path; `clock` gives seconds."""

    def __init__(
        self,
        config: Config,
        tracking: Tracking,
        access: TrackerAccess,
        quotas: Quotas,
        clock: Callable[[], float],
    ) -> None:
        self._limits = StatusLimits(streams=config.tracker.streams)
        self._most_bytes = config.tracker.status_bytes
        self._timeout_s = config.http.body_timeout_s
        self._tracking = tracking
        self._access = access
        self._quotas = quotas
        self._clock = clock

    async def anybody(self, request: Request) -> Access:
        """Who asks.

        Raises:
            Unauthorized: a token is needed, and is not there or not good.
            TooManyRequests: the client, or its address, asks too often.
        """
        who = await self._access.of(request.headers.get("authorization"))
        self._quotas.request(who.client, request.client.host if request.client else None)
        return who

    async def reader(self, request: Request, stream: str) -> Access:
        """Who asks for something of a stream.  Raises Forbidden, MalformedRequest, and as `anybody` does."""
        who = await self.anybody(request)
        if not is_stream_name(stream):
            raise MalformedRequest(f"{stream!r:.80} is no name of a stream: letters, digits, '_', '-', '.'")
        self._access.read(stream, who)
        return who

    async def asker(self, request: Request, name: str) -> Access:
        """Who asks for something that is this node's.

        Raises:
            MalformedRequest: it is no node's id.
            Forbidden: it is another client's, or the token is not for that.
            TooManyRequests: it asks too often.
        """
        who = await self._speaker(request, name)
        self._tracking.nodes.asks(name, self._clock(), site(request))
        return who

    async def status(self, request: Request, name: str) -> tuple[Status, Access]:
        """What a node says of itself, and who says it.  Raises as `asker` does, and as `whole_body` and `Status.read` do."""
        who = await self._speaker(request, name)
        self._tracking.nodes.speaks(name, who, self._clock(), site(request))
        body = await whole_body(request, self._most_bytes, self._timeout_s, "tracker.status_bytes")
        address = request.client.host if request.client else None
        self._quotas.received(who.client, address, len(body))
        status = Status.read(name, body, self._limits)
        self._spend(request, name, who, (len(status.streams) + len(status.carries)) // _NAMED)
        self._check(name, who)  # it may have become another's while the body was under way
        return status, who

    def proved(self, request: Request, name: str, who: Access, proofs: int) -> None:
        """For what a node said, so many proofs had to be verified."""
        self._spend(request, name, who, proofs // _PROOFS)

    def _spend(self, request: Request, name: str, who: Access, statuses: int) -> None:
        self._tracking.nodes.spends(name, who, statuses, self._clock(), site(request))

    async def _speaker(self, request: Request, name: str) -> Access:
        who = await self.anybody(request)
        if not is_node(name):
            raise MalformedRequest(f"{name!r:.80} is no node's id: 1 to 64 letters, digits, '_', '-', '.'")
        self._check(name, who)
        return who

    def _check(self, name: str, who: Access) -> None:
        holder = self._tracking.nodes.get(name)
        self._access.node(name, who, holder.who if holder is not None else None)


def site(request: Request) -> str:
    """Where somebody asks from; "" where that is not known."""
    return site_of(request.client.host) if request.client else ""


def parameter(request: Request, name: str) -> str:
    """A parameter of the URL that must be there once.  Raises MalformedRequest."""
    found = request.query_params.getlist(name)
    if len(found) != 1:
        raise MalformedRequest(f"the URL needs the parameter {name}, once")
    return found[0]


def answer(document: dict[str, Any] | bytes) -> Response:
    """A JSON document, or the bytes of one; no cache keeps it."""
    body = document if isinstance(document, bytes) else json.dumps(document, separators=(",", ":")).encode()
    name, value = NO_SNIFFING
    return Response(body, headers={"Content-Type": JSON_TYPE, "Cache-Control": "no-store", name: value})
