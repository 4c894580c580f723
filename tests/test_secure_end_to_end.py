"""A broker that is closed: what strangers get, what a token is good for, and what nobody is told by the way."""

from __future__ import annotations

import signal
import time

import pytest
from support.events import EventStream
from support.secured import PERMISSIONS, SecuredBroker

pytestmark = pytest.mark.xdist_group("secure")

SERVES = ("/query", "/update", "/sparql", "/subscribe", "/rdf-graph-store", "/rdf-graph-store/a", "/journal")
CLOSED = (
    *SERVES,
    *(f"/secure{path}" for path in SERVES),
    "/journal/snapshot",
    "/units",
    "/metrics",
    "/openapi.json",
    "/oauth/clients",
    "/oauth/clients/all",
    "/oauth/jwks/rotate",
    "/nowhere",
    "/secure",
    "/docs",
    "/query/x",
    "/%2F",
    "/.well-known/",
    "/health/",
)
ANSWER = "SELECT ?o { GRAPH ?g { ?s <p> ?o } }"


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    directory = tmp_path_factory.mktemp("secured")
    with SecuredBroker(directory, f"store.data={directory / 'data'}") as secured:
        yield secured


@pytest.fixture
def filled(broker):
    """A quad in the default graph, one in a graph that `some` may read, one in one that it may not."""
    text = "DROP ALL; INSERT DATA { <a> <p> 1 . GRAPH <g> { <a> <p> 2 } GRAPH <hidden> { <a> <p> 3 } }"
    assert broker.update(text).status_code == 200
    return broker


def refused(answer, status, code):
    """SEPA's flat form, and RFC 6750's header."""
    assert (answer.status_code, answer.json()["error"]) == (status, code), answer.text
    assert set(answer.json()) == {"error", "status_code", "error_description"}
    assert answer.headers["www-authenticate"].startswith("Bearer")
    return answer.headers["www-authenticate"]


@pytest.mark.parametrize("path", CLOSED)
@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE", "PATCH"])
def test_a_stranger_gets_nothing(broker, path, method):
    """Nor learns whether there is something."""
    answer = broker.http.request(method, path, params={"query": "ASK {}"})

    assert refused(answer, 401, "invalid_request") == 'Bearer realm="triplewire"'


@pytest.mark.parametrize("path", ["/", "/health", "/oauth/jwks", "/.well-known/oauth-authorization-server"])
def test_what_is_open(broker, path):
    """The page, whether the broker is well, the keys and where tokens come from; also by plain HTTP, and HEAD."""
    assert broker.http.get(path).status_code == 200
    assert broker.http.head(path).status_code == 200
    assert broker.http.get(f"{broker.running.http}{path}").status_code == 200
    wrong = broker.http.get(path, headers={"Authorization": "Bearer x.y.z"})
    assert wrong.status_code == 200


def test_a_preflight_is_answered(broker):
    """A browser sends it without a token; what it lets the page read has the challenge."""
    asked = {"Origin": "https://a.example", "Access-Control-Request-Method": "POST"}
    asked["Access-Control-Request-Headers"] = "authorization"
    answer = broker.http.options("/query", headers=asked)
    assert answer.status_code == 204
    assert answer.headers["access-control-allow-headers"] == "authorization"
    answer = broker.http.get("/query", headers={"Origin": "https://a.example"})

    assert answer.headers["access-control-allow-origin"] == "https://a.example"
    assert "WWW-Authenticate" in answer.headers["access-control-expose-headers"]


def test_health_tells_strangers_whether_it_is_well(broker):
    """Administrators are told the rest."""
    assert broker.http.get("/health").json() == {"status": "ok"}
    assert broker.http.get("/health", headers=broker.headers()).json() == {"status": "ok"}
    assert "updates" in broker.http.get("/health", headers=broker.headers("admin")).json()


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ("Bearer", "invalid_request"),
        ("Bearer a b", "invalid_request"),
        ("Bearer x.y.z", "invalid_request"),
        ("Bearer é", "invalid_request"),
        ("Basic YTpi", "invalid_request"),
        ("", "invalid_request"),
        ("bearer a, Bearer b", "invalid_request"),
    ],
)
def test_a_wrong_header_is_refused(broker, given, code):
    """In the same form."""
    answer = broker.http.get("/query", params={"query": "ASK {}"}, headers={"Authorization": given.encode()})

    refused(answer, 401, code)


def test_the_scheme_is_of_any_case(broker):
    """RFC 9110, 11.1."""
    for scheme in ("Bearer", "bearer", "BEARER"):
        headers = {"Authorization": f"{scheme} {broker.token()}"}
        assert broker.http.get("/query", params={"query": "ASK {}"}, headers=headers).status_code == 200


def test_a_tampered_token_is_refused(broker):
    """As invalid_grant, which has SEPA's clients fetch another."""
    token = broker.token()
    head, payload, signature = token.split(".")
    for wrong in (f"{head}.{payload}.{signature[::-1]}", f"{head}.{payload[::-1]}.{signature}"):
        answer = broker.http.get(
            "/query", params={"query": "ASK {}"}, headers={"Authorization": f"Bearer {wrong}"}
        )
        assert answer.status_code == 401
        assert answer.json()["error"] in {"invalid_grant", "invalid_request"}


OPERATIONS = {
    "query": ("GET", "/query", {"params": {"query": "ASK {}"}}),
    "sparql query": ("POST", "/sparql", {"data": {"query": "ASK {}"}}),
    "description": ("GET", "/sparql", {}),
    "read": ("GET", "/rdf-graph-store", {"params": "default"}),
    "update": ("POST", "/update", {"data": {"update": "INSERT DATA {}"}}),
    "sparql update": ("POST", "/sparql", {"data": {"update": "INSERT DATA {}"}}),
    "replace": ("PUT", "/rdf-graph-store", {"params": {"graph": "urn:new"}}),
    "merge": ("POST", "/rdf-graph-store", {"params": {"graph": "urn:new"}}),
    "drop": ("DELETE", "/rdf-graph-store", {"params": {"graph": "urn:new"}}),
    "subscribe": ("GET", "/subscribe", {"params": {"query": "ASK {}"}}),
    "journal": ("GET", "/journal", {"params": {"epoch": "x", "after": "1"}}),
    "snapshot": ("GET", "/journal/snapshot", {}),
    "units": ("GET", "/units", {}),
    "metrics": ("GET", "/metrics", {}),
    "clients": ("GET", "/oauth/clients", {}),
    "what is not there": ("GET", "/nowhere", {}),
}
MAY = {
    "reader": {"query", "sparql query", "description", "read"},
    "all": set(OPERATIONS) - {"journal", "snapshot", "units", "metrics", "clients", "what is not there"},
    "admin": set(OPERATIONS),
}


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("client", MAY)
def test_a_scope_is_what_a_token_is_good_for(broker, client, operation):
    """403 with the code of RFC 6750 for anything else."""
    method, path, request = OPERATIONS[operation]
    headers = broker.headers(client)
    if method in {"PUT", "POST"} and "data" not in request:
        request = request | {"content": ""}
        headers["Content-Type"] = "text/turtle"
    answer = broker.http.request(method, path, headers=headers, **request)
    if operation in MAY[client]:
        assert answer.status_code not in {401, 403}, answer.text
    else:
        assert refused(answer, 403, "insufficient_scope") == 'Bearer error="insufficient_scope"'


def test_a_client_sees_what_it_may_read(filled):
    """In answers, also of the graph store and of event streams."""
    some = filled.headers("some")
    answer = filled.http.get("/query", params={"query": ANSWER}, headers=some).json()
    assert [row["o"]["value"] for row in answer["results"]["bindings"]] == ["2"]
    assert filled.http.get("/rdf-graph-store", params={"graph": "g"}, headers=some).status_code == 403
    own = {"graph": "http://localhost/g"}
    assert filled.http.get("/rdf-graph-store", params=own, headers=some).status_code == 200
    texts = set()
    for graph in ("http://localhost/hidden", "http://localhost/nothing"):
        answer = filled.http.get("/rdf-graph-store", params={"graph": graph}, headers=some)
        assert answer.status_code == 403
        texts.add(answer.json()["error_description"].replace(graph, "?"))
    assert len(texts) == 1
    assert filled.http.get("/rdf-graph-store?default", headers=some).status_code == 403
    with EventStream(filled.http, ANSWER, headers=some) as events:
        (row,) = events.next_event().notification["addedResults"]["results"]["bindings"]
        assert row["o"]["value"] == "2"


def test_an_update_s_answer_tells_what_may_be_read(filled):
    """No number of notifications, no quads of other graphs, no record's number."""
    some, all_ = filled.headers("some"), filled.headers()
    text = "INSERT DATA {{ GRAPH <g> {{ <b> <p> {0} }} GRAPH <hidden> {{ <b> <p> {0} }} }}"
    told = filled.update(text.format(4), some, quads="")
    assert [quad["graph"]["value"] for quad in told.json()["quads"]["added"]] == ["http://localhost/g"]
    assert told.json()["response"]["body"] == "Update done"
    assert "triplewire-sequence" not in told.headers
    told = filled.update(text.format(5), all_, quads="")
    assert len(told.json()["quads"]["added"]) == 2
    assert "notifications" in told.json()["response"]["body"]
    assert "triplewire-sequence" in told.headers


def test_a_graph_that_can_t_be_read_is_written_without_a_word(filled):
    """Whether it was there is not told: by PUT, by DELETE."""
    some = filled.headers("some") | {"Content-Type": "text/turtle"}
    hidden = {"graph": "http://localhost/hidden"}

    def statuses(method, **request):
        return [
            filled.http.request(
                method, "/rdf-graph-store", params=hidden, headers=some, **request
            ).status_code
            for _ in range(2)
        ]

    assert statuses("DELETE") == [204, 204]
    assert statuses("PUT", content="<a> <b> <c> .") == [204, 204]
    own = {"graph": "http://localhost/g"}
    request = {"params": own, "headers": some}
    assert filled.http.delete("/rdf-graph-store", **request).status_code == 204
    assert filled.http.delete("/rdf-graph-store", **request).status_code == 404


def test_an_update_beyond_its_rights_is_refused(filled):
    """Whole: 403, and nothing is written."""
    answer = filled.update(
        "INSERT DATA { GRAPH <g> { <z> <p> 9 } } ; DELETE WHERE { GRAPH <o> { ?s ?p ?o } } ; DROP DEFAULT",
        filled.headers("some"),
    )
    assert answer.status_code == 403, answer.text
    headers = filled.headers()
    found = filled.http.get("/query", params={"query": "ASK { GRAPH ?g { <z> ?p ?o } }"}, headers=headers)

    assert found.json()["boolean"] is False


def test_an_event_stream_ends_with_its_token(tmp_path):
    """An `error` event; with another token its client is told what it missed."""
    with SecuredBroker(tmp_path, "security.token_s=1") as broker:
        query, began = "SELECT ?o { ?s <p> ?o }", time.time()
        with EventStream(broker.http, query, headers=broker.headers()) as events:
            first = events.next_event()
            broker.update("INSERT DATA { <a> <p> 1 }")
            second = events.next_event()
            last = events.next_event()
            assert list(events) == []
        assert (last.name, 0.5 < time.time() - began < 3) == ("error", True)
        assert second.notification["sequence"] == 1
        assert '"invalid_grant"' in last.data
        broker.update("INSERT DATA { <a> <p> 2 }")
        again = broker.headers() | {"Last-Event-ID": second.id}
        with EventStream(broker.http, query, headers=again) as events:
            told = events.next_event().notification
        assert (told["spuid"], told["sequence"]) == (first.notification["spuid"], 2)
        (row,) = told["addedResults"]["results"]["bindings"]
        assert row["o"]["value"] == "2"


def test_a_revoked_client_hears_nothing_more(tmp_path):
    """At once, on its open connection; and its token is good for nothing."""
    with SecuredBroker(tmp_path) as broker, broker.subscriber() as client:
        token = broker.token()
        spuid = client.subscribe("SELECT ?o { ?s <p> ?o }", authorization=token)["spuid"]
        answer = broker.http.delete("/oauth/clients/all", headers=broker.headers("admin"))
        assert answer.status_code == 204, answer.text
        heard = client.hear(5)
        assert (heard["error"], heard["status_code"], heard["spuid"]) == ("invalid_grant", 401, spuid)
        broker.update("INSERT DATA { <a> <p> 1 }", broker.headers("admin"))
        with pytest.raises(TimeoutError):
            client.hear(0.2)
        answer = broker.http.get(
            "/query", params={"query": "ASK {}"}, headers={"Authorization": f"Bearer {token}"}
        )
        refused(answer, 401, "invalid_grant")


def test_permissions_are_read_again(tmp_path):
    """On SIGHUP: who may read other graphs by now subscribes anew; a wrong file changes nothing."""
    with SecuredBroker(tmp_path) as broker, broker.subscriber() as client:
        query = {"params": {"query": ANSWER}, "headers": broker.headers("some")}
        spuid = client.subscribe(ANSWER, authorization=broker.token("some"), alias="x")["spuid"]
        broker.permissions.write_text("[clients.some]\nscopes = 7\n")
        broker.running.process.send_signal(signal.SIGHUP)
        broker.wait(lambda: "stay as they were" in broker.running.log)
        assert broker.http.get("/query", **query).status_code == 200
        more = PERMISSIONS.replace('read = ["http://localhost/g"]', 'read = ["*"]')
        broker.permissions.write_text(more)
        broker.running.process.send_signal(signal.SIGHUP)
        heard = client.hear(5)
        assert (heard["status_code"], heard["alias"], heard["spuid"]) == (403, "x", spuid)
        broker.update("INSERT DATA { <a> <p> 1 . GRAPH <hidden> { <a> <p> 3 } }")
        assert len(broker.http.get("/query", **query).json()["results"]["bindings"]) == 1
        assert client.subscribe(ANSWER, authorization=broker.token("some"))["sequence"] == 0


def test_a_start_that_can_not_be_is_told(tmp_path):
    """A setting's path, rather than a broker that is open."""
    with pytest.raises(RuntimeError, match="clients"):
        SecuredBroker(tmp_path, permissions="[clients.some]\nscope = []\n")
