"""The clients and the command line against a real broker."""

import asyncio
import json
import queue
import random
import subprocess
import sys
import textwrap
from urllib.parse import urlsplit

import pytest
from pyoxigraph import Literal, NamedNode
from support.running import RunningBroker

from triplewire.broker.errors import BrokerRefused
from triplewire.clients import (
    AsyncGenericClient,
    AsyncSparqlClient,
    AsyncSubscriber,
    ClientSettings,
    Consumer,
    GenericClient,
    Producer,
    SparqlClient,
    Subscriber,
    cli,
)

QUICK = ClientSettings(timeout_s=10, backoff_first_s=0.01, backoff_longest_s=0.1)
SELECT = "SELECT ?s ?n { ?s <http://example.org/n> ?n }"


@pytest.fixture
def client(broker):
    with SparqlClient(broker.http) as client:
        client.update("CLEAR ALL")
        yield client


@pytest.fixture
def live_profile(broker, profile):
    """The profile, for the real broker."""
    document = json.loads(profile.read_text())
    document["sparql11protocol"]["port"] = urlsplit(broker.http).port
    document["sparql11seprotocol"]["availableProtocols"]["ws"]["port"] = urlsplit(broker.ws).port
    profile.write_text(json.dumps(document))
    return profile


def insert(subject, number):
    return f"INSERT DATA {{ <http://example.org/{subject}> <http://example.org/n> {number} }}"


def test_the_example_of_the_readme_prints_the_notification(broker, client):
    """Subscribe, update, hear of it: ten lines."""
    script = textwrap.dedent(f"""
        from triplewire.clients import SparqlClient, Subscriber

        broker = SparqlClient("{broker.http}")
        with Subscriber("{broker.ws}") as subscriber:
            subscriber.subscribe(
                "SELECT ?room ?value {{ ?room <http://example.org/temperature> ?value }}",
                on_added=lambda rows: [print(f"{{row['room']}} now has {{row['value'].value}}") for row in rows],
            )
            broker.update("INSERT DATA {{ <http://example.org/kitchen> <http://example.org/temperature> 21 }}")
            input()
    """)

    with subprocess.Popen(
        [sys.executable, "-P", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        seen = process.stdout.readline()
        process.communicate("\n", timeout=20)

    assert seen == "<http://example.org/kitchen> now has 21\n"
    assert process.returncode == 0


def test_each_form_has_its_shape(client):
    """Rows, truth, triples, bytes."""
    client.update(insert("a", 1))
    client.add_to_graph(b"_:b <http://example.org/n> _:b .", "http://example.org/g")

    assert client.select(SELECT) == [{"s": NamedNode("http://example.org/a"), "n": Literal(1)}]
    assert client.ask("ASK { GRAPH <http://example.org/g> { ?b <http://example.org/n> ?b } }")
    assert len(client.construct("CONSTRUCT WHERE { ?s ?p ?o }")) == 1
    with client.download(SELECT, "text/csv") as chunks:
        assert b"".join(chunks).startswith(b"s,n\r\n")
    with pytest.raises(BrokerRefused) as refusal:
        client.query("SELEKT")
    assert refusal.value.status == 400


@pytest.mark.parametrize("at", ["ws", "http"])
def test_changes_are_heard_on_both_ports(broker, client, at):
    """The HTTP port takes WebSockets too."""
    heard = queue.Queue()
    url = broker.ws if at == "ws" else broker.http
    with Subscriber(url, settings=QUICK) as subscriber:
        live = subscriber.subscribe(SELECT, on_added=heard.put, on_removed=heard.put)
        client.update(insert("a", 1))
        assert heard.get(timeout=5) == live.answer
        client.update("CLEAR ALL")
        assert len(heard.get(timeout=5)) == 1
        assert live.answer == []
        subscriber.unsubscribe(live)
        client.update(insert("a", 2))
        assert heard.empty()


def test_every_form_can_be_followed(broker, client):
    """ASK tells flips, CONSTRUCT triples."""
    heard = queue.Queue()
    with Subscriber(broker.ws, settings=QUICK) as subscriber:
        ask = subscriber.subscribe("ASK { ?s ?p 1 }", on_added=heard.put)
        graph = subscriber.subscribe("CONSTRUCT WHERE { ?s ?p ?o }")
        client.update(insert("a", 1))

        assert heard.get(timeout=5) == ask.answer == [{"boolean": Literal(True)}]
        assert graph.vars == ("subject", "predicate", "object")


def test_a_query_that_is_refused_raises_and_the_socket_stays(broker):
    """The next one is followed on it."""
    with Subscriber(broker.ws, settings=QUICK) as subscriber:
        with pytest.raises(BrokerRefused):
            subscriber.subscribe("SELEKT")

        assert subscriber.subscribe(SELECT).spuid


async def test_thousands_of_live_queries_share_a_socket(broker):
    """Each with its own answer."""
    heard = asyncio.Queue()
    async with (
        AsyncSubscriber(broker.ws, settings=QUICK) as subscriber,
        AsyncSparqlClient(broker.http) as client,
    ):
        await client.update("CLEAR ALL")
        lives = await asyncio.gather(
            *(
                subscriber.subscribe(
                    f"SELECT ?n {{ <http://example.org/{number}> <http://example.org/n> ?n }}",
                    on_added=lambda rows, number=number: heard.put_nowait((number, rows)),
                )
                for number in range(2000)
            )
        )
        await client.update(insert(1234, 7))
        async with asyncio.timeout(5):
            assert await heard.get() == (1234, [{"n": Literal(7)}])
        await asyncio.gather(*(subscriber.unsubscribe(live) for live in lives))
        assert heard.empty()


def test_a_profile_is_spoken_to(live_profile, client):
    """By producer, consumer and generic client."""
    heard = queue.Queue()
    with (
        Consumer(live_profile, "VALUES", on_added=heard.put) as consumer,
        Producer(live_profile, "MEASURE") as producer,
        GenericClient(live_profile) as generic,
    ):
        consumer.subscribe(sensor="ex:two")
        generic.subscribe("SELECT ?s { ?s ex:value 8 }", on_added=heard.put)
        producer.update(sensor="ex:two", value=8)

        assert {frozenset(heard.get(timeout=5)[0]) for _ in range(2)} == {
            frozenset({"value"}),
            frozenset({"s"}),
        }
        assert generic.query("VALUES", sensor="ex:two").rows == ((Literal(8),),)


async def test_a_profile_is_spoken_to_under_asyncio(live_profile, client):
    """With coroutine functions."""
    heard = asyncio.Queue()
    async with AsyncGenericClient(live_profile) as generic:
        await generic.subscribe("VALUES", on_added=heard.put)
        await generic.update("MEASURE", value=7)
        async with asyncio.timeout(5):
            assert await heard.get() == [{"value": Literal(7)}]


def test_a_broker_that_comes_back_is_heard_again(tmp_path):
    """With the same data: nothing is told; what changes then is."""
    data = ("--data", str(tmp_path))
    first = RunningBroker.start(*data, memory=False)
    port = ("--set", f"websocket.port={urlsplit(first.ws).port}")
    heard = queue.Queue()
    subscriber = Subscriber(
        first.ws,
        settings=QUICK,
        rng=random.Random(1),
        on_disconnect=lambda _: heard.put("disconnect"),
        on_reconnect=lambda _: heard.put("reconnect"),
    )
    with subscriber:
        with SparqlClient(first.http) as client:
            client.update(insert("a", 1))
        live = subscriber.subscribe(
            SELECT, on_first_results=heard.put, on_added=heard.put, on_removed=heard.put
        )
        assert len(heard.get(timeout=5)) == 1
        assert first.stop() == 0
        assert heard.get(timeout=5) == "disconnect"
        second = RunningBroker.start(*data, *port, memory=False)
        assert heard.get(timeout=10) == "reconnect"
        with SparqlClient(second.http) as client:
            client.update(insert("b", 2))
            assert heard.get(timeout=5) == [{"s": NamedNode("http://example.org/b"), "n": Literal(2)}]
            assert len(live.answer) == 2
        second.kill()
        assert heard.get(timeout=5) == "disconnect"


def test_a_broker_that_has_forgotten_everything_is_believed():
    """What is no longer there is told as removed."""
    first = RunningBroker.start()
    port = ("--set", f"websocket.port={urlsplit(first.ws).port}")
    heard = queue.Queue()
    with Subscriber(first.ws, settings=QUICK, rng=random.Random(1)) as subscriber:
        with SparqlClient(first.http) as client:
            client.update(insert("a", 1))
        live = subscriber.subscribe(SELECT, on_removed=heard.put)
        first.kill()
        second = RunningBroker.start(*port)

        assert heard.get(timeout=10) == [{"s": NamedNode("http://example.org/a"), "n": Literal(1)}]
        assert live.answer == []
    second.stop()


def test_files_are_loaded_with_their_blank_nodes(broker, client, tmp_path, capsys):
    """Across graphs and batches."""
    ring = "".join(f"_:b{n} <http://example.org/next> _:b{(n + 1) % 500} .\n" for n in range(500))
    (tmp_path / "ring.nt").write_text(ring)
    (tmp_path / "graphs.trig").write_text("<a:s> <a:p> _:b . GRAPH <a:g> { _:b <a:p> 1 }")

    files = [str(tmp_path / "ring.nt"), str(tmp_path / "graphs.trig")]
    assert cli.run(["load", "--url", broker.http, "--batch-bytes", "2000", *files]) == 0

    assert client.select("SELECT (COUNT(*) AS ?n) { ?a <http://example.org/next>+ ?a }") == [
        {"n": Literal(500)}
    ]
    assert client.ask("ASK { <a:s> <a:p> ?b GRAPH <a:g> { ?b <a:p> 1 } }")


def test_a_directory_that_was_loaded_is_served(tmp_path):
    """Once the broker runs."""
    (tmp_path / "a.ttl").write_text("<a:s> <a:p> 1 .")
    assert cli.run(["load", "--data", str(tmp_path / "data"), str(tmp_path / "a.ttl")]) == 0
    running = RunningBroker.start("--data", str(tmp_path / "data"), memory=False)

    with SparqlClient(running.http) as client:
        assert client.ask("ASK { <a:s> <a:p> 1 }")
    assert running.stop() == 0


def test_the_command_line_speaks_to_it(broker, client, capsys):
    """Query, update, subscribe."""
    assert cli.run(["update", "--url", broker.http, insert("a", 1)]) == 0
    assert cli.run(["query", "--url", broker.http, SELECT]) == 0
    assert cli.run(["subscribe", "--url", broker.http, "--count", "0", SELECT]) == 0

    out = capsys.readouterr().out
    assert "?s\t?n\n<http://example.org/a>\t1\n" in out
    assert "#\t?s\t?n\n+\t<http://example.org/a>\t" in out
    assert cli.run(["query", "--url", broker.http, "SELEKT"]) == 1
    assert cli.run(["subscribe", "--url", broker.http, "SELEKT"]) == 1


@pytest.mark.parametrize("name", ["json", "xml", "csv", "tsv"])
def test_each_format_of_rows_can_be_had(broker, client, capsysbinary, name):
    """By its name."""
    assert cli.run(["query", "--url", broker.http, "--format", name, SELECT]) == 0
    assert capsysbinary.readouterr().out


@pytest.mark.parametrize("name", ["turtle", "ntriples", "rdfxml", "jsonld", "nquads", "trig"])
def test_each_format_of_triples_can_be_had(broker, client, capsysbinary, name):
    """By its name."""
    client.update(insert("a", 1))

    assert cli.run(["query", "--url", broker.http, "--format", name, "CONSTRUCT WHERE { ?s ?p ?o }"]) == 0
    assert b"http://example.org/" in capsysbinary.readouterr().out
