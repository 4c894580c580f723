"""The load patterns of SEPA's own stress tests, in our words and with their exact counts of events."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from stress.peers import Listener, Publisher, close_all, fold, open_listeners, until

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.running import RunningBroker

pytestmark = [pytest.mark.xdist_group("stress-patterns")]

N = 10
GRAPH = "<http://stress.example/graph>"
ALL = f"SELECT * WHERE {{ GRAPH {GRAPH} {{ ?x ?y ?z }} }}"
VAIMEE = f'SELECT * WHERE {{ GRAPH {GRAPH} {{ ?x ?y "ვაიმეე" }} }}'


def only(name: str) -> str:
    """The query for what one kind of producer writes."""
    return f"SELECT * WHERE {{ GRAPH {GRAPH} {{ <urn:{name}> <urn:p> ?random }} }}"


def produce(name: str) -> str:
    """An update that writes something new each time: the broker's own random IRI."""
    return (
        f"DELETE {{ GRAPH {GRAPH} {{ <urn:{name}> <urn:p> ?o }} }} WHERE {{ GRAPH {GRAPH} {{ <urn:{name}> <urn:p> ?o }} }} ;"
        f" INSERT {{ GRAPH {GRAPH} {{ <urn:{name}> <urn:p> ?new }} }} "
        "WHERE { BIND(IRI(CONCAT('urn:random:', STRUUID())) AS ?new) }"
    )


async def subscribed(url: str, queries: list[str]) -> list[Listener]:
    """A socket for each query, all asked at once."""
    listeners = await open_listeners(url, len(queries))
    await asyncio.gather(
        *(listener.subscribe(query) for listener, query in zip(listeners, queries, strict=True))
    )
    return listeners


async def publish(publisher: Publisher, update: str, times: int) -> None:
    """One publisher: each update waits for the answer to the one before."""
    for _ in range(times):
        await publisher.update(update)


def url_of(broker: RunningBroker, port: str) -> str:
    """The subscribe URL on the WebSocket port or on the HTTP port."""
    return broker.ws if port == "ws" else f"{broker.http.replace('http', 'ws', 1)}/subscribe"


@pytest.mark.parametrize("port", ["ws", "http"])
async def test_thirty_subscriptions_hear_thirty_first_results(
    start: Callable[..., RunningBroker], port: str
) -> None:
    """Subscribe3xN: three queries, N sockets each, one event each."""
    broker = start()
    async with Publisher(broker) as publisher:
        listeners = await subscribed(url_of(broker, port), [ALL, only("a"), only("b")] * N)
        await publisher.holds(subscriptions=3 * N, sockets=3 * N)
        assert [len(listener.heard) for listener in listeners] == [1] * (3 * N)
        assert len({listener.heard[0]["spuid"] for listener in listeners}) == 3 * N
        await close_all(listeners)
        await publisher.holds(subscriptions=0, sockets=0)


@pytest.mark.parametrize("port", ["ws", "http"])
async def test_every_subscriber_hears_every_update(start: Callable[..., RunningBroker], port: str) -> None:
    """NotifyNxN: 10 subscribers, 10 publishers of 10 updates each are exactly 10 + 1000 events."""
    broker = start()
    async with Publisher(broker) as publisher:
        listeners = await subscribed(url_of(broker, port), [only("a")] * N)
        await asyncio.gather(*(publish(publisher, produce("a"), N) for _ in range(N)))
        await asyncio.gather(*(listener.hears(1 + N * N) for listener in listeners))
        assert sum(len(listener.heard) for listener in listeners) == N + N**3
        now = await publisher.rows(only("a"))
        assert [list(fold(listener.heard).values()) for listener in listeners] == [[now]] * N
        await close_all(listeners)


async def test_malformed_updates_cause_no_events(start: Callable[..., RunningBroker]) -> None:
    """NotifyNx2N with malformed updates: they are refused with 400, and the events are still exactly 10 + 1000."""
    broker = start()
    wrong = f"DELETE {{ GRAPH {GRAPH} {{ ?x ?y }} }} WHERE {{ GRAPH {GRAPH} {{ ?y ?z }} }}"

    async def publish_wrong(publisher: Publisher) -> list[int]:
        return [await publisher.post(wrong) for _ in range(N)]

    async with Publisher(broker) as publisher:
        listeners = await subscribed(broker.ws, [only("a")] * N)
        refused = asyncio.gather(*(publish_wrong(publisher) for _ in range(N)))
        await asyncio.gather(*(publish(publisher, produce("a"), N) for _ in range(N)))
        assert await refused == [[400] * N] * N
        await asyncio.gather(*(listener.hears(1 + N * N) for listener in listeners))
        assert sum(len(listener.heard) for listener in listeners) == N + N**3
        await close_all(listeners)


async def test_each_subscriber_hears_its_own_kind(start: Callable[..., RunningBroker]) -> None:
    """Notify3Nx2N: who hears all, who hears a, who hears b, from publishers of a and b: 4 n³ + 30 events."""
    broker = start()
    async with Publisher(broker) as publisher:
        listeners = await subscribed(broker.ws, [ALL] * N + [only("a")] * N + [only("b")] * N)
        await asyncio.gather(*(publish(publisher, produce(name), N) for name in ("a", "b") for _ in range(N)))
        expected = [1 + 2 * N * N] * N + [1 + N * N] * (2 * N)
        await asyncio.gather(*(one.hears(count) for one, count in zip(listeners, expected, strict=True)))
        assert sum(len(listener.heard) for listener in listeners) == 4 * N**3 + 3 * N
        for listener, query in zip(listeners, [ALL] * N + [only("a")] * N + [only("b")] * N, strict=True):
            assert list(fold(listener.heard).values()) == [await publisher.rows(query)]
        await close_all(listeners)


async def test_a_megabyte_of_first_results_is_one_message(start: Callable[..., RunningBroker]) -> None:
    """hugeX100: 100 literals of 9 kB come as one notification of about 1 MB; each new one is a notification of 9 kB."""
    broker = start()
    huge = f"SELECT * WHERE {{ GRAPH {GRAPH} {{ ?x <urn:huge> ?z }} }}"
    lorem = ("Lorem ipsum dolor sit amet, consectetuer adipiscing elit. " * 160)[:9000]
    async with Publisher(broker) as publisher:
        before = await Listener.open(broker.ws)
        await before.subscribe(huge)
        for n in range(100):
            await publisher.update(
                f"INSERT {{ GRAPH {GRAPH} {{ _:s <urn:huge> '{n:03}{lorem}' }} }} WHERE {{}}"
            )
        await before.hears(101)
        async with await Listener.open(broker.ws) as after:
            first = await after.subscribe(huge)
            rows = first["addedResults"]["results"]["bindings"]
            assert Counter(row["z"]["value"] for row in rows) == Counter(f"{n:03}{lorem}" for n in range(100))
            assert after.largest > 900_000
            assert len(after.heard) == 1
            assert list(fold(after.heard).values()) == list(fold(before.heard).values())
        await before.close()


@pytest.mark.slow
async def test_subscribing_while_updates_run_loses_nothing(start: Callable[..., RunningBroker]) -> None:
    """200 subscribes and 100 unsubscribes race 500 updates: first results and what follows always fit together."""
    broker = start()

    async def come_and_go(listener: Listener) -> None:
        first = await listener.subscribe(ALL, "first")
        await listener.unsubscribe(first["spuid"])
        count = sum(heard["spuid"] == first["spuid"] for heard in listener.heard)
        await listener.subscribe(ALL, "second")
        assert sum(heard["spuid"] == first["spuid"] for heard in listener.heard) == count

    async with Publisher(broker) as publisher:
        listeners = await open_listeners(broker.ws, 100)
        racing = [publish(publisher, produce(f"race{n}"), 50) for n in range(10)]
        await asyncio.gather(*racing, *(come_and_go(listener) for listener in listeners))
        await publisher.holds(subscriptions=100, sockets=100)
        await publisher.update(produce("last"))
        now = await publisher.rows(ALL)
        assert sum(now.values()) == 11
        for listener in listeners:
            spuid = next(heard["spuid"] for heard in listener.heard if heard.get("alias") == "second")
            await until(lambda heard=listener.heard, spuid=spuid: fold(heard)[spuid] == now)
            assert len(fold(listener.heard)) == 2
        await close_all(listeners)
        await publisher.holds(subscriptions=0, sockets=0)


async def test_a_thousand_updates_are_a_thousand_events(start: Callable[..., RunningBroker]) -> None:
    """produceX1000: one publisher, one subscriber, 1 + 1000 events in the order of the updates."""
    broker = start()
    async with Publisher(broker) as publisher, await Listener.open(broker.ws) as listener:
        await listener.subscribe("SELECT ?n WHERE { <urn:counter> <urn:is> ?n }")
        for n in range(1000):
            await publisher.update(
                f"DELETE {{ ?c <urn:is> ?old }} INSERT {{ ?c <urn:is> {n} }} "
                "WHERE { BIND(<urn:counter> AS ?c) OPTIONAL { ?c <urn:is> ?old } }"
            )
        await listener.hears(1001)
        values = [
            heard["addedResults"]["results"]["bindings"][0]["n"]["value"] for heard in listener.heard[1:]
        ]
        assert values == [str(n) for n in range(1000)]
        (answer,) = fold(listener.heard).values()
        assert answer.total() == 1


async def test_deleting_and_inserting_the_same_triple_is_no_change(
    start: Callable[..., RunningBroker],
) -> None:
    """VAIMEE: the first time it is added, with nothing removed; again, nobody hears anything."""
    broker = start()
    update = (
        f"DELETE {{ GRAPH {GRAPH} {{ <urn:SV> <urn:PV> ?o }} }} WHERE {{ GRAPH {GRAPH} {{ <urn:SV> <urn:PV> ?o }} }} ; "
        f'INSERT DATA {{ GRAPH {GRAPH} {{ <urn:SV> <urn:PV> "ვაიმეე" }} }}'
    )
    async with Publisher(broker) as publisher, await Listener.open(broker.ws) as listener:
        await publisher.update(update)
        await publisher.update(
            f"DELETE {{ GRAPH {GRAPH} {{ ?x ?y ?z }} }} WHERE {{ GRAPH {GRAPH} {{ ?x ?y ?z }} }}"
        )
        first = await listener.subscribe(VAIMEE)
        assert first["addedResults"]["results"]["bindings"] == []
        await publisher.update(update)
        await listener.hears(2)
        heard = listener.heard[1]
        assert [row["x"]["value"] for row in heard["addedResults"]["results"]["bindings"]] == ["urn:SV"]
        assert heard["removedResults"]["results"]["bindings"] == []
        for _ in range(10):
            await publisher.update(update)
        await publisher.update(f'INSERT DATA {{ GRAPH {GRAPH} {{ <urn:other> <urn:PV> "ვაიმეე" }} }}')
        await listener.hears(3)
        assert listener.heard[2]["sequence"] == 2


async def test_no_increment_is_lost(start: Callable[..., RunningBroker]) -> None:
    """8 publishers that add one 100 times each come to 800, and a subscriber sees every number on the way."""
    broker = start()
    add_one = (
        "DELETE { ?c <urn:n> ?n } INSERT { ?c <urn:n> ?more } WHERE { ?c <urn:n> ?n BIND(?n + 1 AS ?more) }"
    )
    async with Publisher(broker) as publisher, await Listener.open(broker.ws) as listener:
        await publisher.update("INSERT DATA { <urn:c> <urn:n> 0 }")
        await listener.subscribe("SELECT ?n WHERE { <urn:c> <urn:n> ?n }")
        await asyncio.gather(*(publish(publisher, add_one, 100) for _ in range(8)))
        await listener.hears(801)
        values = [heard["addedResults"]["results"]["bindings"][0]["n"]["value"] for heard in listener.heard]
        assert values == [str(n) for n in range(801)]


async def test_clearing_and_filling_graphs_at_once_ends(start: Callable[..., RunningBroker]) -> None:
    """16 publishers that clear and fill the same graph do not wait for each other for ever; the answer adds up."""
    broker = start()
    fill = " . ".join(f"<urn:s{n}> <urn:p> {n}" for n in range(50))
    async with Publisher(broker) as publisher, await Listener.open(broker.ws) as listener:
        await listener.subscribe(ALL)
        clearing = [publish(publisher, f"CLEAR SILENT GRAPH {GRAPH}", 20) for _ in range(8)]
        filling = [publish(publisher, f"INSERT DATA {{ GRAPH {GRAPH} {{ {fill} }} }}", 20) for _ in range(8)]
        await asyncio.gather(*clearing, *filling)
        now = await publisher.rows(ALL)
        await until(lambda: list(fold(listener.heard).values()) == [now])
        assert now.total() in {0, 50}
