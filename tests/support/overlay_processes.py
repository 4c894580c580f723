"""Nodes, relays and consumers on the event loops of a few processes, for overlays that one loop would be too slow for.

`Hosting` is what one loop has; `Hosts` are processes with one each, told over pipes what to do.  Moments are those of
`time.perf_counter`, which is the same clock in all processes of a machine.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import random
import socket
import struct
import time
import traceback
from contextlib import AsyncExitStack
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

import httpx

from support.aws_delays import REGIONS
from support.overlay import STREAM, Network, Recorder, neighbours_of, until
from triplewire.broker import relaying
from triplewire.broker.config import Config, StreamConfig, StreamGateConfig
from triplewire.broker.overlay_config import RelayConfig
from triplewire.broker.wire.item_reader import ItemReader
from triplewire.broker.wire.items import FOLLOWED, Item, encode_item
from triplewire.gates.relay.node import Node

if TYPE_CHECKING:
    from collections.abc import Mapping
    from multiprocessing.connection import Connection

# As large as the items of the public transport of Helsinki are, and as many of them in a second
ITEM_BYTES = 308
ITEMS_S = 653
_STEP_S = 0.002  # of a steady flow
_AT_ONCE = 100  # consumers that connect together
_SENT = struct.Struct("@Q")
_SENT_AT = 200  # tcpi_bytes_sent in Linux' struct tcp_info


def item(source: str, number: int, size: int = ITEM_BYTES) -> Item:
    """The item of that number, `size` bytes long on the wire."""
    head = Item(f"{source}-{number:07d}", source, "text/turtle", b"", timestamp="2026-01-01T00:00:00.000Z")
    body = b"<a> <b> <c> .\n" * (size // 14)
    made = Item(
        head.event_id,
        source,
        head.syntax,
        body[: size - len(encode_item(head)) - (2 if size < 1000 else 3)],
        timestamp=head.timestamp,
    )
    assert len(encode_item(made)) == size
    return made


class Consumer(asyncio.Protocol):
    """One that follows a stream over HTTP/1.0, whose body has no frames; `ids` are the items that came."""

    def __init__(self, path: str) -> None:
        self.ids: list[str] = []
        self.size = 0
        self.ended = False
        self.transport: asyncio.Transport | None = None
        self._path = path
        self._head: bytes | None = b""
        self._reader = ItemReader(FOLLOWED)

    @property
    def follows(self) -> bool:
        """Whether its request was answered."""
        return self._head is None

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        transport.write(f"GET {self._path} HTTP/1.0\r\nHost: localhost\r\n\r\n".encode())

    def data_received(self, data: bytes) -> None:
        if self._head is not None:
            head, found, data = (self._head + data).partition(b"\r\n\r\n")
            if not found:
                self._head = head
                return
            assert head.startswith((b"HTTP/1.0 200", b"HTTP/1.1 200")), head
            self._head = None
        self.size += len(data)
        self.ids += (each.event_id for each in self._reader.feed(data) if each.source_id != "ztreamy-command")

    def connection_lost(self, _exc: Exception | None) -> None:
        self.ended = True


class Hosting:
    """Nodes by their names, and relays: whole programs with a stream port, whose nodes are among them not."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.sinks: dict[str, Recorder] = {}
        self.networks: dict[str, Network] = {}
        self.relays: dict[str, tuple[str, str]] = {}  # URLs of the stream and of its node's pages
        self.consumers: dict[str, list[Consumer]] = {}
        self._numbers: dict[str, int] = {}
        self._stack = AsyncExitStack()
        self._http: httpx.AsyncClient | None = None

    async def __aenter__(self) -> Self:
        self._http = await self._stack.enter_async_context(httpx.AsyncClient(timeout=30))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.leave()
        await asyncio.gather(*(node.close() for node in self.nodes.values()))
        await self._stack.aclose()

    async def add(
        self, tracker: str, name: str, regions: Mapping[str, int], *, delayed: bool = False, **settings: Any
    ) -> None:
        """A node that follows; `regions` are those of all nodes that there will be."""
        place = regions[name]
        network = Network(place, dict(regions), delayed=delayed, rng=random.Random(name))
        relay = {"trackers": (tracker,), "node": name, "port": 0, "region": REGIONS[place], **settings}
        node, sink = Node(RelayConfig(**relay), impairment=network), Recorder()
        node.carry(STREAM, sink)
        await node.start("http://127.0.0.1:1")
        node.follow(STREAM, 1)
        self.nodes[name], self.sinks[name], self.networks[name] = node, sink, network

    async def add_relay(self, tracker: str, name: str, **settings: Any) -> None:
        """A relay as `triplewire relay` runs it."""
        relay = RelayConfig(trackers=(tracker,), node=name, port=0, **settings)
        config = Config(
            relay=relay, streams={STREAM: StreamConfig(overlay=True)}, stream=StreamGateConfig(port=0)
        )
        places = (await self._stack.enter_async_context(relaying.running(config))).places
        pages = "http" + places.links.removeprefix("ws").removesuffix("/links")
        self.relays[name] = (f"http://{places.stream}/{STREAM}", pages)

    async def streams(self) -> dict[str, str]:
        """Of each relay, the URL of its stream."""
        return {name: stream for name, (stream, _) in self.relays.items()}

    async def neighbours(self) -> dict[str, list[str]]:
        """Of each node, with whom it shares the stream."""
        return {name: sorted(neighbours_of(node)) for name, node in self.nodes.items()}

    async def ready(self, *names: str) -> None:
        """These may publish, and everybody knows."""
        for name in names:
            await self.nodes[name].ready(STREAM)

    def _next(self, name: str, size: int = ITEM_BYTES) -> Item:
        number = self._numbers[name] = self._numbers.get(name, 0) + 1
        return item(name, number, size)

    async def publish(self, name: str, size: int = ITEM_BYTES) -> tuple[str, float]:
        """One item at a node; its id, and when that was."""
        made = self._next(name, size)
        at = time.perf_counter()
        await self.nodes[name].publish(STREAM, [made])
        return made.event_id, at

    async def flow(self, name: str, per_s: float, seconds: float) -> dict[str, float]:
        """So many items a second at a node, each by itself; when each was published, by its id."""
        node, published, publishing = self.nodes[name], {}, set()
        begun = time.perf_counter()
        while (passed := time.perf_counter() - begun) < seconds:
            while len(published) < passed * per_s:
                made = self._next(name)
                published[made.event_id] = time.perf_counter()
                task = asyncio.create_task(node.publish(STREAM, [made]))
                publishing.add(task)
                task.add_done_callback(publishing.discard)
            await asyncio.sleep(_STEP_S)
        await asyncio.gather(*publishing)
        return published

    async def post(self, name: str, count: int, pause_s: float = 0.0) -> list[str]:
        """So many items, one after another, to a relay's stream port."""
        assert self._http is not None
        posted = []
        for _ in range(count):
            made = self._next(name)
            answer = await self._http.post(
                f"{self.relays[name][0]}/publish",
                content=encode_item(made),
                headers={"Content-Type": "application/ztreamy-event"},
            )
            assert answer.status_code == 200, answer.text
            posted.append(made.event_id)
            await asyncio.sleep(pause_s)
        return posted

    async def received(self) -> dict[str, list[str]]:
        """By node, the items that came, in their order."""
        assert not any(sink.gaps for sink in self.sinks.values())
        return {name: sink.ids for name, sink in self.sinks.items()}

    async def counts(self) -> dict[str, int]:
        """By node, how many items came."""
        return {name: len(sink.ids) for name, sink in self.sinks.items()}

    async def times(self, *ids: str) -> dict[str, dict[str, float]]:
        """By node, when each of these came."""
        return {
            name: {each: sink.times[each] for each in ids if each in sink.times}
            for name, sink in self.sinks.items()
        }

    async def silence(self, name: str, *peers: str) -> None:
        """No parcel arrives from this node at those."""
        self.networks[name].silent = set(peers)

    async def counted(self) -> dict[str, dict[str, int]]:
        """By node, what it counts."""
        return {name: asdict(node.counted) for name, node in self.nodes.items()}

    async def figures(self) -> dict[str, dict[str, float]]:
        """By relay, what its /metrics tell."""
        return {name: await self._figures(pages) for name, (_, pages) in self.relays.items()}

    async def _figures(self, pages: str) -> dict[str, float]:
        assert self._http is not None
        page = await self._http.get(f"{pages}/metrics")
        assert page.status_code == 200, page.text
        lines = [line.split(" ") for line in page.text.splitlines() if not line.startswith("#")]
        prefix = "triplewire_relay_"
        return {
            name.removeprefix(prefix): float(value)
            for name, value in lines
            if name.startswith(prefix) and "{" not in name
        }

    async def sent_bytes(self, name: str) -> int:
        """All that a node's links have given to the network so far, pings and frames too, as the kernel counts it."""
        total = 0
        for link in self.nodes[name]._links:
            sock = link._connection.transport.get_extra_info("socket")
            told = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
            total += _SENT.unpack_from(told, _SENT_AT)[0]
        return total

    async def cpu_s(self) -> float:
        """What this process has used of the processor."""
        return time.process_time()

    async def consume(self, name: str, url: str, count: int) -> None:
        """So many follow the relay of that name, which need not be one of this process."""
        place = urlsplit(url)
        loop = asyncio.get_running_loop()
        them = self.consumers.setdefault(name, [])
        for first in range(0, count, _AT_ONCE):
            made = [
                loop.create_connection(
                    lambda: Consumer(f"{place.path}/stream"), str(place.hostname), place.port
                )
                for _ in range(min(_AT_ONCE, count - first))
            ]
            them += [protocol for _, protocol in await asyncio.gather(*made)]
        await until(lambda: all(each.follows for each in them), 60)

    async def consumed(self) -> dict[str, list[tuple[int, int]]]:
        """Of each relay's consumers: how many items came, and how many different ones; all are still there."""
        assert not any(each.ended for them in self.consumers.values() for each in them)
        return {
            name: [(len(each.ids), len(set(each.ids))) for each in them]
            for name, them in self.consumers.items()
        }

    async def leave(self) -> None:
        """The consumers go."""
        for them in self.consumers.values():
            for each in them:
                if each.transport is not None:
                    each.transport.abort()
        self.consumers.clear()
        await asyncio.sleep(0)


class Hosts:
    """So many processes; `with` ends them.  Answers are those of `Hosting`'s methods, and so are what they raise."""

    def __init__(self, count: int) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipes: list[Connection] = []
        self._processes = []
        for _ in range(count):
            here, there = context.Pipe()
            process = context.Process(target=_host, args=(there,))
            process.start()
            there.close()
            self._pipes.append(here)
            self._processes.append(process)

    def __len__(self) -> int:
        return len(self._pipes)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for pipe in self._pipes:
            pipe.close()  # which tells them to end
        for process in self._processes:
            process.join(30)
            if process.is_alive():
                process.kill()
                process.join()

    def begin(self, host: int, what: str, *arguments: Any, **named: Any) -> None:
        """Tell one to do something; its answer is to be taken before it is told the next."""
        self._pipes[host].send((what, arguments, named))

    def end(self, host: int) -> Any:
        """The answer of one."""
        fine, result = self._pipes[host].recv()
        assert fine, result
        return result

    def ask(self, host: int, what: str, *arguments: Any, **named: Any) -> Any:
        """Both."""
        self.begin(host, what, *arguments, **named)
        return self.end(host)

    def all(self, what: str, *arguments: Any, **named: Any) -> list[Any]:
        """The answers of all, which work at a time."""
        for host in range(len(self)):
            self.begin(host, what, *arguments, **named)
        return [self.end(host) for host in range(len(self))]

    def merged(self, what: str, *arguments: Any, **named: Any) -> dict[str, Any]:
        """Answers that are dictionaries, as one."""
        return {name: value for some in self.all(what, *arguments, **named) for name, value in some.items()}

    def grow(self, tracker: str, names: list[str], regions: Mapping[str, int], **settings: Any) -> None:
        """These nodes, dealt out among the processes in turn."""
        for at, name in enumerate(names):
            self.ask(at % len(self), "add", tracker, name, regions, **settings)

    def linked(self, degree: int = 4, within_s: float = 60.0) -> dict[str, list[str]]:
        """Wait until all nodes have as many neighbours as there can be, and both ends say so; who they are."""
        deadline = time.monotonic() + within_s
        while True:
            found = self.merged("neighbours")
            least = min(degree, len(found) - 1)
            if all(len(peers) == least for peers in found.values()) and all(
                name in found[peer] for name, peers in found.items() for peer in peers
            ):
                return found
            assert time.monotonic() < deadline, found
            time.sleep(0.1)

    def have(self, counts: Mapping[str, int], within_s: float = 60.0) -> None:
        """Wait until so many items have come to each node."""
        deadline = time.monotonic() + within_s
        while (found := self.merged("counts")) != counts:
            assert time.monotonic() < deadline, {
                name: (found[name], count) for name, count in counts.items() if found[name] != count
            }
            time.sleep(0.1)


def _host(pipe: Connection) -> None:
    asyncio.run(_serve(pipe))


async def _serve(pipe: Connection) -> None:
    loop = asyncio.get_running_loop()
    async with Hosting() as hosting:
        while True:
            ready = loop.create_future()
            loop.add_reader(pipe.fileno(), ready.set_result, None)
            await ready
            loop.remove_reader(pipe.fileno())
            try:
                what, arguments, named = pipe.recv()
            except EOFError:
                return
            try:
                pipe.send((True, await getattr(hosting, what)(*arguments, **named)))
            except Exception:  # noqa: BLE001 - it is told to the test
                pipe.send((False, traceback.format_exc()))
