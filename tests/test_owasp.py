"""The OWASP API Security Top 10 (2023), row by row, against a broker that is closed."""

from __future__ import annotations

import json
import re
import socket
import ssl
import threading
from urllib.parse import urlsplit

import pytest
from support.secured import SecuredBroker

pytestmark = pytest.mark.xdist_group("secure")

OPEN = {"/", "/health", "/oauth/register", "/oauth/token", "/oauth/revoke", "/oauth/jwks"}
PARAMETERS = re.compile(r"\{[^}]*\}")


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    with SecuredBroker(tmp_path_factory.mktemp("owasp"), "limits.client_requests_s=0") as secured:
        yield secured


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


def error_of(answer):
    return answer.status_code, answer.json()["error"]


def test_api1_an_id_is_no_key(broker):
    """Broken object level authorization: to know another client's subscription is not to have it."""
    mine, other = broker.token("all"), broker.token("admin")
    with broker.subscriber() as owner, broker.subscriber() as thief:
        asked = {"sparql": "SELECT ?o { ?s <api1> ?o }", "resume": {}, "authorization": f"Bearer {mine}"}
        spuid = owner.exchange({"subscribe": asked})["notification"]["spuid"]

        stolen = thief.exchange({"unsubscribe": {"spuid": spuid, "authorization": f"Bearer {other}"}})
        assert stolen["error"] == "sid_not_found"
        resume = {"resume": {"spuid": spuid, "sequence": 0}, "authorization": f"Bearer {other}"}
        got = thief.exchange({"subscribe": asked | resume})["notification"]
        assert (got["spuid"] != spuid, got["sequence"]) == (True, 0)

        broker.update("INSERT DATA { <s> <api1> 1 }")
        assert owner.notification()["spuid"] == spuid
    form = {"token": mine}
    revoked = broker.http.post("/oauth/revoke", data=form, auth=("admin", broker.secret("admin")))
    assert error_of(revoked) == (400, "invalid_grant")
    assert broker.http.get("/query", params={"query": "ASK {}"}, headers=bearer(mine)).status_code == 200


def test_api2_a_token_comes_in_its_header(broker):
    """Broken authentication: not in the URL, where logs have it, nor in a cookie, which browsers send by themselves."""
    token = broker.token()
    given = {"query": "ASK {}", "access_token": token, "token": token}
    assert broker.http.get("/query", params=given).status_code == 401
    cookies = {"Cookie": f"token={token}; authorization=Bearer {token}"}
    assert broker.http.get("/query", params={"query": "ASK {}"}, headers=cookies).status_code == 401
    assert broker.http.post("/query", data=given).status_code == 401


def test_api2_guesses_are_few(tmp_path):
    """A secret can be tried so often; the right one does as well from then on for nobody but who showed it before."""
    with SecuredBroker(tmp_path, "security.attempts=5") as closed:
        closed.token("reader")
        answers = [
            closed.http.post(
                "/oauth/token", data={"grant_type": "client_credentials"}, auth=("all", f"guess{n}")
            )
            for n in range(7)
        ]
        assert [answer.status_code for answer in answers] == [401] * 5 + [429] * 2
        assert 0 < int(answers[-1].headers["retry-after"]) <= 60
        closed.token("reader")


def test_api3_nobody_is_told_more_than_is_theirs(broker):
    """Broken object property level authorization: hashes are never listed, other graphs' quads never told."""
    secret = broker.secret("all")
    listed = broker.http.get("/oauth/clients", headers=broker.headers("admin"))
    assert listed.status_code == 200
    assert secret not in listed.text
    assert "argon2" not in listed.text
    assert "all" in json.dumps(listed.json())
    text = "INSERT DATA { GRAPH <g> { <a> <api3> 1 } GRAPH <hidden> { <a> <api3> 2 } }"
    told = broker.update(text, broker.headers("some"), quads="").json()
    assert len(told["quads"]["added"]) == 1


def test_api4_what_a_client_uses_is_bounded(tmp_path):
    """Unrestricted resource consumption: requests by rate, and what one request may be."""
    settings = ("limits.client_requests_s=5", "limits.client_burst=5", "limits.query_chars=1000")
    with SecuredBroker(tmp_path, *settings) as closed:
        headers = closed.headers("reader")
        statuses = [
            closed.http.get("/query", params={"query": "ASK {}"}, headers=headers).status_code
            for _ in range(12)
        ]
        assert statuses[:5] == [200] * 5
        assert 429 in statuses
        admin = closed.headers("admin")
        long = {"query": f"ASK {{}} # {'x' * 2000}"}
        assert closed.http.get("/query", params=long, headers=admin).status_code == 413


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/oauth/clients"),
        ("DELETE", "/oauth/clients/reader"),
        ("POST", "/oauth/jwks/rotate"),
        ("GET", "/units"),
        ("GET", "/metrics"),
        ("GET", "/openapi.json"),
        ("GET", "/journal"),
        ("GET", "/secure/units"),
        ("GET", "/secure/journal/snapshot"),
    ],
)
def test_api5_what_is_for_administrators(broker, method, path):
    """Broken function level authorization: a good token is not enough, whatever the path is written like."""
    answer = broker.http.request(method, path, headers=broker.headers("all"))
    assert error_of(answer) == (403, "insufficient_scope")


def test_api6_registrations_are_few(tmp_path):
    """Unrestricted access to sensitive flows: who tries out identities is stopped."""
    with SecuredBroker(tmp_path, "security.attempts=5") as closed:
        statuses = [
            closed.http.post(
                "/oauth/register",
                json={"register": {"client_identity": f"x{number}", "grant_types": ["client_credentials"]}},
            ).status_code
            for number in range(7)
        ]
        assert statuses == [401] * 5 + [429] * 2


def test_api7_the_broker_calls_nobody(broker):
    """Server side request forgery: by SERVICE, LOAD, FROM or a context in a document."""
    called = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:
        caller = threading.Thread(target=lambda: (server.accept()[0].close(), called.set()))
        caller.start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}/x"
        headers = broker.headers("all")
        for text in (
            f"SELECT * {{ SERVICE <{url}> {{ ?s ?p ?o }} }}",
            f"SELECT * {{ SERVICE SILENT <{url}> {{ ?s ?p ?o }} }}",
            f"SELECT * FROM <{url}> {{ ?s ?p ?o }}",
            f"SELECT * {{ VALUES ?g {{ <{url}> }} SERVICE ?g {{ ?s ?p ?o }} }}",
        ):
            assert broker.http.post("/query", data={"query": text}, headers=headers).status_code in {200, 400}
        for text in (
            f"LOAD <{url}>",
            f"LOAD SILENT <{url}>",
            f"INSERT {{ ?s ?p ?o }} WHERE {{ SERVICE <{url}> {{ ?s ?p ?o }} }}",
        ):
            assert broker.update(text, headers).status_code in {200, 400}
        document = {"@context": url, "@id": "urn:a", "urn:b": 1}
        broker.http.post(
            "/rdf-graph-store?default",
            content=json.dumps(document),
            headers=headers | {"Content-Type": "application/ld+json"},
        )
        was_called = called.wait(0.5)
        socket.create_connection(server.getsockname()).close()  # so that the thread ends
        caller.join(5)
        assert (was_called, called.is_set()) == (False, True)


def test_api8_old_tls_is_refused(broker):
    """Security misconfiguration: below 1.2 there is no handshake."""
    url = urlsplit(broker.running.https)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
    context.set_ciphers("ALL:@SECLEVEL=0")
    with (
        socket.create_connection((url.hostname, url.port), 5) as plain,
        pytest.raises((ssl.SSLError, ConnectionError)),
    ):
        context.wrap_socket(plain)


def test_api8_errors_and_headers_tell_nothing_of_the_inside(broker):
    """No traceback, no version of a server, no path of ours; a browser must not guess what a body is."""
    headers = broker.headers("all")
    answers = [
        broker.http.get("/query", params={"query": "SELECT"}, headers=headers),
        broker.http.get("/query", params={"update": "CLEAR ALL"}, headers=headers),
        broker.http.request("TRACE", "/query", headers=headers),
        broker.http.get("/nowhere", headers=broker.headers("admin")),
        broker.http.get("/"),
        broker.http.get("/query", params={"query": "ASK {}"}, headers=headers),
    ]
    for answer in answers:
        assert not re.search(r"Traceback|\.py\b|site-packages|/home|/root", answer.text)
        assert not re.search(r"uvicorn|python|\d\.\d", answer.headers.get("server", ""), re.IGNORECASE)
        assert answer.headers["x-content-type-options"] == "nosniff"
    assert [answer.status_code for answer in answers] == [400, 400, 405, 404, 200, 200]
    assert answers[4].headers["x-frame-options"] == "DENY"
    assert "default-src 'none'" in answers[4].headers["content-security-policy"]


def test_api8_other_origins_are_given_no_credentials(broker):
    """A page of any origin may ask with a token that it has; a browser's own credentials are never let through."""
    answer = broker.http.get(
        "/query",
        params={"query": "ASK {}"},
        headers=broker.headers("all") | {"Origin": "https://elsewhere.example"},
    )
    assert answer.headers["access-control-allow-origin"] == "https://elsewhere.example"
    assert "access-control-allow-credentials" not in answer.headers


def test_api9_whatever_is_described_is_closed(broker):
    """Improper inventory management: each path of the description but those that are open needs a token."""
    described = broker.http.get("/openapi.json", headers=broker.headers("admin")).json()["paths"]
    assert {"/query", "/update", "/subscribe", "/rdf-graph-store", "/units"} <= set(described)
    for path, operations in described.items():
        if path in OPEN or path.startswith("/.well-known/"):
            continue
        for method in operations.keys() & {"get", "put", "post", "delete", "patch", "head"}:
            for prefix in ("", "/secure"):
                answer = broker.http.request(method, prefix + PARAMETERS.sub("x", path))
                assert answer.status_code == 401, (method, prefix, path)


def test_api10_what_others_say_is_not_believed(broker):
    """Unsafe consumption of APIs: a host that the client names is nobody's address.

    (Documents of an identity provider are bounded and checked in tests/broker/security/test_provider_keys.py.)
    """
    metadata = broker.http.get(
        "/.well-known/oauth-authorization-server",
        headers={
            "Host": "evil.example",
            "X-Forwarded-Host": "evil.example",
            "Forwarded": "host=evil.example",
        },
    )
    assert metadata.status_code == 200
    assert "evil" not in metadata.text
