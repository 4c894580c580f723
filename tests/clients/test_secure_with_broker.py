"""The clients and a real broker that asks who they are, over TLS."""

import asyncio
import json
import re
import threading
import time
from urllib.parse import urlsplit

import pytest
from support.following import following
from support.identity_provider import CLIENT, SECRET, RunningProvider
from support.running import RunningBroker

from triplewire.broker.errors import BrokerRefused, ConnectionLost
from triplewire.clients import (
    AsyncConsumer,
    AsyncProducer,
    ClientCredentials,
    ClientSettings,
    Consumer,
    Producer,
    SparqlClient,
    Subscriber,
    cli,
)
from triplewire.clients.addresses import Addresses
from triplewire.clients.cli_keys import keys

PERMISSIONS = """
[clients.SEPATest]
scopes = ["query", "update", "subscribe"]
read = ["*"]
write = ["*"]

[clients.Ann]
scopes = ["query", "update", "subscribe"]
read = ["*"]
write = ["*"]

[clients.Reader]
scopes = ["query"]
read = ["*"]

[clients.follower]
scopes = ["query", "update", "admin"]
read = ["*"]
write = ["*"]
"""
TEST = "SEPATest"


@pytest.fixture(scope="module")
def tls(tmp_path_factory):
    """A folder with a local authority and its certificate."""
    folder = tmp_path_factory.mktemp("tls")
    keys.main(["init", str(folder / "keys")], standalone_mode=False)
    return folder / "keys"


@pytest.fixture(scope="module")
def start(tls, tmp_path_factory):
    """Starts secure brokers, and stops them."""
    brokers = []

    def start(*arguments, **options):
        folder = tmp_path_factory.mktemp("broker")
        (folder / "permissions.toml").write_text(PERMISSIONS)
        settings = {
            "security.enabled": "true",
            "security.test_identity": "true",
            "security.reregistration": "true",
            "security.directory": folder / "security",
            "security.permissions": folder / "permissions.toml",
            "tls.certificate": tls / "server.pem",
            "tls.key": tls / "server.key",
            "tls.https_port": 0,
            "tls.wss_port": 0,
            "log.level": "DEBUG",
        }
        given = [f"--set={name}={value}" for name, value in settings.items()]
        brokers.append(RunningBroker.start(*given, *arguments, **options))
        return brokers[-1]

    yield start
    for broker in brokers:
        if broker.alive:
            broker.stop()


@pytest.fixture(scope="module")
def broker(start):
    return start()


@pytest.fixture
def settings(tls):
    return ClientSettings(ca_file=str(tls / "ca.pem"), timeout_s=10, retries=1, backoff_first_s=0.01)


@pytest.fixture
def credentials(broker, settings):
    """Makes the credentials of an identity; each test has a file of its own."""

    def make(identity=TEST):
        at = Addresses.of(broker.https)
        return ClientCredentials(identity, at.register, at.token, settings=settings)

    return make


@pytest.fixture
def profile(broker, tmp_path):
    """A profile that says how to get tokens."""
    https, wss = urlsplit(broker.https), urlsplit(broker.wss)
    document = {
        "host": https.hostname,
        "oauth": {
            "enable": True,
            "register": f"{broker.https}/oauth/register",
            "tokenRequest": f"{broker.https}/oauth/token",
        },
        "sparql11protocol": {
            "protocol": "https",
            "port": https.port,
            "query": {"path": "/secure/query", "method": "POST"},
            "update": {"path": "/secure/update", "method": "POST"},
        },
        "sparql11seprotocol": {
            "protocol": "wss",
            "availableProtocols": {"wss": {"port": wss.port, "path": "/secure/subscribe"}},
        },
        "namespaces": {"ex": "http://example.org/"},
        "updates": {
            "SET": {
                "sparql": "DELETE { ?s ex:v ?o } INSERT { ?s ex:v ?n } WHERE { OPTIONAL { ?s ex:v ?o } }",
                "forcedBindings": {
                    "s": {"type": "uri"},
                    "n": {"type": "literal", "datatype": "xsd:integer"},
                },
            }
        },
        "queries": {"GET": {"sparql": "SELECT ?v { ?s ex:v ?v }", "forcedBindings": {"s": {"type": "uri"}}}},
    }
    path = tmp_path / "secure.jsap"
    path.write_text(json.dumps(document))
    return path


def numbers(rows):
    return [int(row["v"].value) for row in rows]


def until(condition, within_s=10):
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.slow
def test_tokens_of_5_s_are_renewed_under_updates_and_nothing_is_lost_or_told_twice(broker, profile, settings):
    """A producer and a consumer for 12 s: every change by itself, once and in order."""
    added, removed, first, errors = [], [], [], []
    with (
        Producer(profile, "SET", settings=settings, identity=TEST) as producer,
        Consumer(
            profile,
            "GET",
            settings=settings,
            identity=TEST,
            on_first_results=lambda rows: first.append(numbers(rows)),
            on_added=lambda rows: added.extend(numbers(rows)),
            on_removed=lambda rows: removed.extend(numbers(rows)),
            on_error=errors.append,
        ) as consumer,
    ):
        producer.update(s="ex:slow", n=0)
        live = consumer.subscribe(s="ex:slow")
        spuid, count, end = live.spuid, 0, time.monotonic() + 12
        while time.monotonic() < end:
            count += 1
            producer.update(s="ex:slow", n=count)
            time.sleep(0.02)
        until(lambda: len(added) == count)

    assert count > 100
    assert (first, errors) == ([[0]], [])
    assert added == list(range(1, count + 1))
    assert removed == list(range(count))
    assert live.spuid == spuid
    assert broker.log.count("< ") and "renew" in broker.log


@pytest.mark.slow
async def test_the_asyncio_twins_renew_too(profile, settings):
    """For longer than a token's life."""
    added = []
    async with (
        AsyncProducer(profile, "SET", settings=settings, identity=TEST) as producer,
        AsyncConsumer(
            profile,
            "GET",
            settings=settings,
            identity=TEST,
            on_added=lambda rows: added.extend(numbers(rows)),
        ) as consumer,
    ):
        await producer.update(s="ex:tasks", n=0)
        await consumer.subscribe(s="ex:tasks")
        count, end = 0, time.monotonic() + 7
        while time.monotonic() < end:
            count += 1
            await producer.update(s="ex:tasks", n=count)
        await producer.update(s="ex:tasks", n=-1)
        async with asyncio.timeout(10):
            while added[-1:] != [-1]:  # noqa: ASYNC110 - callbacks are functions here
                await asyncio.sleep(0.01)

    assert added == [*range(1, count + 1), -1]


@pytest.mark.slow
def test_a_subscription_that_ran_out_is_told_what_it_missed_as_one_change(credentials, settings, broker):
    """Where no token could be had in time: the broker holds it back, and the callbacks see the true difference."""
    ours, theirs = credentials("Ann"), credentials()
    gone = threading.Event()
    real = theirs._fetched

    def away(refused):
        if gone.is_set():
            raise ConnectionLost("the token server is away")
        return (yield from real(refused))

    theirs._fetched = away
    heard = []
    with (
        SparqlClient(broker.https, settings=settings, authorization=ours) as client,
        Subscriber(broker.wss, settings=settings, authorization=theirs) as subscriber,
    ):
        live = subscriber.subscribe(
            "SELECT ?v { <a:missed> <a:v> ?v }",
            on_first_results=lambda rows: heard.append(("first", numbers(rows))),
            on_added=lambda rows: heard.append(("added", numbers(rows))),
            on_removed=lambda rows: heard.append(("removed", numbers(rows))),
            on_error=lambda error: heard.append(("error", error)),
        )
        spuid = live.spuid
        client.update("INSERT DATA { <a:missed> <a:v> 1 }")
        gone.set()
        time.sleep(6)
        client.update("INSERT DATA { <a:missed> <a:v> 2, 3 }")
        client.update("DELETE DATA { <a:missed> <a:v> 1, 3 }")
        assert heard == [("first", []), ("added", [1])]
        gone.clear()
        until(lambda: len(heard) == 4, within_s=35)

    assert heard[2:] == [("added", [2]), ("removed", [1])]
    assert live.spuid == spuid


def test_a_certificate_that_nobody_vouches_for_is_not_believed(broker, tls):
    """Unless the authority is named, or all are believed."""
    with (
        SparqlClient(broker.https, authorization=lambda: "token") as client,
        pytest.raises(ConnectionLost, match="CERT"),
    ):
        client.query("ASK {}")
    with pytest.raises(ConnectionLost, match="CERT"):
        Subscriber(broker.wss).open()
    with (
        SparqlClient(broker.https, settings=ClientSettings(verify=False)) as client,
        pytest.raises(BrokerRefused) as raised,
    ):
        client.query("ASK {}")
    assert raised.value.status == 401


def test_what_a_token_is_not_good_for_is_told_at_once(credentials, settings, broker):
    """A 403 is no reason for another token."""
    reader = credentials("Reader")
    with SparqlClient(broker.https, settings=settings, authorization=reader) as client:
        assert client.ask("ASK {}")
        token = reader.known().text
        with pytest.raises(BrokerRefused) as raised:
            client.update("INSERT DATA { <a:a> <a:b> 1 }")
        assert raised.value.status == 403
        with Subscriber(broker.wss, settings=settings, authorization=reader) as subscriber:
            with pytest.raises(BrokerRefused) as raised:
                subscriber.subscribe("SELECT * { ?s ?p ?o }")
            assert raised.value.status == 403
    assert reader.known().text == token


def test_an_identity_that_may_not_register_is_told(credentials, settings, broker):
    """By whoever asks first."""
    stranger = credentials("Stranger")
    with (
        Subscriber(broker.wss, settings=settings, authorization=stranger) as subscriber,
        pytest.raises(BrokerRefused, match="'Stranger' can't register"),
    ):
        subscriber.subscribe("SELECT * { ?s ?p ?o }")


def test_the_command_line_registers_logs_in_and_logs_out(broker, tls, capsys, configuration):
    """No secret is shown, and the token only where that is asked for."""
    common = ["--url", broker.https, "--ca", str(tls / "ca.pem"), "--identity", TEST]

    assert cli.run(["register", *common]) == 0
    assert cli.run(["login", *common]) == 0
    said = capsys.readouterr()
    assert (said.out, f"as client {TEST}" in said.err, "(5 s)" in said.err) == ("", True, True)
    assert cli.run(["login", *common, "--show"]) == 0
    token = capsys.readouterr().out.strip()
    assert token.count(".") == 2
    assert cli.run(["update", *common, "INSERT DATA { <a:cli> <a:v> 1 }"]) == 0
    assert cli.run(["query", *common, "SELECT ?v { <a:cli> <a:v> ?v }"]) == 0
    assert "1" in capsys.readouterr().out
    without = common[:4]
    assert cli.run(["query", *without, "--token", token, "ASK {}"]) == 0
    assert cli.run(["query", *without, "ASK {}"]) == 1
    assert cli.run(["logout", *common]) == 0
    assert cli.run(["query", *without, "--token", token, "ASK {}"]) == 1
    assert cli.run(["logout", *common, "--forget"]) == 0
    file = configuration / "triplewire" / "credentials.json"
    assert (file.stat().st_mode & 0o777, json.loads(file.read_text())) == (0o600, {})
    shown = capsys.readouterr()
    assert token not in shown.out + shown.err


def test_a_token_can_come_from_a_file_or_the_environment(  # noqa: PLR0913, PLR0917
    broker, credentials, tls, tmp_path, monkeypatch, capsys
):
    """And is followed through `subscribe`, too."""
    file = tmp_path / "token"
    file.write_text(credentials("Ann").token().text + "\n")
    monkeypatch.setenv("TRIPLEWIRE_CA", str(tls / "ca.pem"))
    monkeypatch.setenv("TRIPLEWIRE_URL", broker.https)

    query = "SELECT ?v { <a:nothing> <a:v> ?v }"
    assert cli.run(["query", "--token-file", str(file), query]) == 0
    assert cli.run(["subscribe", "--count", "0", "--token-file", str(file), query]) == 0
    monkeypatch.setenv("TRIPLEWIRE_TOKEN", file.read_text().strip())
    assert cli.run(["query", query]) == 0
    assert cli.run(["query", "--token-file", str(file), query]) == 2


def test_no_log_of_the_broker_has_a_token(broker, credentials, settings):
    """Nor a secret; at DEBUG, after all that was done before."""
    token = credentials("SEPATest").token().text
    with SparqlClient(broker.https, settings=settings, authorization=lambda: token) as client:
        client.query("ASK {}")

    assert token not in broker.log
    assert not re.search(r"eyJ[\w-]{20,}\.", broker.log)


def test_the_tokens_of_another_provider_are_fetched_from_there():
    """Its token URL is discovered by its issuer's."""
    provider = RunningProvider.start()
    broker = RunningBroker.start("--set=security.enabled=true", f"--set=security.provider={provider.issuer}")
    try:
        app = ClientCredentials(CLIENT, issuer=provider.issuer, client_secret=SECRET)
        heard = []
        with (
            SparqlClient(broker.http, authorization=app) as client,
            Subscriber(broker.ws, authorization=app) as subscriber,
        ):
            subscriber.subscribe(
                "SELECT ?v { <a:p> <a:v> ?v }", on_added=lambda rows: heard.append(numbers(rows))
            )
            client.update("INSERT DATA { <a:p> <a:v> 1 }")
            until(lambda: heard == [[1]])
        wrong = ClientCredentials(CLIENT, issuer=provider.issuer, client_secret="wrong")
        with pytest.raises(BrokerRefused, match="no token for 'app'") as raised:
            wrong.token()
        assert raised.value.code == "invalid_client"
    finally:
        broker.stop()
        provider.stop()


def test_a_follower_logs_in_at_its_leader(start, settings, tls, tmp_path):
    """For the journal and for what it forwards; without an identity it does not start."""
    leader = start("--data", str(tmp_path / "data"), memory=False)
    options = ["--follow", leader.https, f"--set=follow.ca={tls / 'ca.pem'}"]
    file = f"--set=follow.credentials={tmp_path / 'credentials.json'}"
    with pytest.raises(RuntimeError, match="401"):
        RunningBroker.start(*options, memory=False)

    follower = RunningBroker.start(*options, file, "--set=follow.identity=follower", memory=False)
    try:
        with SparqlClient(follower.http) as client:
            client.update("INSERT DATA { <a:f> <a:v> 1 }")
            assert client.ask("ASK { <a:f> <a:v> 1 }")
        assert following(follower)["connected"]
        assert not re.search(r"eyJ[\w-]{20,}\.", follower.log)
    finally:
        follower.stop()
