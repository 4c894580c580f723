"""What tokens and TLS cost the chat example: three brokers in one run, a message to each in turn.

Prints figures; asserts only that each message came once, as it was.  The brokers differ in nothing else: the first is
open, the second wants tokens, the third is used over TLS as well.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from urllib.parse import urlencode, urlsplit

import psutil
import websockets
from pyoxigraph import NamedNode
from support.applications import chat_profile
from support.benchmarks import Table, quantile
from support.running import RunningBroker
from support.secured import SecuredBroker

MESSAGES = int(os.environ.get("TRIPLEWIRE_MESSAGES", "2000"))
WARM = 50
ALICE, BOB = (NamedNode(f"http://example.org/chat/user/{name}") for name in ("alice", "bob"))


class Talk:
    """Alice, who writes over one HTTP connection, and Bob, who listens on one WebSocket."""

    def __init__(self, broker, web, socket, token=None, trust=None):
        self.process = psutil.Process(broker.process.pid)
        self.profile = chat_profile(broker)
        self._web, self._socket_url, self._token, self._trust = urlsplit(web), socket, token, trust
        self.heard, self.ended = [], []

    async def open(self):
        web = self._web
        self._reader, self._writer = await asyncio.open_connection(web.hostname, web.port, ssl=self._trust)
        for name in ("alice", "bob"):
            await self._update("REGISTER_USER", userName=name)
        self._socket = await websockets.connect(
            self._socket_url, compression=None, **({"ssl": self._trust} if self._trust else {})
        )
        query = self.profile.query("SENT", receiver=BOB)
        asked = {"sparql": query.sparql, "named-graph-uri": list(query.named_graphs)}
        if self._token:
            asked["authorization"] = f"Bearer {self._token}"
        await self._socket.send(json.dumps({"subscribe": asked}))
        assert "notification" in json.loads(await self._socket.recv())

    async def say(self, text):
        request = self._request("SEND", sender=ALICE, receiver=BOB, text=text)
        began = time.perf_counter()
        self._writer.write(request)
        told = await self._socket.recv()
        self.heard.append(time.perf_counter() - began)
        await self._answered()
        self.ended.append(time.perf_counter() - began)
        (row,) = json.loads(told)["notification"]["addedResults"]["results"]["bindings"]
        assert row["text"]["value"] == text

    async def close(self):
        await self._socket.close()
        self._writer.close()

    async def _update(self, name, **values):
        self._writer.write(self._request(name, **values))
        await self._answered()

    def _request(self, name, **values):
        form = self.profile.update(name, **values)
        fields = {"update": form.sparql, "using-named-graph-uri": form.using_named_graphs}
        body = urlencode(fields, doseq=True).encode()
        bearer = f"Authorization: Bearer {self._token}\r\n" if self._token else ""
        head = (
            f"POST /update HTTP/1.1\r\nHost: {self._web.netloc}\r\nContent-Length: {len(body)}\r\n"
            f"Content-Type: application/x-www-form-urlencoded\r\n{bearer}\r\n"
        )
        return head.encode() + body

    async def _answered(self):
        head = await self._reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200"), head
        length = next(line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length"))
        await self._reader.readexactly(int(length.split(b":")[1]))


async def test_overhead_of_security(tmp_path):
    """The chat by sockets, in turn."""
    quiet = ("log.level=WARNING",)
    plain = RunningBroker.start("--set", *quiet)
    try:
        with (
            SecuredBroker(tmp_path, *quiet) as closed,
            SecuredBroker(_folder(tmp_path, "tls"), *quiet) as tls,
        ):
            trust = tls.authority.context()
            talks = {
                "open": Talk(plain, plain.http, plain.ws),
                "tokens": Talk(closed.running, closed.running.http, closed.running.ws, closed.token()),
                "tokens, TLS": Talk(tls.running, tls.running.https, tls.running.wss, tls.token(), trust),
            }
            for talk in talks.values():
                await talk.open()
            used = {}
            for number in range(MESSAGES + WARM):
                if number == WARM:
                    used = {name: sum(talk.process.cpu_times()[:2]) for name, talk in talks.items()}
                for talk in talks.values():
                    await talk.say(f"message {number}")
            _print(talks, used)
            for talk in talks.values():
                await talk.close()
    finally:
        plain.stop()


def _folder(parent, name):
    folder = parent / name
    folder.mkdir()
    return folder


def _print(talks, used):
    table = Table(
        f"the chat, {MESSAGES:,} messages to each broker in turn; ms from sending, CPU us a message",
        *("broker", "p50 heard", "p99", "p50 done", "p99", "CPU", "p50 heard : open", "CPU : open"),
    )
    base = talks["open"]
    cpu = {
        name: (sum(talk.process.cpu_times()[:2]) - used[name]) / MESSAGES * 1e6
        for name, talk in talks.items()
    }
    for name, talk in talks.items():
        heard, ended = talk.heard[WARM:], talk.ended[WARM:]
        table.add(
            name,
            *(quantile(times, share) * 1e3 for times in (heard, ended) for share in (0.5, 0.99)),
            cpu[name],
            quantile(heard, 0.5) / quantile(base.heard[WARM:], 0.5),
            cpu[name] / cpu["open"],
        )
    table.print()
