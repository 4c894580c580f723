import socket
from dataclasses import replace

import pytest
from pyoxigraph import Literal, NamedNode, Triple

from triplewire.broker.errors import BrokerMisbehaved, BrokerRefused, ConnectionLost
from triplewire.broker.model import Bindings, Query, Update
from triplewire.clients import AsyncSparqlClient, ClientSettings, Method, SparqlClient

INSERT = "INSERT DATA { <a:b> <a:c> 1, 2 . GRAPH <a:g> { <a:b> <a:c> 3 } }"
SELECT = "SELECT ?n { <a:b> <a:c> ?n } ORDER BY ?n"
QUICK = ClientSettings(timeout_s=0.2)


@pytest.fixture
def client(fake):
    with SparqlClient(fake.http) as client:
        yield client


@pytest.fixture
async def async_client(fake):
    async with AsyncSparqlClient(fake.http) as client:
        yield client


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.mark.parametrize("method", [Method.POST, Method.URL_ENCODED_POST])
def test_what_is_written_can_be_read(client, method):
    """By each method that can write."""
    client.update(INSERT, method)

    assert client.query(SELECT, method) == Bindings(("n",), ((Literal(1),), (Literal(2),)))


def test_a_query_can_go_by_get(client):
    """Which caches like."""
    assert client.query("ASK {}", Method.GET) == Bindings(("boolean",), ((Literal(True),),))


def test_each_form_has_its_own_shape(client):
    """Mappings, truth, triples."""
    client.update(INSERT)

    assert client.select(SELECT) == [{"n": Literal(1)}, {"n": Literal(2)}]
    assert client.ask("ASK { <a:b> <a:c> 2 }") is True
    assert client.ask("ASK { <a:b> <a:c> 3 }") is False
    assert client.construct("CONSTRUCT WHERE { <a:b> <a:c> 1 }") == [
        Triple(NamedNode("a:b"), NamedNode("a:c"), Literal(1))
    ]


def test_a_form_that_was_not_expected_is_told(client):
    """Rather than rows taken for truth."""
    with pytest.raises(BrokerMisbehaved):
        client.ask(SELECT)
    with pytest.raises(BrokerMisbehaved):
        client.select("CONSTRUCT WHERE { ?s ?p ?o }")
    with pytest.raises(BrokerMisbehaved):
        client.construct(SELECT)


def test_operations_bring_their_dataset(client, fake):
    """As parameters of the URL."""
    client.query(Query("ASK {}", ("http://g/1",)))
    client.update(Update("INSERT DATA {}", ("http://g/2",)))

    assert fake.requests[0]["params"] == {"default-graph-uri": ["http://g/1"]}
    assert fake.requests[1]["params"] == {"using-graph-uri": ["http://g/2"]}


def test_triples_can_be_added_to_a_graph(client, fake):
    """To a named one and to the default graph."""
    client.add_to_graph(b"<a:s> <a:p> 'o' .", "http://g/1")
    client.add_to_graph(b"<a:s> <a:p> 'o' .")

    assert client.ask("ASK { <a:s> <a:p> 'o' . GRAPH <http://g/1> { <a:s> <a:p> 'o' } }")
    assert fake.requests[1]["params"] == {"default": [""]}


def test_an_answer_can_be_read_piece_by_piece(client):
    """In the format that was asked for."""
    client.update(INSERT)

    with client.download(SELECT, "text/tab-separated-values") as chunks:
        assert b"".join(chunks) == b"?n\n1\n2\n"


def test_a_download_that_is_left_early_gives_its_connection_back(client):
    """Nothing stays open."""
    with client.download(SELECT, "text/tab-separated-values"):
        pass

    assert client.ask("ASK {}")


def test_a_refusal_is_the_brokers_own(client):
    """Code, status and sentence."""
    with pytest.raises(BrokerRefused) as refusal:
        client.query("SELEKT")

    assert (refusal.value.code, refusal.value.status) == ("parsing failed", 400)
    assert "expected" in refusal.value.description


def test_a_busy_broker_is_asked_again(client, fake):
    """Until it has time."""
    fake.replies.extend([(503, {"Retry-After": "0"}, b""), (429, {"Retry-After": "0"}, b"")])

    client.update(INSERT)

    assert [request["path"] for request in fake.requests] == ["/update"] * 3
    assert client.ask("ASK { <a:b> <a:c> 1 }")


def test_the_token_goes_with_each_request(fake):
    """As a bearer token (RFC 6750, 2.1)."""
    with SparqlClient(fake.http, authorization=lambda: "secret") as client:
        client.ask("ASK {}")

    assert fake.requests[0]["headers"]["Authorization"] == "Bearer secret"


def test_queries_and_updates_may_go_to_different_servers(fake):
    """By two URLs."""
    with SparqlClient(f"{fake.http}/sparql", f"{fake.http}/elsewhere/update") as client:
        client.ask("ASK {}")
        client.update("INSERT DATA {}")

    assert [request["path"] for request in fake.requests] == ["/sparql", "/elsewhere/update"]


def test_a_broker_that_is_away_is_told():
    """With its URL."""
    port = free_port()
    with SparqlClient(f"http://127.0.0.1:{port}") as client:
        with pytest.raises(ConnectionLost, match=f"127.0.0.1:{port}"):
            client.ask("ASK {}")
        with pytest.raises(ConnectionLost):
            client.update("INSERT DATA {}")


def test_a_broker_that_never_answers_is_told():
    """After `timeout_s`."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        with SparqlClient(url, settings=QUICK) as client, pytest.raises(ConnectionLost, match="no answer"):
            client.ask("ASK {}")


def test_a_broker_that_hangs_up_is_told():
    """A query has been asked twice by then."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(5)
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        with SparqlClient(url, settings=replace(QUICK, timeout_s=5)) as client:
            hang_up_twice = hanging_up(server)
            with pytest.raises(ConnectionLost, match="broke"):
                client.ask("ASK {}")
            hang_up_twice.join()


def hanging_up(server):
    import threading

    def run():
        for _ in range(2):
            connection, _ = server.accept()
            with connection:
                connection.recv(1000)

    thread = threading.Thread(target=run)
    thread.start()
    return thread


async def test_the_asyncio_client_does_the_same(async_client, fake):
    """Method for method."""
    await async_client.update(INSERT)
    await async_client.add_to_graph(b"<a:s> <a:p> 'o' .", "http://g/1")

    assert await async_client.select(SELECT) == [{"n": Literal(1)}, {"n": Literal(2)}]
    assert await async_client.ask("ASK { GRAPH <http://g/1> { <a:s> <a:p> 'o' } }")
    assert await async_client.construct("CONSTRUCT WHERE { <a:b> <a:c> 1 }")
    async with async_client.download(SELECT, "text/tab-separated-values") as chunks:
        assert b"".join([chunk async for chunk in chunks]) == b"?n\n1\n2\n"
    with pytest.raises(BrokerRefused):
        await async_client.query("SELEKT")
    fake.replies.append((503, {"Retry-After": "0"}, b""))
    assert await async_client.ask("ASK {}")


async def test_the_asyncio_client_tells_a_broker_that_is_away():
    """With its URL."""
    port = free_port()
    async with AsyncSparqlClient(f"http://127.0.0.1:{port}") as client:
        with pytest.raises(ConnectionLost, match=f"127.0.0.1:{port}"):
            await client.ask("ASK {}")
