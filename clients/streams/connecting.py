"""Connections to a stream, one after the other, as a flow without I/O: each at the first place that gives one.

**A relay that refuses us may be alone with that**: its clock is wrong, its permissions are old, it has just left the stream,
or it sends us to where nobody can go.  Where a tracker named it, others are tried, and the same is believed when another one
says it, or a tracker names the same one again.  Trackers, and servers that a user named, are believed at once.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any, TypeAlias

from triplewire.broker.errors import BrokerRefused, ClientError, ConnectionLost
from triplewire.clients.authorization import Authorize, Token, source_of, token_from
from triplewire.clients.flows import Call, Reply, Wait, refused, wait_s

from .redirects import REDIRECTS

if TYPE_CHECKING:
    from collections.abc import Callable

    from triplewire.clients.authorization import Authorization
    from triplewire.clients.backoff import Backoff

    from .places import Places
    from .redirects import Trail
    from .settings import StreamSettings

Parameters: TypeAlias = tuple[tuple[str, str], ...]
ConnectFlow: TypeAlias = Generator[Call | Wait | Authorize, Any, Reply]

# What one relay can be wrong about.
_DOUBTED = REDIRECTS | {401, 403, 404}


class Connecting:
    """Asks at `places` for a stream from where `begins` says that a connection to a URL begins."""

    def __init__(  # noqa: PLR0913 - all but two are keywords
        self,
        places: Places,
        settings: StreamSettings,
        *,
        backoff: Backoff,
        begins: Callable[[str], Parameters],
        authorization: Authorization | None,
        compressed: bool,
    ) -> None:
        self._places = places
        self._settings = settings
        self._backoff = backoff
        self._begins = begins
        self._source = source_of(authorization)
        self._accept_encoding = "deflate, identity;q=0.5" if compressed else "identity"
        # What was said since the last connection: by which relay, and whether that is where a tracker sent us
        self._doubted: dict[int, tuple[str, bool]] = {}
        self.connected = False  # whether there ever was one

    def opened(self) -> ConnectFlow:
        """A connection: a reply whose body is the stream.

        Raises:
            BrokerRefused: a place answered with an error of ours; or with any, with `reconnect` off.
            ConnectionLost: nobody could be reached, at first or with `reconnect` off.
        """
        while True:
            failures: list[ClientError] = []
            is_promising = self.connected
            is_sent = False
            asked_s = 0.0
            for trail in self._places.trails():
                try:
                    reply, refusal = yield from self._answer(trail)
                except ConnectionLost as error:
                    self._places.failed(trail)
                    failures.append(error)
                    is_promising |= trail.is_moved  # a tracker that is there finds another relay
                    is_sent |= trail.is_moved
                    continue
                is_sent |= trail.is_moved
                if refusal is None:
                    self._places.reached(trail)
                    self._doubted.clear()
                    self.connected = True
                    return reply
                self._places.failed(trail)
                if reply.status == 404 and not self._places.is_last(trail):
                    continue  # another may know the stream
                if reply.status < 500 and not self._is_doubtful(reply, trail):
                    raise refusal
                # Busy, or shedding load: its Retry-After, and never in step with the others.
                failures.append(refusal)
                is_promising = True
                if "retry-after" in reply.headers:
                    asked_s = max(asked_s, wait_s(reply, 0, self._settings))
            if not is_sent:
                self._places.avoid_none()
            if not (is_promising and self._settings.reconnect):
                raise failures[0]
            yield Wait(asked_s + self._backoff.next_s())

    def _answer(self, trail: Trail) -> Generator[Call | Authorize, Any, tuple[Reply, BrokerRefused | None]]:
        """What is answered at the end of a trail, wherever that is, and to another token where one was refused.

        With it why it is no stream, None where it is one.
        """
        refused_token: str | None = None
        refusal: Reply | None = None
        while True:
            token = Token(None)
            if trail.shares_token:
                token = yield from token_from(self._source, refused_token)
                if refusal is not None and token.text == refused_token:
                    return refusal, refused(refusal)
            call = self._call(trail, token)
            reply: Reply = yield call
            if reply.status in REDIRECTS:
                try:
                    trail.follow(reply, (name for name, _ in call.params))
                except BrokerRefused as error:
                    return reply, error
            elif reply.status == 401 and token.text is not None and refusal is None:
                refusal, refused_token = reply, token.text
            else:
                return reply, None if 200 <= reply.status < 300 else self._refused(reply, trail)

    def _is_doubtful(self, reply: Reply, trail: Trail) -> bool:
        """Whether a refusal says nothing of other relays."""
        status = reply.status
        if status == 404 and trail.is_moved and self.connected:
            return True  # it has left the stream
        if not trail.node or status not in _DOUBTED:
            return False
        if status == 401 and not trail.shares_token:
            return False  # nor does any other get it
        relay, is_named = self._doubted.get(status, (trail.node, False))
        if relay != trail.node or (is_named and trail.is_moved):
            return False
        self._doubted[status] = (relay, is_named or trail.is_moved)
        return True

    @staticmethod
    def _refused(reply: Reply, trail: Trail) -> BrokerRefused:
        error = refused(reply)
        if reply.status == 401 and not trail.shares_token:
            why = f"{error.description}; no token is sent on to {trail.url} (trusted_redirects)"
            return BrokerRefused(error.code, error.status, why)
        return error

    def _call(self, trail: Trail, token: Token) -> Call:
        headers = {
            "accept": "application/ztreamy-stream, */*;q=0.1",
            "accept-encoding": self._accept_encoding,
            "cache-control": "no-cache",
        }
        if token.text is not None:
            headers["authorization"] = f"Bearer {token.text}"
        params = (*self._begins(trail.url), *self._places.wishes(trail))
        return Call("GET", trail.url, params, headers, streamed=True, head_s=self._places.patience_s(trail))
