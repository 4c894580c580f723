"""What administrators do with clients and keys: see them, revoke them, have a new key sign."""

from __future__ import annotations

import logging
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from fastapi import Response

from triplewire.broker.errors import MalformedRequest, Unauthorized
from triplewire.broker.rights import Access, Scope

from .answers import answer

if TYPE_CHECKING:
    from collections.abc import Callable

    from fastapi import Request

    from triplewire.broker.security.clients import Client

    from .server import AuthorizationServer

log = logging.getLogger("triplewire.gates.oauth")

_PAGE = 1000


class Administration:
    """Needs the scope admin; who asks was found out by the router, and where it was not, nobody may."""

    def __init__(self, server: AuthorizationServer, now: Callable[[], float] = time.time) -> None:
        """`now` gives seconds since the epoch."""
        self._server = server
        self._parts = server.parts
        self._now = now

    async def list(self, request: Request) -> Response:
        """Up to a thousand clients by their ids; `next` is what to give as `after` for those that follow."""
        _need(request)
        after = request.query_params.get("after", "")
        clients = await self._server.desk.run(self._parts.clients.page, after, _PAGE)
        more = clients[-1].client_id if len(clients) == _PAGE else None
        return answer({"clients": [_shown(client) for client in clients], "next": more})

    async def revoke(self, request: Request) -> Response:
        """A client, its secret and its tokens; with `jti` that token only; with `readmit=true` it may register again."""
        who = _need(request).client
        client_id = request.path_params["client_id"]
        jti = request.query_params.get("jti")
        if jti is not None:
            await self._server.revoke_jti(client_id, _checked(jti), self._now() + self._parts.longest_s)
        else:
            readmit = request.query_params.get("readmit", "false").lower() == "true"
            await self._server.revoke_client(client_id, readmit=readmit)
        log.info("= %r revoked that", who)
        return Response(status_code=204)

    async def rotate(self, request: Request) -> Response:
        """A new key signs from now on; the old ones verify until what they signed has expired."""
        who = _need(request).client
        key = await self._server.desk.run(self._parts.keys.rotate)
        log.info("= %r had a new key made: %s", who, key.kid)
        return answer({"kid": key.kid}, 201)


def _need(request: Request) -> Access:
    access = request.scope.get("triplewire.access")
    if not isinstance(access, Access):
        raise Unauthorized(
            "no token: send Authorization: Bearer",
            code="invalid_request",
            challenge='Bearer realm="triplewire"',
        )
    access.need(Scope.ADMIN)
    return access


def _checked(jti: str) -> str:
    if not jti or len(jti) > 256 or not jti.isprintable():
        raise MalformedRequest("jti must be the identifier of a token")
    return jti


def _shown(client: Client) -> dict[str, Any]:
    return {
        "client_id": client.client_id,
        "identity": client.identity,
        "registered_at": _time(client.registered_at),
        "revoked_at": None if client.revoked_at is None else _time(client.revoked_at),
    }


def _time(moment: float) -> str:
    text = datetime.fromtimestamp(moment, UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")
