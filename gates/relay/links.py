"""A node's links: one WebSocket for each pair of nodes, whatever streams they share.

Of two nodes one dials, and the other lets in whoever shows a tracker's ticket for the two of them.  `Links` has the port
and those who dial; what is said over a link, and who is wanted at its other end, is the business of its `LinkUser`.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

from websockets.asyncio.client import connect
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import InvalidHandshake, InvalidURI
from websockets.typing import Subprotocol

from triplewire.broker.errors import (
    BrokerError,
    NotFound,
    Overloaded,
    TooManyRequests,
    Unauthorized,
)
from triplewire.broker.model import Failure
from triplewire.broker.wire.subscribe import encode_failure

from .link import GOODBYE_S, Dialled, LetIn, Link
from .messages import LINK_LIMITS

if TYPE_CHECKING:
    import ssl
    from collections.abc import Awaitable, Callable, Iterator, Mapping

    from websockets.http11 import Request, Response

    from triplewire.broker.overlay_config import RelayConfig

    from .counted import Counted
    from .impairment import Impairment
    from .statuses import Neighbour

log = logging.getLogger("triplewire.gates.relay")

PATH: Final = "/links"
SUBPROTOCOL: Final = Subprotocol("triplewire-links.1")
NODE: Final = "Triplewire-Node"
CLOSE_LEAVING: Final = 1001
CLOSE_DOUBLE: Final = 4000  # in the range for applications: there is another link between the two
_ANY: Final = frozenset({"", "0.0.0.0", "::"})  # noqa: S104 - nothing is bound here
_CLOSE_S: Final = 1.0
_AGAIN_S: Final = 0.1
_LIVED_S: Final = 1.0
_STRANGERS: Final = 100  # connections that have not shown a ticket yet, or ask for a page
_QUIET = logging.getLogger("triplewire.gates.relay.protocol")
_QUIET.setLevel(logging.CRITICAL)  # a stranger's broken handshake is not our error

# By path: what answers a GET with that Authorization, as a media type and a body; it may raise BrokerError.
Pages: TypeAlias = "Mapping[str, Callable[[str | None], Awaitable[tuple[str, bytes]]]]"


class LinkUser(Protocol):
    """Who uses the links: calls are on the event loop and return at once, but `admit`."""

    async def admit(self, peer: str, ticket: str) -> None:
        """Raises Unauthorized where the ticket does not let that node in."""

    def wanted(self, peer: str) -> Neighbour | None:
        """Where to dial that node, and with which ticket; None where it is not to be dialled (any more)."""

    def opened(self, link: Link) -> None:
        """There is a link."""

    def received(self, link: Link, message: bytes) -> None:
        """Over it came a message; raises ProtocolError where it is none."""

    def closed(self, link: Link) -> None:
        """It has ended."""

    def failed(self, peer: str) -> None:
        """That node could not be reached, or did not let us in; it is tried again while it is wanted."""


class Links:
    """The links of `node`; `pages` are what its port answers to a GET."""

    def __init__(  # noqa: PLR0913 - all that it depends on
        self,
        node: str,
        config: RelayConfig,
        user: LinkUser,
        counted: Counted,
        *,
        tls: ssl.SSLContext | None = None,
        trust: ssl.SSLContext | None = None,
        pages: Pages | None = None,
        impairment: Impairment | None = None,
    ) -> None:
        """`tls` is this port's own certificate, `trust` says which others' are believed."""
        self._node = node
        self._config = config
        self._user = user
        self._counted = counted
        self._tls = tls
        self._trust = trust
        self._pages = pages or {}
        self._impairment = impairment
        self._links: dict[str, Link] = {}
        self._dialling: dict[str, asyncio.Task[None]] = {}
        self._server: Server | None = None
        self._strangers: dict[LetIn, None] = {}
        self._closed = False

    def __iter__(self) -> Iterator[Link]:
        """The links that there are."""
        return iter(tuple(self._links.values()))

    def __len__(self) -> int:
        return len(self._links)

    def get(self, peer: str) -> Link | None:
        """The link to that node, if there is one."""
        return self._links.get(peer)

    @property
    def port(self) -> int:
        """The port that is listened on."""
        assert self._server is not None
        return int(next(iter(self._server.sockets)).getsockname()[1])

    @property
    def url(self) -> str:
        """Where others find this port, as far as it can be known here; all addresses are told by this machine's name."""
        host = self._config.host
        if host in _ANY:
            host = socket.gethostname()
        place = f"[{host}]" if ":" in host else host
        return f"{'ws' if self._tls is None else 'wss'}://{place}:{self.port}{PATH}"

    async def listen(self) -> None:
        """Open the port.

        Raises:
            OSError: that can't be.
        """
        self._server = await serve(
            self._let_in,
            self._config.host,
            self._config.port,
            ssl=self._tls,
            ssl_handshake_timeout=self._config.dial_s if self._tls is not None else None,
            subprotocols=[SUBPROTOCOL],
            compression=None,
            max_size=LINK_LIMITS.frame_bytes,
            open_timeout=self._config.dial_s,
            close_timeout=_CLOSE_S,
            ping_interval=None,  # the link's own pings
            process_request=self._asked,
            server_header="Triplewire",
            create_connection=self._connection,  # type: ignore[arg-type]  # what makes one is as good as a class
            logger=_QUIET,
        )

    def _connection(self, *arguments: Any, **options: Any) -> LetIn:
        connection = LetIn(*arguments, **options)
        connection.strangers = self._strangers
        connection.most = _STRANGERS
        return connection

    async def _asked(self, connection: ServerConnection, request: Request) -> Response | None:
        try:
            return await self._answer(connection, request)
        except BrokerError as error:
            body = encode_failure(Failure(error.code, error.status, error.description))
            response = connection.respond(HTTPStatus(error.status), body)
            del response.headers["Content-Type"]
            response.headers["Content-Type"] = "application/json"
            if isinstance(error, Unauthorized):
                self._counted.links_refused += 1
                log.info("! a link from %s is refused: %.200s", connection.remote_address, error.description)
                response.headers["WWW-Authenticate"] = error.challenge
            elif isinstance(error, Overloaded):
                response.headers["Retry-After"] = str(error.retry_after_s)
            return response

    async def _answer(self, connection: ServerConnection, request: Request) -> Response | None:
        path = request.path.partition("?")[0]
        if path in self._pages:
            media_type, body = await self._pages[path](request.headers.get("Authorization"))
            response = connection.respond(HTTPStatus.OK, body.decode())
            del response.headers["Content-Type"]
            response.headers["Content-Type"] = media_type
            return response
        if path != PATH:
            raise NotFound(f"there is nothing at {path:.100}")
        if "websocket" not in request.headers.get("Upgrade", "").lower():
            response = connection.respond(HTTPStatus.UPGRADE_REQUIRED, "Links are WebSockets.\n")
            response.headers["Upgrade"] = "websocket"
            return response
        if len(self._links) >= self._config.links:
            raise TooManyRequests("there are too many links")
        peer = request.headers.get(NODE, "")
        scheme, _, ticket = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not ticket or not peer:
            raise Unauthorized(f"a link needs a tracker's ticket (Authorization: Bearer) and {NODE}")
        await self._user.admit(peer, ticket.strip())
        return None

    async def _let_in(self, connection: ServerConnection) -> None:
        assert isinstance(connection, LetIn)
        assert connection.request is not None
        if connection.subprotocol != SUBPROTOCOL:
            await connection.close(1002, f"the subprotocol is {SUBPROTOCOL}")
            return
        self._strangers.pop(connection, None)
        await self._serve(connection.request.headers[NODE], connection)

    def dial(self, peer: str) -> None:
        """Have a link to that node as long as the user wants one."""
        before = self._dialling.get(peer)
        if (before is None or before.done()) and not self._closed:
            task = asyncio.create_task(self._dial(peer))
            self._dialling[peer] = task
            task.add_done_callback(partial(self._dialled, peer))

    def _dialled(self, peer: str, task: asyncio.Task[None]) -> None:
        if self._dialling.get(peer) is task:  # and not one that was begun before this was called
            del self._dialling[peer]

    async def _dial(self, peer: str) -> None:
        wait_s = _AGAIN_S
        while not self._closed and peer not in self._links:
            target = self._user.wanted(peer)
            if target is None:
                return
            try:
                connection = await self._opened(target)
            except Exception as error:
                if not isinstance(error, OSError | InvalidHandshake | InvalidURI | ValueError):
                    log.exception("! %s can't be dialled", peer)  # and is again, as long as it is wanted
                self._counted.dials_failed += 1
                log.info("! %s can't be reached at %s: %.200s", peer, target.links_at, error)
                self._user.failed(peer)
                await asyncio.sleep(wait_s)
                wait_s = min(2 * wait_s, self._config.dial_s)
            else:
                began = connection.loop.time()
                await self._serve(peer, connection)
                # One that lived is dialled again at once
                wait_s = (
                    _AGAIN_S
                    if connection.loop.time() - began > _LIVED_S
                    else min(2 * wait_s, self._config.dial_s)
                )
                await asyncio.sleep(0 if wait_s == _AGAIN_S else wait_s)

    async def _opened(self, target: Neighbour) -> Dialled:
        connection = await connect(
            target.links_at,
            ssl=self._trust if target.links_at.startswith("wss:") else None,
            additional_headers={"Authorization": f"Bearer {target.ticket}", NODE: self._node},
            subprotocols=[SUBPROTOCOL],
            compression=None,
            max_size=LINK_LIMITS.frame_bytes,
            open_timeout=self._config.dial_s,
            close_timeout=_CLOSE_S,
            ping_interval=None,
            user_agent_header="Triplewire",
            create_connection=Dialled,
            logger=_QUIET,
        )
        assert isinstance(connection, Dialled)
        return connection

    async def _serve(self, peer: str, connection: Dialled | LetIn) -> None:
        link = Link(peer, connection, self._config, self._counted, self._user.received, self._impairment)
        before = self._links.get(peer)
        # Where both have dialled at a time, both keep the one that the smaller id has dialled
        if self._closed or (before is not None and self._is_right(before) and not self._is_right(link)):
            await connection.close(CLOSE_DOUBLE, "there is another link")
            return
        if before is not None:
            self._remove(before)
            before.end(CLOSE_DOUBLE, "there is another link")
        self._links[peer] = link
        self._counted.links_opened += 1
        log.info("= link to %s, %s", peer, "dialled" if link.dialled else "let in")
        try:
            link.handle(partial(self._user.opened, link))
            await link.run()
        finally:
            if connection.close_code not in {1000, CLOSE_LEAVING, CLOSE_DOUBLE}:
                self._counted.links_lost += 1
            log.info("= link to %s ended with %s", peer, connection.close_code)
            if self._links.get(peer) is link:
                self._remove(link)

    def _is_right(self, link: Link) -> bool:
        return link.dialled == (self._node < link.peer)

    def _remove(self, link: Link) -> None:
        del self._links[link.peer]
        self._user.closed(link)

    async def close(self) -> None:
        """Say goodbye to all, and close the port."""
        self._closed = True
        for link in self:
            link.end(CLOSE_LEAVING, "")
        for peer, task in self._dialling.items():
            served = self._links.get(peer)
            if served is None or not served.dialled:  # it waits until it may try again
                task.cancel()
        tasks = list(self._dialling.values())
        if self._server is not None:
            self._server.close(close_connections=False)  # links end when what waits for them is written
            for stranger in tuple(self._strangers):
                stranger.transport.abort()
        waiting = [task for task in tasks if not task.done()]
        if waiting:
            _, late = await asyncio.wait(waiting, timeout=GOODBYE_S + 2 * _CLOSE_S)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        if self._server is not None:
            await self._server.wait_closed()
