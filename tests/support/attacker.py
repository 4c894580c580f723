"""A member of an overlay that does not do as it should: known to the tracker as any node, with links and a key of its own."""

from __future__ import annotations

import asyncio
import secrets
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

import httpx
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from support.overlay import STREAM, until
from triplewire.gates.relay.links import NODE, SUBPROTOCOL
from triplewire.gates.relay.messages import Certified, Join, Message, decode, encode
from triplewire.gates.relay.parcels import Parcel, chain_name, prove, seal
from triplewire.gates.relay.statuses import Instructions, Neighbour, Status, StatusLimits, StreamStatus
from triplewire.gates.relay.tickets import encoded

if TYPE_CHECKING:
    from collections.abc import Callable

    from websockets.asyncio.client import ClientConnection

    from triplewire.gates.relay.statuses import StreamInstructions

_BEAT_S = 0.25


def dialling(at: str, name: str, ticket: str | None) -> connect:
    """A link to `at` that says to be from `name`; to be awaited, or used by `async with`."""
    headers = {NODE: name} | ({"Authorization": f"Bearer {ticket}"} if ticket is not None else {})
    return connect(
        at,
        additional_headers=headers,
        subprotocols=[SUBPROTOCOL],
        compression=None,
        max_size=None,
        ping_interval=None,
        close_timeout=0.5,
        proxy=None,
    )


class Wire:
    """One link of an attacker; `heard` are the messages that came, `size` their bytes."""

    def __init__(self, peer: str, socket: ClientConnection) -> None:
        self.peer = peer
        self.socket = socket
        self.heard: list[Message] = []
        self.size = 0
        self.keeps = True
        self._task = asyncio.create_task(self._hear())

    async def _hear(self) -> None:
        with suppress(ConnectionClosed):
            async for frame in self.socket:
                self.size += len(frame)
                if self.keeps:
                    self.heard += decode(frame)

    @property
    def is_open(self) -> bool:
        """Whether the other end has not ended it."""
        return not self._task.done()

    @property
    def parcels(self) -> list[Parcel]:
        """Those that came by the flood."""
        return [message for message in self.heard if isinstance(message, Parcel)]

    @property
    def tokens(self) -> list[str]:
        """Of the certificates that came."""
        return [message.token for message in self.heard if isinstance(message, Certified)]

    async def say(self, *messages: Message) -> None:
        """All of them in one frame; nothing where the link has ended."""
        await self.raw(b"".join(map(encode, messages)))

    async def raw(self, frame: bytes | str) -> None:
        """A frame of any bytes, or of text."""
        with suppress(ConnectionClosed):
            await self.socket.send(frame)

    async def ended(self, within_s: float = 5.0) -> int | None:
        """Wait until the other end has ended it; with which code."""
        await until(lambda: not self.is_open, within_s, f"{self.peer} keeps the link")
        return self.socket.close_code

    async def close(self) -> None:
        """Hang up."""
        if self.is_open:
            await self.socket.close()
        await asyncio.gather(self._task, return_exceptions=True)


class Attacker:
    """Is told its neighbours, dials them all, says that it shares the stream, and then nothing: a silent dropper.

    As the lesser id of two dials, and nobody is called `a..` else, it needs no port of its own.  `names` has whoever was
    ever named to it, with the tickets; `says` is what its statuses say besides.
    """

    def __init__(
        self, tracker: str, name: str = "a00", *, rtt_ms: float = 1.0, region: str = "", **says: Any
    ) -> None:
        self.name = name
        self.key = Ed25519PrivateKey.generate()
        self.public = self.key.public_key().public_bytes_raw()
        self.chain = chain_name(STREAM, name, self.public)
        self.token = ""
        self.wires: dict[str, Wire] = {}
        self._opened: list[Wire] = []
        self.names: dict[str, Neighbour] = {}
        self.told: StreamInstructions | None = None
        self.publishes = False
        self.dials: Callable[[str], bool] = lambda _: True
        self._says = says
        self._region = region
        self._rtt_ms = rtt_ms
        self._instance = secrets.token_hex(8)
        self._number = 0
        self._taken = ("", 0)
        self._http = httpx.AsyncClient(base_url=tracker, timeout=10)
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._beat())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await asyncio.gather(*(wire.close() for wire in self._opened))
        await self._goodbye()
        await self._http.aclose()

    async def linked(self, *peers: str, within_s: float = 10.0) -> None:
        """Wait until these, or all that it is told to be linked with, share the stream with it."""

        def shared() -> bool:
            wanted = peers or tuple(one.node for one in self.told.neighbours) if self.told else ()
            return bool(wanted) and all(self._shares(peer) for peer in wanted)

        await until(shared, within_s, lambda: f"{self.name} has {[*self.wires]}, is told {self.told}")

    def _shares(self, peer: str) -> bool:
        wire = self.wires.get(peer)
        return wire is not None and wire.is_open and any(isinstance(one, Join) for one in wire.heard)

    async def certified(self) -> str:
        """Publish from now on, lawfully; the certificate of its chain."""
        self.publishes = True
        await until(lambda: self.token, 5, "the tracker gives it no certificate")
        return self.token

    def parcel(self, first: int, items: list[Any], **instead: Any) -> Parcel:
        """Of its own chain by its own key, or of another."""
        return seal(instead.get("chain", self.chain), first, items, instead.get("key", self.key))

    async def dial(self, peer: str, ticket: str | None = None, *, as_name: str | None = None) -> Wire:
        """One link more to somebody who was named to it."""
        one = self.names[peer]
        socket = await dialling(one.links_at, as_name or self.name, ticket or one.ticket)
        wire = Wire(peer, socket)
        self._opened.append(wire)
        return wire

    async def share(self, peer: str) -> Wire:
        """One link more, over which it says that it shares the stream, by the ticket that it had last."""
        wire = await self.dial(peer)
        await wire.say(Join(STREAM, self.names[peer].ticket))
        return wire

    def status(self, **says: Any) -> Status:
        """What it says to the tracker next."""
        self._number += 1
        epoch, counter = self._taken
        linked = {peer: self._rtt_ms for peer, wire in self.wires.items() if wire.is_open}
        # Of other attackers it says that they are linked: nobody contradicts
        linked |= {peer: self._rtt_ms for peer in self.names if peer.startswith("a")}
        said = {"neighbours": linked, "publishes": self.publishes, "consumers": 1} | self._says | says
        proven = {"key": encoded(self.public), "proof": encoded(prove(STREAM, self.name, self.key))}
        return Status(
            node=self.name,
            instance=self._instance,
            number=self._number,
            region=self._region,
            links_at="ws://127.0.0.1:9/links",
            streams_at="",
            capacity=1,
            streams={STREAM: StreamStatus(epoch, counter, **((proven if self.publishes else {}) | said))},
        )

    async def put(self, body: bytes | None = None) -> httpx.Response:
        """A status, or any body in its place."""
        content = self.status().encode() if body is None else body
        headers = {"Content-Type": "application/json"}
        return await self._http.put(f"/nodes/{self.name}", content=content, headers=headers)

    async def forget(self) -> None:
        """Leave at the tracker, and come back as a newcomer with the next status."""
        await self._goodbye()
        self._taken = ("", 0)

    async def _goodbye(self) -> None:
        await self._http.delete(f"/nodes/{self.name}", params={"instance": self._instance})

    async def _beat(self) -> None:
        while True:
            answer = await self.put()
            if answer.is_success:
                instructions = Instructions.read(answer.content, StatusLimits())
                if (told := instructions.streams.get(STREAM)) is not None:
                    self.told, self.token = told, told.certificate
                    self._taken = (instructions.epoch, told.counter)
                    self.names |= {one.node: one for one in told.neighbours}
                    await self._link(told)
            await asyncio.sleep(_BEAT_S)

    async def _link(self, told: StreamInstructions) -> None:
        for one in told.neighbours:
            wire = self.wires.get(one.node)
            if (wire is None or not wire.is_open) and self.dials(one.node):
                with suppress(OSError, InvalidHandshake, TimeoutError):
                    self.wires[one.node] = await self.share(one.node)


class FalseTracker:
    """Stands between nodes and their tracker; `answers` are those of the tracker to statuses, `says` what comes in their place."""

    def __init__(self, tracker: str) -> None:
        self.url = ""
        self.answers: list[bytes] = []
        self.says: bytes | None = None
        self._http = httpx.AsyncClient(base_url=tracker, timeout=10)
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        await self._server.wait_closed()
        await self._http.aclose()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            method, path, _ = head.split(" ", 2)
            lines = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
            body = await reader.readexactly(int(lines.get("content-length", "0")))
            status, answer = await self._answered(method, path, body)
            head = f"HTTP/1.1 {status} Of a false tracker\r\nContent-Length: {len(answer)}\r\nConnection: close\r\n\r\n"
            writer.write(head.encode() + answer)
            await writer.drain()
        writer.close()

    async def _answered(self, method: str, path: str, body: bytes) -> tuple[int, bytes]:
        if "/instructions" in path:
            return 404, b""  # its nodes hear only answers
        headers = {"Content-Type": "application/json"}
        answer = await self._http.request(method, path, content=body, headers=headers)
        if method == "PUT" and answer.is_success:
            if self.says is not None:
                return 200, self.says
            self.answers.append(answer.content)
        return answer.status_code, answer.content
