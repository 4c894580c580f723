"""The certificate, and how it is changed while connections live."""

from __future__ import annotations

import signal
import socket
import ssl
import time
from urllib.parse import urlsplit

import httpx
import pytest
from cryptography.hazmat.primitives import serialization
from support.certificates import LocalAuthority
from support.running import RunningBroker
from support.subscriber import Subscriber

from triplewire.broker.config import TlsConfig
from triplewire.broker.errors import ConfigError
from triplewire.gates.tls import Certificate

pytestmark = pytest.mark.xdist_group("gates-tls")

QUERY = "SELECT ?o { ?s <p> ?o }"


@pytest.fixture
def authority(tmp_path):
    return LocalAuthority(tmp_path)


@pytest.fixture
def broker(authority):
    """A broker with a certificate, and no security."""
    running = RunningBroker.start(*authority.settings())
    yield running
    assert running.stop() == 0


def config(authority):
    return TlsConfig(certificate=str(authority.certificate), key=str(authority.key))


def serial(url, authority, name="localhost"):
    """That of the certificate which a new connection gets; an address as `name` is not told to the broker."""
    place = urlsplit(url)
    with (
        socket.create_connection((place.hostname, place.port), 10) as plain,
        authority.context().wrap_socket(plain, server_hostname=name) as secure,
    ):
        return int(secure.getpeercert()["serialNumber"], 16)


def test_what_is_wrong_is_told_with_its_settings(authority, tmp_path):
    """And nothing of what is in the files."""
    (tmp_path / "text").write_text("-----BEGIN NONSENSE-----")
    for certificate, key in (
        (tmp_path / "nowhere", authority.key),
        (authority.certificate, authority.ca),
        (tmp_path / "text", authority.key),
    ):
        with pytest.raises(ConfigError, match=r"tls\.certificate '.*' and tls\.key '.*' are not"):
            Certificate(TlsConfig(certificate=str(certificate), key=str(key)))


def test_a_key_with_a_password_is_refused(authority):
    """Rather than asked for on the terminal."""
    key = serialization.load_pem_private_key(authority.key.read_bytes(), None)
    authority.key.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"secret"),
        )
    )
    with pytest.raises(ConfigError, match="encrypted"):
        Certificate(config(authority))


def test_the_plain_ports_are_there_beside_it(broker, authority):
    """All four speak to the same broker; plain paths and /secure on each."""
    with httpx.Client(verify=authority.context()) as http:
        for number, base in enumerate((broker.http, broker.https)):
            for prefix in ("", "/secure"):
                text = f"INSERT DATA {{ <a> <p> '{number}{prefix}' }}"
                assert http.post(f"{base}{prefix}/update", data={"update": text}).status_code == 200
        answer = http.get(f"{broker.https}/query", params={"query": QUERY}).json()
    assert len(answer["results"]["bindings"]) == 4
    secure = {"ssl": authority.context()}
    over_https = f"{broker.https.replace('https', 'wss')}"
    for url, options in (
        (broker.ws, {}),
        (broker.wss, secure),
        (broker.wss.replace("/subscribe", "/secure/subscribe"), secure),
        (f"{over_https}/subscribe", secure),
        (f"{over_https}/secure/subscribe", secure),
    ):
        with Subscriber(url, **options) as client:
            assert len(client.subscribe(QUERY)["addedResults"]["results"]["bindings"]) == 4


def test_event_streams_and_graphs_come_over_it(broker, authority):
    """The scheme is that of the URLs that the broker makes."""
    with httpx.Client(verify=authority.context(), base_url=broker.https) as http:
        made = http.post("/rdf-graph-store", content="<a> <b> <c> .", headers={"Content-Type": "text/turtle"})
        assert made.headers["location"].startswith(f"{broker.https}/rdf-graph-store/")
        assert http.get(made.headers["location"]).status_code == 200
        with http.stream(
            "GET", "/subscribe", params={"query": QUERY}, headers={"Accept": "text/event-stream"}
        ) as events:
            assert next(events.iter_lines()).startswith("id: ")


def test_old_versions_are_refused(broker, authority):
    """TLS 1.2 and later; HTTP/1.1 is what is spoken."""
    place = urlsplit(broker.https)

    def version(newest):
        context = authority.context()
        context.set_alpn_protocols(["h2", "http/1.1"])
        context.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
        context.maximum_version = newest
        with (
            socket.create_connection((place.hostname, place.port), 10) as plain,
            context.wrap_socket(plain, server_hostname="localhost") as secure,
        ):
            return secure.version(), secure.selected_alpn_protocol()

    assert version(ssl.TLSVersion.MAXIMUM_SUPPORTED) == ("TLSv1.3", "http/1.1")
    assert version(ssl.TLSVersion.TLSv1_2) == ("TLSv1.2", "http/1.1")
    with (
        pytest.warns(DeprecationWarning, match="TLSv1_1"),
        pytest.raises(OSError, match=r"(?i)ssl|reset|eof"),
    ):
        version(ssl.TLSVersion.TLSv1_1)


def test_the_certificate_is_read_again_while_connections_live(broker, authority):
    """On SIGHUP; whoever is connected notices nothing, also where no name is told."""
    before = serial(broker.https, authority)
    with (
        httpx.Client(verify=authority.context(), base_url=broker.https) as http,
        Subscriber(broker.wss, ssl=authority.context()) as client,
    ):
        client.subscribe(QUERY)
        assert http.get("/health").status_code == 200
        now = authority.certify()
        broker.process.send_signal(signal.SIGHUP)
        _wait_for(broker, "the certificate is that of")
        for url in (broker.https, broker.wss):
            assert {serial(url, authority), serial(url, authority, "127.0.0.1")} == {now}
        assert now != before
        assert http.post("/update", data={"update": "INSERT DATA { <a> <p> 1 }"}).status_code == 200
        assert client.notification()["sequence"] == 1


def test_a_bad_certificate_leaves_the_old_one(broker, authority):
    """And is told in the log."""
    before = serial(broker.https, authority)
    old = authority.key.read_bytes()
    authority.certify()
    authority.key.write_bytes(old)
    broker.process.send_signal(signal.SIGHUP)
    _wait_for(broker, "the certificate stays as it was")

    assert serial(broker.https, authority) == before


@pytest.mark.parametrize("port", ["https", "wss"])
def test_who_says_nothing_is_let_go(authority, port):
    """A handshake that does not end takes no longer than tls.handshake_s."""
    running = RunningBroker.start(*authority.settings(), "--set", "tls.handshake_s=0.3")
    try:
        place = urlsplit(getattr(running, port))
        with socket.create_connection((place.hostname, place.port), 5) as silent:
            assert silent.recv(100) == b""
    finally:
        assert running.stop() == 0


def _wait_for(broker, words):
    deadline = time.monotonic() + 10
    while words not in broker.log:
        assert time.monotonic() < deadline, broker.log[-500:]
        time.sleep(0.02)
