"""Quotas on the stream port: what one client and one address may use, over all of its connections and all processes."""

from __future__ import annotations

import asyncio
import os
import signal
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from triplewire.broker.config import LimitsConfig
from triplewire.broker.errors import ShuttingDown, TooManyRequests
from triplewire.broker.rights import Access
from triplewire.broker.wire.items import encode_item
from triplewire.gates.quotas import Quotas
from triplewire.gates.stream.accounts import AskedAccounts, Hold, Ledger, OwnAccounts
from triplewire.gates.stream.channel import Gave, Received, Requested, Take

from .serving import item, serving, until
from .test_lapses import Judge
from .test_workers import working

HERE = "127.0.0.1"
TOKEN = "Authorization: Bearer good"
MEDIA = "application/ztreamy-event"


def accounts_of(**limits):
    config = LimitsConfig(**limits)
    quotas = Quotas(config)
    return OwnAccounts(quotas, config), quotas


async def status_of(port, path, *headers, method="GET", body=b""):
    """The status, and what the header Retry-After says; the connection is closed."""
    client = await port.request(method, path, *headers, body=body)
    await client.close()
    return client.status, client.headers.get("retry-after")


async def test_consumers_are_subscriptions_of_their_client():
    """503 for one too many, as Ztreamy's consumers never come back after a 4xx; who leaves makes room."""
    limits = {"client_subscriptions": 2}
    async with serving(limits=limits, authority=Judge(good=Access("c"), other=Access("d"))) as port:
        first = await port.follow("/events/stream", TOKEN)
        await port.follow("/events/compressed", TOKEN)
        refused = await port.request("GET", "/events/priority", TOKEN)
        assert (refused.status, refused.headers["retry-after"]) == (503, "1")
        await port.follow("/events/stream", "Authorization: Bearer other")
        assert (await port.request("HEAD", "/events/stream", TOKEN)).status == 200
        await first.close()
        await until(lambda: port.server.consumers == 2)
        await port.follow("/events/stream", TOKEN)


async def test_sockets_of_one_address():
    """Counted from the connection on, while it follows as well, whether it says something or not."""
    accounts, quotas = accounts_of(address_sockets=3)
    async with serving(accounts=accounts) as port:
        silent = await port.connect()
        await port.follow()
        await port.follow()
        refused = await port.connect()
        assert await refused.head() == 503
        assert port.server.shed == 1
        silent.writer.transport.abort()
        await until(lambda: len(port.server._connections) <= 1)
        last = await port.follow()
        with pytest.raises(TooManyRequests):
            quotas.take("sockets", "", HERE)  # as the other ports do: it is one account
        await last.close()
        await until(lambda: port.server.consumers == 2)
        quotas.take("sockets", "", HERE)


ITEM = encode_item(item("x"))
# What a client says before it goes, or the broker does.
SAID = {
    "silent": b"",
    "garbage": b"nonsense\r\n\r\n",
    "half": b"POST /events/publish HTTP/1.1\r\nContent-Length: 99\r\n\r\nEv",
    "post": b"POST /events/publish HTTP/1.1\r\n%b\r\nContent-Type: %b\r\nContent-Length: %d\r\n\r\n%b"
    % (TOKEN.encode(), MEDIA.encode(), len(ITEM), ITEM),
    "poll": b"GET /events/long-polling HTTP/1.1\r\n%b\r\n\r\n" % TOKEN.encode(),
    "follow": b"GET /events/stream HTTP/1.1\r\n%b\r\n\r\n" % TOKEN.encode(),
    "nothing": b"GET /nothing/stream HTTP/1.1\r\n%b\r\n\r\n" % TOKEN.encode(),
    "no handshake": b"GET /events/stream HTTP/1.1\r\n%b\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
    % TOKEN.encode(),
}


@settings(deadline=None, max_examples=25)
@given(st.lists(st.tuples(st.sampled_from(sorted(SAID)), st.booleans()), max_size=12))
def test_whatever_way_a_connection_ends_it_is_given_back(ends):
    """Nothing is open on any account when all have gone."""
    limits = LimitsConfig(address_sockets=100, client_subscriptions=3, address_subscriptions=100)
    quotas = Quotas(limits)

    async def meet():
        accounts, judge = OwnAccounts(quotas, limits), Judge(good=Access("c"))
        async with serving(accounts=accounts, authority=judge) as port:
            for said, cut in ends:
                client = await port.connect()
                client.writer.write(SAID[said])
                await asyncio.sleep(0)
                if cut:
                    client.writer.transport.abort()

    asyncio.run(meet())
    assert not quotas._clients._busy
    assert not quotas._addresses._busy


async def test_requests_a_second():
    """Of a client and of an address; a consumer is told 503, a publisher 429, and when it may come again."""
    limits = {"client_requests_s": 1.0, "client_burst": 2, "address_requests_s": 100.0, "address_burst": 100}
    body = encode_item(item(1))
    async with serving(limits=limits, authority=Judge(good=Access("c"))) as port:
        for _ in range(2):
            assert (await status_of(port, "/events/long-polling?non-blocking=1", TOKEN))[0] == 200
        assert await status_of(port, "/events/stream", TOKEN) == (503, "1")
        post = ("/events/publish", TOKEN, f"Content-Type: {MEDIA}")
        publisher = await port.request("POST", *post, body=body)
        assert (publisher.status, publisher.headers["retry-after"]) == (429, "1")
        assert "limits.client_requests_s" in (await publisher.error())["error_description"]
        assert not len(port.stream.history)
    limits = {"address_requests_s": 1.0, "address_burst": 1}
    async with serving(limits=limits, authority=Judge(good=Access("c"))) as port:
        assert (await status_of(port, "/events/stream"))[0] == 401
        assert (await status_of(port, "/events/stream"))[0] == 503, "guesses at tokens count"


async def test_bytes_a_second():
    """What was published is paid off before the next request is taken."""
    big = encode_item(item("big", b"x" * 30_000))
    async with serving(limits={"address_bytes_s": 10_000.0}) as port:
        post = ("/events/publish", f"Content-Type: {MEDIA}")
        assert (await status_of(port, *post, method="POST", body=big))[0] == 200
        status, wait_s = await status_of(port, *post, method="POST", body=encode_item(item("small")))
        assert status == 429
        assert 1 <= int(wait_s) <= 3
        assert len(port.stream.history) == 1


async def test_a_publisher_that_goes_on_and_on_is_slowed_down():
    """It is not read until it has paid, and loses nothing."""
    async with serving(limits={"address_bytes_s": 150_000.0}) as port:
        client = await port.connect()
        headers = ("Content-Type: application/ztreamy-stream", "Transfer-Encoding: chunked")
        await client.ask("POST", "/events/publish-cont", *headers)
        began = time.monotonic()
        for number in range(16):
            data = encode_item(item(number, b"x" * 30_000))
            client.writer.write(b"%x\r\n%b\r\n" % (len(data), data))
            await client.writer.drain()
        client.writer.write(b"0\r\n\r\n")
        async with asyncio.timeout(20):
            head = await client.reader.readuntil(b"\r\n\r\n")
        assert b" 200 " in head
        assert len(port.stream.history) == 16
        assert time.monotonic() - began >= 1.0, "480 kB at 150 kB/s, of which a second's may come at once"


async def test_workers_share_the_accounts_of_the_main_process():
    """Two workers and one quota; a worker that is killed takes nothing with it."""
    limits = {"client_subscriptions": 3, "client_requests_s": 1000.0, "address_sockets": 50}
    async with working(authority=Judge(good=Access("c")), limits=limits) as port:
        quotas = port.server._quotas
        consumers = [await port.follow("/events/stream", TOKEN) for _ in range(3)]
        for _ in range(4):  # whichever worker it meets
            assert await status_of(port, "/events/stream", TOKEN) == (503, "1")
        await consumers.pop().close()
        await until(lambda: quotas._clients.account("c").subscriptions == 2)
        consumers.append(await port.follow("/events/stream", TOKEN))
        assert quotas._clients.account("c").subscriptions == 3
        assert quotas._addresses.account(HERE).sockets >= 3
        for pid in port.server.pids:
            os.kill(pid, signal.SIGKILL)
        await until(lambda: port.server.replaced == 2)
        assert quotas._clients.account("c").subscriptions == 0
        assert quotas._addresses.account(HERE).sockets == 0
        await until(lambda: len(port.server._workers) == 2)
        await asyncio.gather(*(worker.ready for worker in port.server._workers.values()))
        await port.follow("/events/stream", TOKEN)


async def test_workers_and_publishers():
    """Requests and bytes of both count together; a socket too many of an address is refused by any worker."""
    limits = {"address_bytes_s": 10_000.0, "address_sockets": 4}
    async with working(limits=limits) as port:
        assert await port.post([item(1, b"x" * 40_000)]) == 200
        quotas = port.server._quotas
        await until(lambda: quotas._addresses.account(HERE).bytes > time.monotonic() + 1)
        assert await port.post([item(2)]) == 429
        await until(lambda: quotas._addresses.account(HERE).sockets == 0)
        silent = [await port.connect() for _ in range(4)]
        await until(lambda: quotas._addresses.account(HERE).sockets == 4)
        over = await port.connect()
        assert await asyncio.wait_for(over.reader.read(), 5) == b"", "cut, though it says nothing"
        for client in silent:
            await client.close()
        await until(lambda: quotas._addresses.account(HERE).sockets == 0)


class Asked:
    """The main process as `Asking` has it; answers when it is told to."""

    def __init__(self):
        self.questions = []
        self.answers = []

    async def ask(self, what):
        self.questions.append(what)
        answer = asyncio.get_running_loop().create_future()
        self.answers.append(answer)
        return await answer


class Sent:
    """A channel that keeps what is sent."""

    def __init__(self):
        self.messages = []

    def send(self, message):
        self.messages.append(message)


async def test_a_worker_asks_only_about_whom_there_are_limits_for():
    """Out of the box nobody is anybody's client, and nothing is asked."""
    channel, asking = Sent(), Asked()
    accounts = AskedAccounts(channel, asking, LimitsConfig())
    assert accounts.request("", HERE) is None
    assert accounts.take(("subscriptions", "", HERE)) is None
    accounts.give(("subscriptions", "", HERE))
    accounts.received("", HERE, 10)
    assert channel.messages == []
    accounts.received("c", None, 10)
    assert channel.messages == [Received("c", None, 10)]
    asked = asyncio.ensure_future(accounts.request("c", None))
    await asyncio.sleep(0)
    assert asking.questions == [Requested("c", None)]
    asking.answers[0].set_result(None)
    await asked


async def test_a_place_is_not_given_back_before_it_is_known_that_it_was_taken():
    """The messages would be in the wrong order; what was refused is not given back at all."""
    channel, asking = Sent(), Asked()
    accounts = AskedAccounts(channel, asking, LimitsConfig())
    key = ("subscriptions", "c", HERE)
    taken, refused, told = Hold(accounts, key), Hold(accounts, key), []
    refused.when_refused(lambda: told.append("refused"))
    taken.when_refused(lambda: told.append("taken"))
    await asyncio.sleep(0)
    assert asking.questions == [Take(*key)] * 2
    taken.give()
    refused.give()
    assert channel.messages == []
    asking.answers[0].set_result(None)
    asking.answers[1].set_exception(TooManyRequests("too many"))
    await taken.sure()
    with pytest.raises(TooManyRequests):
        await refused.sure()
    taken.give()
    await asyncio.sleep(0)
    assert channel.messages == [Gave(*key)]
    assert told == ["refused"]


def test_a_ledger_gives_everything_back_once():
    """And takes nothing for a worker that has gone: its question may come behind that."""
    accounts, quotas = accounts_of(client_subscriptions=2)
    key = ("subscriptions", "c", None)
    ledger = Ledger(quotas)
    ledger.take(key)
    ledger.take(key)
    with pytest.raises(TooManyRequests):
        ledger.take(key)
    ledger.give(key)
    ledger.close()
    ledger.close()
    ledger.give(key)
    with pytest.raises(ShuttingDown):
        ledger.take(key)
    for _ in range(2):
        accounts.take(key)
    with pytest.raises(TooManyRequests):
        accounts.take(key)
