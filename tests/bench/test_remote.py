"""What the broker costs over a remote endpoint: updates straight to `oxigraph serve`, and through the broker over it.

Prints milliseconds and ratios, of updates that take turns; asserts only that the right subscription was told.
`as SEPA` is the broker without routing: every query is evaluated again after each update.
"""

from __future__ import annotations

import json
import os
import statistics
import time

import httpx
import pytest
import websockets
from support.benchmarks import Table
from support.running import RunningBroker, RunningOxigraph

UPDATES = int(os.environ.get("TRIPLEWIRE_REMOTE_UPDATES", "500"))
WARM = 50
LONGEST_S = 15.0  # of one measurement; where all queries are evaluated, fewer updates must do
HEADERS = {"Content-Type": "application/sparql-update"}
PREFIX = "PREFIX : <http://example.org/> "
KINDS = {
    "INSERT DATA": "INSERT DATA {{ :s{sensor} :value{place} {number} }}",
    "DELETE/INSERT WHERE": "DELETE {{ :s{sensor} :latest{place} ?o }} INSERT {{ :s{sensor} :latest{place} {number} }} "
    "WHERE {{ OPTIONAL {{ :s{sensor} :latest{place} ?o }} }}",
    "by its name": "DELETE {{ ?s :latest{place} ?o }} INSERT {{ ?s :latest{place} {number} }} "
    "WHERE {{ ?s :name 'sensor {sensor}' OPTIONAL {{ ?s :latest{place} ?o }} }}",
}
COUNTS = [0, 1, 1000]


async def subscribed(socket, count, place):
    """Hold as many queries, each about another sensor."""
    for number in range(count):
        query = f"{PREFIX} SELECT ?o {{ {{ :s{number} :value{place} ?o }} UNION {{ :s{number} :latest{place} ?o }} }}"
        await socket.send(json.dumps({"subscribe": {"sparql": query, "alias": str(number)}}))
        assert "notification" in json.loads(await socket.recv())


async def update(client, url, text):
    """Milliseconds until it is answered."""
    began = time.perf_counter()
    response = await client.post(url, content=PREFIX + text, headers=HEADERS)
    took = time.perf_counter() - began
    assert response.is_success, response.text
    return took * 1000


async def taking_turns(kind, count, endpoint, broker, socket):
    """Medians in milliseconds, straight and through the broker; of other sensors' values, in the same dataset."""
    straight, through = [], []
    end = time.monotonic() + LONGEST_S
    async with httpx.AsyncClient() as client:
        for number in range(WARM + UPDATES):
            sensor = number * 7919 % max(count, 1)
            text = KINDS[kind].format(sensor=sensor, number=number, place="x")
            straight.append(await update(client, endpoint.update, text))
            text = KINDS[kind].format(sensor=sensor, number=number, place="")
            through.append(await update(client, f"{broker.http}/update", text))
            if count:
                told = json.loads(await socket.recv())["notification"]
                rows = told["addedResults"]["results"]["bindings"]
                assert [row["o"]["value"] for row in rows] == [str(number)]
            if time.monotonic() > end:
                break
    warm = min(WARM, len(straight) // 2)
    return statistics.median(straight[warm:]), statistics.median(through[warm:])


@pytest.mark.parametrize("routing", [True, False], ids=["routed", "as SEPA"])
async def test_overhead(routing):
    """An update, and the notification of the one subscription that it touches."""
    table = Table(
        f"an update over a remote endpoint, {'routed' if routing else 'as SEPA'}: ms, medians of updates that take turns",
        "update",
        "subscriptions",
        "straight",
        "through the broker",
        "more",
        "ratio",
    )
    for count in COUNTS:
        for kind in KINDS:
            endpoint = RunningOxigraph.start()
            names = " . ".join(f":s{number} :name 'sensor {number}'" for number in range(max(count, 1)))
            httpx.post(endpoint.update, content=f"{PREFIX} INSERT DATA {{ {names} }}", headers=HEADERS)
            broker = RunningBroker.start(
                "--set=log.level=WARNING",
                "--set=limits.subscriptions_per_socket=100000",
                f"--set=store.endpoint_routing={str(routing).lower()}",
                f"--set=store.query_endpoint={endpoint.query}",
                f"--set=store.update_endpoint={endpoint.update}",
                memory=False,
            )
            try:
                async with websockets.connect(broker.ws) as socket:
                    await subscribed(socket, count, "")
                    straight, through = await taking_turns(kind, count, endpoint, broker, socket)
                    table.add(kind, count, straight, through, through - straight, through / straight)
            finally:
                broker.stop()
                endpoint.stop()
    table.print()
