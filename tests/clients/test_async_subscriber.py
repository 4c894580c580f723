import asyncio
from random import Random

import pytest
from pyoxigraph import Literal

from triplewire.broker.errors import BrokerRefused, ConnectionLost
from triplewire.broker.model import Failure
from triplewire.clients import AsyncSubscriber, ClientSettings
from triplewire.clients.live_query import State

SELECT = "SELECT ?n { <a:b> <a:c> ?n }"
QUICK = ClientSettings(timeout_s=5, backoff_first_s=0.01, backoff_longest_s=0.05)


class Heard:
    """What callbacks were told, in order."""

    def __init__(self):
        self._queue = asyncio.Queue()

    def __getattr__(self, name):
        return lambda argument: self._queue.put_nowait((name, argument))

    async def next(self):
        async with asyncio.timeout(5):
            return await self._queue.get()

    @property
    def nothing_more(self):
        return self._queue.empty()

    def callbacks(self, *names):
        return {name: getattr(self, name) for name in names}


@pytest.fixture
async def heard():
    return Heard()


@pytest.fixture
async def subscriber(fake, heard):
    async with AsyncSubscriber(
        fake.ws,
        settings=QUICK,
        rng=Random(1),
        on_disconnect=heard.on_disconnect,
        on_reconnect=heard.on_reconnect,
    ) as subscriber:
        yield subscriber


async def update(fake, sparql):
    # The fake broker blocks: not on our loop.
    await asyncio.to_thread(fake.update, sparql)


def insert(*numbers):
    return f"INSERT DATA {{ <a:b> <a:c> {', '.join(map(str, numbers))} }}"


def ns(*numbers):
    return [{"n": Literal(number)} for number in numbers]


async def test_first_results_and_changes_are_called_back(fake, subscriber, heard):
    """First results before `subscribe` returns."""
    await update(fake, insert(1))

    live = await subscriber.subscribe(SELECT, **heard.callbacks("on_first_results", "on_added", "on_removed"))
    assert not heard.nothing_more
    assert await heard.next() == ("on_first_results", ns(1))
    await update(fake, insert(2))
    await update(fake, "DELETE DATA { <a:b> <a:c> 1 }")

    assert await heard.next() == ("on_added", ns(2))
    assert await heard.next() == ("on_removed", ns(1))
    assert live.answer == ns(2)


async def test_callbacks_may_be_coroutine_functions(fake, subscriber, heard):
    """Each is awaited before the next."""

    async def slow(rows):
        heard.begin(rows)
        await asyncio.sleep(0)
        heard.end(rows)

    await subscriber.subscribe(SELECT, on_added=slow)
    for number in range(3):
        await update(fake, insert(number))

    told = [await heard.next() for _ in range(6)]
    assert [name for name, _ in told] == ["begin", "end"] * 3


async def test_a_refused_subscribe_raises(fake, subscriber, heard):
    """Where it was asked for, and nowhere else."""
    fake.refusals.append(Failure("parsing failed", 400, "no such word"))

    with pytest.raises(BrokerRefused, match="no such word"):
        await subscriber.subscribe("SELEKT", on_error=heard.on_error)

    assert heard.nothing_more
    await subscriber.subscribe(SELECT)


async def test_after_a_lost_connection_only_the_difference_is_called_back(fake, subscriber, heard):
    """What was missed, and what comes after."""
    await update(fake, insert(1, 2))
    await subscriber.subscribe(SELECT, **heard.callbacks("on_first_results", "on_added", "on_removed"))
    await heard.next()
    await asyncio.to_thread(fake.stop)
    assert (await heard.next())[0] == "on_disconnect"
    await update(fake, "DELETE DATA { <a:b> <a:c> 1 } ; " + insert(3))
    fake.start()

    assert (await heard.next())[0] == "on_reconnect"
    assert await heard.next() == ("on_added", ns(3))
    assert await heard.next() == ("on_removed", ns(1))
    await update(fake, insert(4))
    assert await heard.next() == ("on_added", ns(4))


async def test_an_unsubscribed_query_is_told_no_more(fake, subscriber, heard):
    """And the broker no longer holds it."""
    live = await subscriber.subscribe(SELECT, **heard.callbacks("on_added", "on_unsubscribe"))
    spuid = live.spuid

    await subscriber.unsubscribe(live)
    await update(fake, insert(1))

    assert await heard.next() == ("on_unsubscribe", spuid)
    assert heard.nothing_more
    assert fake.subscriptions == 0


async def test_callbacks_may_subscribe_and_unsubscribe(fake, subscriber, heard):
    """They do not wait for what only they could let happen."""
    lives = []

    async def more(_):
        lives.append(await subscriber.subscribe("SELECT ?s { ?s <a:d> ?o }", on_first_results=heard.second))
        await subscriber.unsubscribe(lives[0])

    lives.append(await subscriber.subscribe(SELECT, on_added=more, on_unsubscribe=heard.left))
    await update(fake, insert(1))

    assert {(await heard.next())[0], (await heard.next())[0]} == {"second", "left"}


async def test_a_callback_that_is_cancelled_does_not_end_the_connection(fake, subscriber, heard):
    """Something it awaited was, which is its own affair."""

    async def fail(_):
        raise asyncio.CancelledError

    await subscriber.subscribe(SELECT, on_first_results=fail, **heard.callbacks("on_error", "on_added"))
    await update(fake, insert(1))

    assert "was cancelled" in str((await heard.next())[1])
    assert await heard.next() == ("on_added", ns(1))


async def test_whoever_stops_waiting_leaves_nothing_behind(fake, subscriber):
    """As by `asyncio.timeout`."""
    fake.silent = True
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await subscriber.subscribe(SELECT)
    fake.silent = False

    live = await subscriber.subscribe(SELECT)

    assert live.state is State.LIVE
    assert fake.subscriptions == 1


async def test_a_silent_broker_is_not_waited_for_for_ever(fake):
    """The bound is a setting."""
    fake.silent = True
    async with AsyncSubscriber(fake.ws, settings=ClientSettings(timeout_s=1)) as subscriber:
        with pytest.raises(ConnectionLost, match="within 1 s"):
            await subscriber.subscribe(SELECT)


async def test_a_broker_that_was_never_there_is_told_at_once(fake):
    """And may be there the next time."""
    await asyncio.to_thread(fake.stop)
    subscriber = AsyncSubscriber(fake.ws, settings=QUICK)

    with pytest.raises(ConnectionLost, match="can't connect"):
        await subscriber.subscribe(SELECT)
    fake.start()
    await subscriber.subscribe(SELECT)

    await subscriber.close()


async def test_without_reconnection_a_lost_connection_ends_everything(fake, heard):
    """By on_error; a later subscribe begins anew."""
    settings = ClientSettings(timeout_s=5, reconnect=False)
    async with AsyncSubscriber(fake.ws, settings=settings) as subscriber:
        live = await subscriber.subscribe(SELECT, on_error=heard.on_error)
        task = subscriber._task
        fake.drop()

        assert isinstance((await heard.next())[1], ConnectionLost)
        assert live.state is State.ENDED
        await asyncio.wait({task}, timeout=5)
        await subscriber.subscribe(SELECT)


async def test_closing_ends_the_task_and_the_connection(fake, heard):
    """Also while it waits to connect again."""
    subscriber = AsyncSubscriber(
        fake.ws,
        settings=ClientSettings(timeout_s=5, backoff_first_s=30),
        on_disconnect=heard.on_disconnect,
    )
    await subscriber.subscribe(SELECT)
    fake.drop()
    await heard.next()

    await subscriber.close()
    await subscriber.close()

    assert subscriber._task.done()
    with pytest.raises(ConnectionLost, match="closed"):
        await subscriber.subscribe(SELECT)


async def test_closing_lets_a_running_callback_end(fake, heard):
    """It is not cancelled in its middle."""
    going = asyncio.Event()

    async def slow(_):
        going.set()
        await asyncio.sleep(0.05)
        heard.finished(None)

    subscriber = AsyncSubscriber(fake.ws, settings=QUICK)
    subscribing = asyncio.ensure_future(subscriber.subscribe(SELECT, on_first_results=slow))
    await going.wait()

    await subscriber.close()

    assert (await heard.next())[0] == "finished"
    await subscribing


async def test_a_callback_may_close(fake):
    """It does not wait for itself."""
    subscriber = AsyncSubscriber(fake.ws, settings=QUICK)

    async def close(_):
        await subscriber.close()

    await subscriber.subscribe(SELECT, on_first_results=close)

    await asyncio.wait({subscriber._task}, timeout=5)
    assert subscriber._task.done()


async def test_closing_lets_go_whoever_waits(fake):
    """With an error."""
    fake.silent = True
    subscriber = await AsyncSubscriber(fake.ws, settings=QUICK).open()
    waiting = asyncio.ensure_future(subscriber.subscribe(SELECT))
    await asyncio.to_thread(fake.until, lambda: fake.said)

    await subscriber.close()

    with pytest.raises(ConnectionLost, match="closed"):
        await waiting
