"""The stream port over real sockets: what each access answers, and to whom."""

from __future__ import annotations

import asyncio
import gzip
import json
import ssl

import pytest
from support.certificates import LocalAuthority

from triplewire.broker.errors import Unauthorized
from triplewire.broker.rights import Access, Rights, Scope
from triplewire.broker.wire.item_reader import ItemReader
from triplewire.broker.wire.items import encode_item
from triplewire.gates.stream import server
from triplewire.gates.stream.sockets import listening

from .serving import Client, item, on_uvloop, serving, until

DEFLATE = "Accept-Encoding: deflate;q=1, identity;q=0.5"


async def test_a_consumer_gets_what_is_published():
    """The head at once, each batch one chunk of whole items with nothing between them."""
    async with serving() as port:
        consumer = await port.follow()
        assert consumer.headers["content-type"] == "application/ztreamy-stream"
        assert consumer.headers["transfer-encoding"] == "chunked"
        assert consumer.headers["cache-control"] == "no-store"
        assert consumer.headers["vary"] == "Accept, Accept-Encoding"
        assert consumer.headers["x-accel-buffering"] == "no"
        assert consumer.headers["access-control-allow-origin"] == "*"
        assert "content-encoding" not in consumer.headers
        assert await port.post([item(1), item(2)]) == 200
        text = await consumer.chunk()
        first, second = ItemReader().feed(text)
        assert (first.event_id, second.event_id) == ("1", "2")
        assert first.aggregator_ids == (port.stream.source_id,)
        assert text == encode_item(first) + encode_item(second)


@pytest.mark.parametrize(
    ("path", "accept_encoding", "deflated"),
    [
        ("/events/stream", "", False),
        ("/events/stream", "deflate;q=1, identity;q=0.5", True),
        ("/events/stream", "gzip, deflate, br", True),
        ("/events/stream", "identity", False),
        ("/events/stream", "gzip", False),
        ("/events/stream", "*", True),
        ("/events/stream", "deflate;q=0", False),
        ("/events/stream", "deflate;q=0.12345, identity;q=1", False),
        ("/events/stream", "deflate;q=x", False),
        ("/events/compressed", "identity", True),
        ("/events/compressed", "", True),
        ("/events/priority", "deflate", False),
    ],
)
async def test_compression_is_chosen_by_the_path_and_the_client(path, accept_encoding, deflated):
    """As Ztreamy has it, but never 400 or 406 for a header that says something else."""
    async with serving() as port:
        consumer = await port.follow(path, f"Accept-Encoding: {accept_encoding}")
        assert (consumer.headers.get("content-encoding") == "deflate") is deflated
        await port.publish(1, 2)
        assert await consumer.ids(2) == ["1", "2"]


@on_uvloop
async def test_newcomers_to_the_compressed_stream_and_the_elders_all_read_on():
    """Joins between batches, histories, and merges of groups, over the wire."""
    async with serving() as port:
        consumers, expected = [], []
        for number in range(60):
            if number % 3 == 0:
                seen = f"?last-seen={number - 2}" if number > 2 and number % 2 else ""
                consumers.append(await port.follow(f"/events/compressed{seen}"))
                expected.append([str(n) for n in range(number - 1 if seen else number, 60)])
            await port.publish(number, body=b"%d " % number * 400)
            await until(lambda: port.stream.sent == port.stream.history.last)
        for consumer, ids in zip(consumers, expected, strict=True):
            assert await consumer.ids(len(ids)) == ids
            assert consumer.nothing_more()


@pytest.mark.parametrize("access", ["stream", "compressed", "priority"])
async def test_who_comes_back_gets_what_it_missed(access):
    """From its last item on, and then live; an unknown id gets all that is kept (facts 1.4)."""
    async with serving({"window_s": 0.2, "window_most_s": 0.2}) as port:
        await port.publish(1, 2, 3)
        await asyncio.sleep(0.05)
        await port.publish(4)  # waits in the window
        back = await port.follow(f"/events/{access}?last-seen=2")
        lost = await port.follow(f"/events/{access}?last-seen=never-heard-of")
        newest = await port.follow(f"/events/{access}?past-events-limit=1")
        await port.publish(5)
        assert await back.ids(3) == ["3", "4", "5"]
        assert await lost.ids(5) == ["1", "2", "3", "4", "5"]
        newest_ids = await newest.ids(2 if access == "priority" else 3)
        assert newest_ids == ["3", "4", "5"][-len(newest_ids) :]
        assert await port.post([item(6)]) == 200
        for consumer in (back, lost, newest):
            assert await consumer.ids(1) == ["6"]
            assert consumer.nothing_more()


async def test_who_saw_an_item_that_is_still_to_leave_does_not_get_it_again():
    """It came from /priority, and goes on at /stream."""
    async with serving({"window_s": 0.2, "window_most_s": 0.2}) as port:
        await port.publish(1)
        await asyncio.sleep(0.05)
        await port.publish(2, 3)
        consumer = await port.follow("/events/stream?last-seen=2")
        compressed = await port.follow("/events/compressed?last-seen=2")
        assert await consumer.ids(1) == ["3"]
        await port.publish(4)
        assert await consumer.ids(1) == ["4"]
        assert await compressed.ids(2) == ["3", "4"]


async def test_priority_does_not_wait_for_the_window():
    """The item is at the relay while the window is open."""
    async with serving({"window_s": 5, "window_most_s": 5}) as port:
        await port.publish(1)
        relay, consumer = await port.follow("/events/priority"), await port.follow()
        await port.publish(2)
        assert await asyncio.wait_for(relay.ids(1), 1) == ["2"]
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(consumer.ids(1), 0.1)


async def test_lines_of_json():
    """By Accept, on both streams; each line ends with CRLF (facts 1.7)."""
    async with serving() as port:
        plain = await port.follow("/events/stream", "Accept: application/x-ldjson")
        compressed = await port.follow("/events/compressed", "Accept: application/x-ldjson")
        assert compressed.headers["content-type"] == "application/x-ldjson"
        await port.publish(1, 2)
        text = await plain.text()
        assert await compressed.text() == text
        assert text.endswith(b"\r\n")
        assert [json.loads(line)["Event-Id"] for line in text.splitlines()] == ["1", "2"]


async def test_server_sent_events():
    """By Accept; a browser says itself what it has seen."""
    async with serving() as port:
        await port.publish(1, 2)
        page = await port.follow(
            "/events/stream?last-seen=0", "Accept: text/event-stream", "Last-Event-ID: 1", DEFLATE
        )
        assert page.headers["content-type"] == "text/event-stream"
        assert "content-encoding" not in page.headers
        first, second = (await page.text()).decode().split("\n")[:2]
        assert first == "id: 2"
        assert json.loads(second.removeprefix("data: "))["Body"] == "<a> <b> <c> ."


@on_uvloop
async def test_http_1_0_has_no_chunks():
    """The body is the items, and goes on."""
    async with serving() as port:
        plain = await port.follow(version="1.0")
        compressed = await port.follow("/events/compressed", version="1.0")
        assert "transfer-encoding" not in plain.headers
        assert plain.headers["connection"] == "close"
        await port.publish(1)
        wire = encode_item(port.stream.history.since(0).entries[0].item)
        assert await plain.reader.readexactly(len(wire)) == wire
        assert await compressed.reader.readexactly(2) == b"\x78\x9c"


async def test_a_long_poll_is_answered_at_once_or_with_the_next_batch():
    """Nothing to say: it waits; JSON and gzip where they are asked for; the connection stays."""
    async with serving() as port:
        client = await port.connect()
        await client.ask("GET", "/events/long-polling")
        await until(lambda: port.server._readers)
        await port.publish(1, 2)
        assert await client.head() == 200
        assert [each.event_id for each in ItemReader().feed(await client.body())] == ["1", "2"]
        await client.ask("GET", "/events/long-polling?last-seen=1", "Accept: application/json, */*")
        assert await client.head() == 200
        assert [each["Event-Id"] for each in json.loads(await client.body())] == ["2"]
        await client.ask("GET", "/events/long-polling?last-seen=1", "Accept-Encoding: gzip")
        await client.head()
        assert b"Event-Id: 2" in gzip.decompress(await client.body())
        await until(lambda: not port.server._readers)


async def test_who_polls_for_much_gets_it_in_parts(monkeypatch):
    """The oldest first, each from the last that it was given; who says how many it wants gets the newest."""
    monkeypatch.setattr(server, "_POLLED", 2)
    async with serving() as port:
        await port.publish(1, 2, 3, 4, 5)
        client, last, got = await port.connect(), "unknown", []
        for _ in range(3):
            await client.ask("GET", f"/events/long-polling?last-seen={last}")
            assert await client.head() == 200
            got.append([each.event_id for each in ItemReader().feed(await client.body())])
            last = got[-1][-1]
        assert got == [["1", "2"], ["3", "4"], ["5"]]
        await client.ask("GET", "/events/long-polling?past-events-limit=3")
        await client.head()
        assert [each.event_id for each in ItemReader().feed(await client.body())] == ["3", "4", "5"]


async def test_a_filter_is_prepared_before_it_is_needed():
    """Whoever waits for that does not hold up the others; without a filter there is nothing to prepare."""
    asked = []

    def select(feed, conditions):
        asked.append(("select", conditions))
        return feed

    async def prepare(feed, conditions):
        await asyncio.sleep(0)
        asked.append(("prepare", conditions))

    async with serving(select=select, prepare=prepare) as port:
        await port.follow("/events/stream")
        assert asked == []
        conditions = (("source", "a"),)
        for path in ("stream", "priority", "long-polling"):
            await port.request("GET", f"/events/{path}?source=a&past-events-limit=1&non-blocking=1")
            assert asked[:2] == [("prepare", conditions), ("select", conditions)]
            asked.clear()


async def test_a_poll_that_does_not_block_may_be_empty():
    """An empty list, or nothing at all."""
    async with serving() as port:
        client = await port.connect()
        path = "/events/long-polling?past-events-limit=5&non-blocking=1"
        await client.ask("GET", path, "Accept: application/json")
        await client.head()
        assert await client.body() == b"[]"
        await client.ask("GET", path)
        await client.head()
        assert client.headers["content-length"] == "0"


async def test_a_poll_ends_after_a_while():
    """With nothing, which clients take for: ask again."""
    async with serving(gate={"poll_s": 0.01}) as port:
        client = await port.connect()
        await client.ask("GET", "/events/long-polling")
        assert await client.head() == 200
        assert client.headers["content-length"] == "0"


@on_uvloop
async def test_clients_that_leave_are_not_waited_for():
    """A poll and consumers of each kind: nothing is left of them, though nothing was sent."""
    async with serving() as port:
        for path in ("stream", "compressed", "priority"):
            await port.follow(f"/events/{path}")
        poll = await port.connect()
        await poll.ask("GET", "/events/long-polling")
        await until(lambda: len(port.server._readers) == 3)
        for client in port.clients:
            await client.close()
        await until(lambda: not port.server._readers and not port.server.consumers)
        assert not port.server._connections


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 404),
        ("GET", "/events", 404),
        ("GET", "/events/", 404),
        ("GET", "/events/next", 404),
        ("GET", "/events/short-lived", 404),
        ("GET", "/other/stream", 404),
        ("POST", "/other/publish", 404),
        ("GET", "/events/stream?past-events-limit=-1", 404),
        ("GET", "/events/stream?past-events-limit=many", 404),
        ("GET", "/events/long-polling?past-events-limit=x", 404),
        ("POST", "/events/stream", 405),
        ("DELETE", "/events/publish", 405),
        ("GET", "/events/publish", 405),
        ("GET", "/events/publish-cont", 405),
        ("POST", "/events/publish", 400),
    ],
)
async def test_what_is_not_there(method, path, status):
    """404 and 405 as in Ztreamy, SEPA's error object, and the connection stays for the next request."""
    async with serving() as port:
        client = await port.request(method, path)
        assert client.status == status
        error = await client.error()
        assert (error["status_code"], client.headers["access-control-allow-origin"]) == (status, "*")
        assert ("allow" in client.headers) is (status == 405)
        await client.ask("GET", "/events/stream")
        assert await client.head() == 200


async def test_head_and_options():
    """The head without a body, and the answer that a browser asks for beforehand."""
    async with serving() as port:
        client = await port.request("HEAD", "/events/compressed")
        assert client.headers["content-encoding"] == "deflate"
        await client.ask("OPTIONS", "/events/publish", "Access-Control-Request-Method: POST")
        assert await client.head() == 200
        assert client.headers["access-control-allow-origin"] == "*"
        assert "POST" in client.headers["access-control-allow-methods"]
        assert "content-type" in client.headers["access-control-allow-headers"].lower()


async def test_too_many_consumers_are_told_to_come_back():
    """503 and Retry-After: after a 4xx a client never would (facts 1.9)."""
    async with serving(gate={"consumers": 1}) as port:
        await port.follow()
        client = await port.request("GET", "/events/stream")
        assert client.status == 503
        assert client.headers["retry-after"] == "1"
        await port.clients[0].close()
        await until(lambda: not port.server.consumers)
        await port.follow()


async def test_too_many_connections_are_told_to_come_back():
    """Those that do not follow have a limit of their own."""
    async with serving(limits={"sockets": 1}) as port:
        await port.connect()
        client = await port.connect()
        assert await client.head() == 503


async def test_who_says_nothing_is_cut():
    """A head that does not come, and a connection that is not used any more."""
    async with serving(gate={"header_timeout_s": 0.05, "keep_alive_s": 0.05}) as port:
        silent = await port.connect()
        idle = await port.request("GET", "/")
        await idle.body()
        consumer = await port.follow()
        for client in (silent, idle):
            with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
                await asyncio.wait_for(client.reader.readexactly(1), 3)
        await port.publish(1)
        assert await consumer.ids(1) == ["1"]


@on_uvloop
async def test_the_end_of_the_server_ends_responses_cleanly():
    """The last chunk, and an empty answer: clients come back with what they saw last."""
    async with serving() as port:
        plain, compressed = await port.follow(), await port.follow("/events/compressed")
        poll = await port.connect()
        await poll.ask("GET", "/events/long-polling")
        await until(lambda: len(port.server._readers) == 2)
        await port.server.close()
        for consumer in (plain, compressed):
            assert await consumer.chunk() == b""
            assert await consumer.reader.read() == b""
        assert await poll.head() == 200
        assert port.server.consumers == 0


async def test_the_end_of_a_stream_ends_its_consumers():
    """Those of other streams stay."""
    async with serving() as port:
        consumer = await port.follow()
        await port.publish(1)
        port.stream.close()
        assert await consumer.ids(1) == ["1"]
        assert await consumer.chunk() == b""
        assert (await port.request("GET", "/events/stream")).status == 404


KNOWN = {
    "all": Access("ann"),
    "other": Access("bob", rights=Rights(follow=frozenset({"x"}), publish=frozenset({"x"}))),
    "query": Access("cyd", scopes=frozenset({Scope.QUERY})),
}


class Bouncer:
    """An authority that knows three tokens."""

    def known(self, token):  # noqa: ARG002 - an authority's own form
        return None

    async def access(self, token):
        if token not in KNOWN:
            raise Unauthorized("no token")
        return KNOWN[token]

    def listen(self, changed):  # noqa: ARG002 - an authority's own form
        return lambda: None


@pytest.mark.parametrize(
    ("token", "status"), [("all", 200), ("other", 403), ("query", 403), ("wrong", 401), ("", 401)]
)
async def test_tokens(token, status):
    """Scopes, and rights to single streams; without a token nobody learns what is there."""
    async with serving(authority=Bouncer()) as port:
        header = f"Authorization: Bearer {token}" if token else "X-No: token"
        for path in ("stream", "priority", "long-polling?non-blocking=1"):
            assert (await port.request("GET", f"/events/{path}", header)).status == status
        media_type = "application/ztreamy-event"
        assert await port.post([item(1)], "/events/publish", media_type, header) == status
        missing = await port.request("GET", "/none/stream", header)
        assert missing.status == (404 if status == 200 else status)


@on_uvloop
async def test_over_tls(tmp_path):
    """Streams, errors, and one that does not read; in the same lanes as the others."""
    authority = LocalAuthority(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority.certificate, authority.key)
    async with serving({"history_bytes": 1 << 30}, gate={"unread_bytes": 100_000}) as port:
        numbers = await port.server.start(sockets=listening("127.0.0.1", 0), tls=context)

        async def connect():
            client = Client(
                *await asyncio.open_connection(
                    "127.0.0.1", numbers[0], ssl=authority.context(), limit=1 << 20
                )
            )
            port.clients.append(client)
            return client

        consumers = []
        for path in ("stream", "compressed"):
            consumers.append(await connect())
            await consumers[-1].ask("GET", f"/events/{path}")
            assert await consumers[-1].head() == 200
        plain = await port.follow()
        slow = await connect()
        await slow.ask("GET", "/events/stream")
        await slow.head()
        slow.writer.transport.pause_reading()
        ids = [str(number) for number in range(150)]
        reading = [asyncio.create_task(consumer.ids(150)) for consumer in (*consumers, plain)]
        for event_id in ids:
            await port.publish(event_id, body=bytes(100_000))
            await until(lambda: port.stream.sent == port.stream.history.last)
        assert await asyncio.gather(*reading) == [ids, ids, ids]
        slow.writer.transport.resume_reading()
        assert await slow.ids(150) == ids
        stranger = await connect()
        stranger.writer.write(b"nonsense\r\n\r\n")
        assert await stranger.head() == 400
