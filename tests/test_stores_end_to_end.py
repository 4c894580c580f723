"""The same conversation over each kind of store, with a broker in a process of its own."""

from __future__ import annotations

import json

import httpx
import pytest
import websockets
from support.running import RunningBroker
from support.stub_endpoint import Stub

pytestmark = pytest.mark.xdist_group("stores")
EX = "PREFIX ex: <http://example.org/> "


@pytest.fixture(params=["memory", "disk", "remote", "remote by form"])
def any_broker(request, tmp_path, oxigraph):
    """A broker over each kind of store, empty at first."""
    arguments = []
    if request.param == "disk":
        arguments = ["--data", str(tmp_path / "data")]
    elif request.param.startswith("remote"):
        httpx.post(oxigraph.update, content="DROP ALL", headers={"Content-Type": "application/sparql-update"})
        arguments = [
            f"--set=store.query_endpoint={oxigraph.query}",
            f"--set=store.update_endpoint={oxigraph.update}",
        ]
        if request.param.endswith("form"):
            methods = ("--set=store.query_method=GET", "--set=store.update_method=URL_ENCODED_POST")
            arguments += methods
    running = RunningBroker.start(*arguments, memory=not arguments)
    yield running
    assert running.stop() == 0


def update(broker, text, **graphs):
    response = httpx.post(f"{broker.http}/update", data={"update": EX + text, **graphs})
    assert response.status_code == 200, response.text


def rows(broker, text):
    response = httpx.get(f"{broker.http}/query", params={"query": EX + text})
    assert response.status_code == 200, response.text
    return response.json()["results"]["bindings"]


async def test_a_conversation(any_broker):
    """Subscribe, update, be told, ask, use graphs and the Graph Store Protocol: the same over every store."""
    async with websockets.connect(any_broker.ws) as socket:
        query = EX + "SELECT ?s ?o { GRAPH ?g { ?s ex:p ?o } }"
        await socket.send(json.dumps({"subscribe": {"sparql": query, "alias": "all"}}))
        first = json.loads(await socket.recv())["notification"]
        assert first["addedResults"]["results"]["bindings"] == []
        update(any_broker, "INSERT DATA { GRAPH ex:g { ex:a ex:p 1, 'zwei'@de, <relative> } }")
        told = json.loads(await socket.recv())["notification"]
        assert told["sequence"] == 1
        assert len(told["addedResults"]["results"]["bindings"]) == 3
        graph = {"graph": "http://example.org/h"}
        turtle = {"Content-Type": "text/turtle"}
        store = f"{any_broker.http}/rdf-graph-store"
        body = "@prefix ex: <http://example.org/> . ex:b ex:p [ ex:q 2 ] ."
        assert httpx.put(store, params=graph, content=body, headers=turtle).status_code == 201
        told = json.loads(await socket.recv())["notification"]
        assert told["addedResults"]["results"]["bindings"][0]["o"]["type"] == "bnode"
        assert httpx.delete(store, params=graph).status_code == 204
        told = json.loads(await socket.recv())["notification"]
        assert len(told["removedResults"]["results"]["bindings"]) == 1
        assert httpx.get(store, params=graph).status_code == 404
        wrong = httpx.post(f"{any_broker.http}/update", data={"update": "INSERT DATA {"})
        assert (wrong.status_code, wrong.json()["error"]) == (400, "parsing failed")
    assert len(rows(any_broker, "SELECT ?o { GRAPH ex:g { ex:a ex:p ?o } }")) == 3


def test_the_dataset_of_a_request(any_broker):
    """using-graph-uri and default-graph-uri are honored by every store."""
    update(any_broker, "INSERT DATA { GRAPH ex:g { ex:a ex:p 1 } }")
    using = {"using-graph-uri": "http://example.org/g"}
    update(any_broker, "INSERT { ex:a ex:copy ?o } WHERE { ?s ex:p ?o }", **using)
    assert len(rows(any_broker, "SELECT ?o { ex:a ex:copy ?o }")) == 1
    found = httpx.get(
        f"{any_broker.http}/query",
        params={"query": EX + "SELECT ?o { ?s ex:p ?o }", "default-graph-uri": "http://example.org/g"},
    )
    assert len(found.json()["results"]["bindings"]) == 1


@pytest.mark.parametrize(
    "accept", ["text/csv", "application/sparql-results+xml", "application/sparql-results+json"]
)
def test_formats(any_broker, accept):
    """Every result format, whatever stands behind."""
    update(any_broker, "INSERT DATA { ex:a ex:p 1 }")
    response = httpx.get(
        f"{any_broker.http}/query", params={"query": "SELECT ?o { ?s ?p ?o }"}, headers={"Accept": accept}
    )
    assert response.headers["content-type"].startswith(accept)
    assert "1" in response.text
    triples = httpx.get(
        f"{any_broker.http}/query",
        params={"query": "CONSTRUCT WHERE { ?s ?p ?o }"},
        headers={"Accept": "application/ld+json"},
    )
    assert triples.json()


@pytest.mark.parametrize(("routing", "evaluations"), [("true", 1), ("false", 20)])
async def test_what_a_remote_endpoint_is_asked(routing, evaluations):
    """An update evaluates the one query of twenty that it touches, or, without routing, all of them."""
    stub = Stub()
    broker = RunningBroker.start(
        f"--set=store.query_endpoint={stub.url}/query",
        f"--set=store.update_endpoint={stub.url}/update",
        f"--set=store.endpoint_routing={routing}",
        memory=False,
    )
    try:
        async with websockets.connect(broker.ws) as socket:
            for number in range(20):
                query = f"{EX} SELECT ?x {{ ex:s{number} ex:p ?x }}"
                await socket.send(json.dumps({"subscribe": {"sparql": query, "alias": str(number)}}))
                await socket.recv()
            stub.asked.clear()
            stub.answer = (200, stub.answer[1], stub.answer[2].replace('"1"', '"2"'))
            response = httpx.post(
                f"{broker.http}/update?quads", data={"update": f"{EX} INSERT DATA {{ ex:s7 ex:p 2 }}"}
            )
            assert response.status_code == 200
            assert "quads" not in response.json(), "what may have changed is not told as what has"
            told = json.loads(await socket.recv())["notification"]
        assert [path for _, path, *_ in stub.asked].count("/update") == 1
        assert [path for _, path, *_ in stub.asked].count("/query") == evaluations
        assert (told["alias"], told["sequence"]) == ("7" if routing == "true" else "0", 1)
    finally:
        broker.stop()
        stub.close()


def test_what_is_on_disk_outlives_the_process(tmp_path):
    """Stopped or killed: an update that was answered is there again."""
    for way in ("stop", "kill"):
        broker = RunningBroker.start("--data", str(tmp_path / "data"), memory=False)
        try:
            update(broker, f"INSERT DATA {{ ex:a ex:way '{way}' }}")
        finally:
            getattr(broker, way)()
    broker = RunningBroker.start("--data", str(tmp_path / "data"), memory=False)
    try:
        assert len(rows(broker, "SELECT ?o { ex:a ex:way ?o }")) == 2
    finally:
        broker.stop()


def test_an_endpoint_that_is_away_is_told(oxigraph):
    """502 with a sentence, and the broker goes on."""
    away = (
        "--set=store.query_endpoint=http://127.0.0.1:9/query",
        "--set=store.update_endpoint=http://127.0.0.1:9/u",
    )
    broker = RunningBroker.start(*away)
    try:
        response = httpx.get(f"{broker.http}/query", params={"query": "ASK {}"})
        assert response.status_code == 502
        assert "can't be reached" in response.json()["error_description"]
        assert httpx.get(f"{broker.http}/health").status_code == 200
    finally:
        broker.stop()


def test_a_data_directory_that_is_in_use_is_told(tmp_path):
    """Two brokers on one directory: the second says so in one line, and ends."""
    broker = RunningBroker.start("--data", str(tmp_path / "data"), memory=False)
    try:
        with pytest.raises(RuntimeError, match="in use by another broker"):
            RunningBroker.start("--data", str(tmp_path / "data"), memory=False)
    finally:
        broker.stop()
