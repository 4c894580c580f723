"""HTTP to the leader: whom this broker believes there, and the tokens by which it is believed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx

from triplewire.clients.settings import ClientSettings
from triplewire.clients.trust import tls_context
from triplewire.gates.identity import tokens_at

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from triplewire.broker.config import FollowConfig, PathsConfig
    from triplewire.clients.authorization import TokenSource

# The follower tries again by itself.
_RETRIES = 1


class LeaderAuth(httpx.Auth):
    """Sends a bearer token, and once another one where the leader did not take it."""

    def __init__(self, tokens: TokenSource) -> None:
        self._tokens = tokens

    async def async_auth_flow(self, request: httpx.Request) -> AsyncGenerator[httpx.Request, httpx.Response]:
        """See httpx; raises ClientError where there is no token."""
        token = await self._tokens.token_async()
        request.headers["Authorization"] = f"Bearer {token.text}"
        response = yield request
        if response.status_code == httpx.codes.UNAUTHORIZED:
            token = await self._tokens.token_async(token.text)
            request.headers["Authorization"] = f"Bearer {token.text}"
            yield request


def leader_auth(config: FollowConfig, paths: PathsConfig) -> LeaderAuth | None:
    """The identity of `follow.identity` at the leader; None where none is set."""
    tokens = tokens_at(config.url, config, paths, _settings(config))
    return LeaderAuth(tokens) if tokens is not None else None


def leader_client(config: FollowConfig, timeout: httpx.Timeout, auth: LeaderAuth | None) -> httpx.AsyncClient:
    """Connections to the leader."""
    return httpx.AsyncClient(timeout=timeout, verify=tls_context(_settings(config)), auth=auth)


def _settings(config: FollowConfig) -> ClientSettings:
    return ClientSettings(timeout_s=config.timeout_s, retries=_RETRIES, ca_file=config.ca or None)
