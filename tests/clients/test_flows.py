import json

import pytest
from pyoxigraph import Literal, NamedNode, Triple

from triplewire.broker.errors import BrokerMisbehaved, BrokerRefused, ConnectionLost
from triplewire.broker.model import Bindings, Query, Update
from triplewire.clients.authorization import Authorize, Token
from triplewire.clients.flows import (
    ANSWERS,
    Call,
    Dropped,
    Method,
    Reply,
    SparqlFlows,
    Wait,
    query_call,
    refused,
    update_call,
)
from triplewire.clients.settings import ClientSettings

URL = "http://broker/query"
JSON = {"content-type": "application/sparql-results+json; charset=utf-8"}
EMPTY = Reply(200, JSON, b'{"head":{"vars":["x"]},"results":{"bindings":[]}}')
ASKED = Query("SELECT ?x {}", ("http://g/1", "http://g/2"), ("http://g/3",))
GRAPHS = (
    ("default-graph-uri", "http://g/1"),
    ("default-graph-uri", "http://g/2"),
    ("named-graph-uri", "http://g/3"),
)


def finish(flow, reply):
    with pytest.raises(StopIteration) as end:
        flow.send(reply)
    return end.value.value


def query(**settings):
    return SparqlFlows(ClientSettings(**settings)).query(URL, ASKED)


def test_a_query_is_posted_as_it_is():
    """With its dataset in the URL (SPARQL 1.1 Protocol, 2.1.3)."""
    call = next(query())

    assert call == Call(
        "POST",
        URL,
        GRAPHS,
        {"content-type": "application/sparql-query", "accept": ANSWERS},
        b"SELECT ?x {}",
        safe=True,
    )


def test_a_query_can_travel_in_a_form():
    """With its dataset (SPARQL 1.1 Protocol, 2.1.2)."""
    call = query_call(URL, ASKED, Method.URL_ENCODED_POST)

    assert call.headers == {"content-type": "application/x-www-form-urlencoded"}
    assert call.params == ()
    assert call.body == (
        b"query=SELECT+%3Fx+%7B%7D&default-graph-uri=http%3A%2F%2Fg%2F1"
        b"&default-graph-uri=http%3A%2F%2Fg%2F2&named-graph-uri=http%3A%2F%2Fg%2F3"
    )


def test_a_query_can_travel_by_get():
    """All in the URL (SPARQL 1.1 Protocol, 2.1.1)."""
    call = query_call(URL, ASKED, Method.GET)

    assert (call.method, call.params, call.body) == ("GET", (("query", "SELECT ?x {}"), *GRAPHS), b"")


def test_an_update_is_posted_as_it_is():
    """With its dataset in the URL (SPARQL 1.1 Protocol, 2.2.2)."""
    flow = SparqlFlows().update(URL, Update("CLEAR ALL", ("http://g/1",), ("http://g/2",)))

    call = next(flow)

    assert call.params == (("using-graph-uri", "http://g/1"), ("using-named-graph-uri", "http://g/2"))
    assert call.headers["content-type"] == "application/sparql-update"
    assert call.body == b"CLEAR ALL"
    assert not call.safe
    assert finish(flow, Reply(204)) is None


def test_an_update_can_travel_in_a_form():
    """With its dataset (SPARQL 1.1 Protocol, 2.2.1)."""
    call = update_call(URL, Update("CLEAR ALL", ("http://g/1",)), Method.URL_ENCODED_POST)

    assert call.body == b"update=CLEAR+ALL&using-graph-uri=http%3A%2F%2Fg%2F1"


def test_an_update_can_not_travel_by_get():
    """GET is safe (RFC 9110, 9.2.1)."""
    with pytest.raises(ValueError, match="GET"):
        update_call(URL, Update("CLEAR ALL"), Method.GET)


def test_triples_are_added_to_a_graph():
    """By POST (Graph Store Protocol, 5.5)."""
    flow = SparqlFlows().add_to_graph("http://broker/rdf-graph-store", "http://g/1", b"<a:> <b:> <c:> .")

    call = next(flow)

    assert (call.method, call.params) == ("POST", (("graph", "http://g/1"),))
    assert call.headers["content-type"] == "application/n-triples"


def test_the_default_graph_has_no_name():
    """The Graph Store Protocol has a parameter for it (4.2)."""
    assert next(SparqlFlows().add_to_graph(URL, None, b"")).params == (("default", ""),)


def test_rows_come_as_bindings():
    """SELECT and ASK."""
    flow = query()
    next(flow)

    assert finish(flow, EMPTY) == Bindings(("x",), ())


def test_truth_comes_as_bindings():
    """One row over `boolean`."""
    flow = query()
    next(flow)

    assert finish(flow, Reply(200, JSON, b'{"head":{},"boolean":true}')) == Bindings(
        ("boolean",), ((Literal(True),),)
    )


def test_triples_come_as_a_list():
    """CONSTRUCT and DESCRIBE."""
    flow = query()
    next(flow)

    answer = finish(flow, Reply(200, {"content-type": "application/n-triples"}, b'<a:b> <a:c> "d" .\n'))

    assert answer == [Triple(NamedNode("a:b"), NamedNode("a:c"), Literal("d"))]


@pytest.mark.parametrize(
    ("media_type", "body"),
    [
        ("application/sparql-results+json", b"[]"),
        ("application/sparql-results+json", b"\xff"),
        ("application/sparql-results+json", b'{"head":{}}'),
        ("application/n-triples", b"<a"),
        ("text/html", b"<p>hello"),
        ("", b""),
    ],
)
def test_an_answer_that_can_not_be_read_is_the_brokers_fault(media_type, body):
    """Whatever it says it is."""
    flow = query()
    next(flow)

    with pytest.raises(BrokerMisbehaved):
        flow.send(Reply(200, {"content-type": media_type}, body))


def test_a_busy_broker_is_asked_again_when_it_says():
    """Retry-After is in seconds (RFC 9110, 10.2.3)."""
    flow = query()
    call = next(flow)

    assert flow.send(Reply(503, {"retry-after": "7"})) == Wait(7)
    assert flow.send(None) == call
    assert finish(flow, EMPTY) == Bindings(("x",), ())


def test_a_busy_broker_that_does_not_say_when_is_asked_ever_later():
    """Also where it says it by a date."""
    flow = query()
    next(flow)

    assert flow.send(Reply(429)) == Wait(0.5)
    flow.send(None)
    assert flow.send(Reply(429, {"retry-after": "Fri, 31 Dec 2027 23:59:59 GMT"})) == Wait(1.0)


def test_a_broker_can_not_make_us_wait_for_ever():
    """The wait is bounded, and so is the number of attempts."""
    flow = query(retries=2, retry_after_max_s=10)
    next(flow)

    for _ in range(2):
        assert flow.send(Reply(503, {"retry-after": "86400"})) == Wait(10)
        flow.send(None)
    with pytest.raises(BrokerRefused) as refusal:
        flow.send(Reply(503, {"retry-after": "86400"}, b"closed for today"))

    assert refusal.value.status == 503


def test_a_query_whose_connection_broke_is_repeated_once():
    """A kept-alive connection may have been closed just then; asking twice changes nothing."""
    flow = query()
    call = next(flow)

    assert flow.throw(Dropped("gone")) == call
    with pytest.raises(Dropped):
        flow.throw(Dropped("gone"))


def test_an_update_whose_connection_broke_is_never_repeated():
    """It may have been made."""
    flow = SparqlFlows().update(URL, Update("CLEAR ALL"))
    next(flow)

    with pytest.raises(ConnectionLost):
        flow.throw(Dropped("gone"))


def test_a_broker_that_is_away_is_not_asked_twice():
    """Only a connection that had been there is worth another attempt."""
    flow = query()
    next(flow)

    with pytest.raises(ConnectionLost):
        flow.throw(ConnectionLost("nobody there"))


def test_each_attempt_carries_the_present_token():
    """It may have been renewed while we waited."""
    tokens = iter(["one", "two"])
    flow = SparqlFlows(authorization=lambda: next(tokens)).query(URL, ASKED)

    first = next(flow)
    flow.send(Reply(503))
    second = flow.send(None)

    assert first.headers["authorization"] == "Bearer one"
    assert second.headers["authorization"] == "Bearer two"


def test_without_a_token_there_is_no_header():
    """Also where there is somebody who could have one."""
    assert "authorization" not in next(SparqlFlows(authorization=lambda: None).query(URL, ASKED)).headers


def test_a_refusal_tells_what_the_broker_said():
    """SEPA's flat object."""
    body = {"error": "parsing failed", "status_code": 400, "error_description": "no such word: SELEKT"}

    error = refused(Reply(400, {}, json.dumps(body).encode()))

    assert (error.code, error.status, error.description) == ("parsing failed", 400, "no such word: SELEKT")


@pytest.mark.parametrize(
    "body", [b"Not here", b'"Not here"', b"[1]", b'{"error": {"code": 1}}', b"\xff\xfe", b"[" * 100_000]
)
def test_a_refusal_may_be_any_text(body):
    """Other servers send pages, or nothing of use."""
    error = refused(Reply(404, {}, body))

    assert error.status == 404
    assert 0 < len(error.description) <= 500


def test_a_refusal_may_be_silent():
    """The status remains."""
    assert str(refused(Reply(403))) == "no reason given (http_error, 403)"


def test_a_redirection_is_told_and_not_followed():
    """A POST can't be redirected without asking (RFC 9110, 15.4)."""
    error = refused(Reply(301, {"location": "https://elsewhere/"}, b"moved"))

    assert error.description == "redirected to https://elsewhere/"


def test_a_download_is_streamed():
    """In the format that was asked for."""
    flow = SparqlFlows().download(URL, ASKED, "text/csv")

    call = next(flow)

    assert call.streamed
    assert call.headers["accept"] == "text/csv"


class Tokens:
    """A source whose fetching is a step for the test."""

    def __init__(self, text=None):
        self.text = text

    def known(self, refused=None):
        return Token(self.text) if self.text not in {None, refused} else None


def test_a_token_is_fetched_where_none_is_known():
    """By the driver, before the request is made."""
    tokens = Tokens()
    flow = SparqlFlows(authorization=tokens).query(URL, ASKED)

    assert next(flow) == Authorize(tokens, None)
    assert flow.send(Token("one")).headers["authorization"] == "Bearer one"


@pytest.mark.parametrize("operation", ["query", "update"])
def test_what_is_refused_for_its_token_is_repeated_once_with_another(operation):
    """Updates too: a 401 says that nothing was done."""
    tokens = Tokens("one")
    flows = SparqlFlows(authorization=tokens)
    flow = flows.query(URL, ASKED) if operation == "query" else flows.update(URL, Update("CLEAR ALL"))
    assert next(flow).headers["authorization"] == "Bearer one"

    assert flow.send(Reply(401)) == Authorize(tokens, "one")
    assert flow.send(Token("two")).headers["authorization"] == "Bearer two"
    with pytest.raises(BrokerRefused) as raised:
        flow.send(Reply(401, {}, b'{"error":"invalid_grant","status_code":401,"error_description":"no"}'))
    assert (raised.value.code, raised.value.status) == ("invalid_grant", 401)


def test_a_token_that_somebody_else_renewed_is_used_at_once():
    """Nothing is fetched for it."""
    tokens = Tokens("one")
    flow = SparqlFlows(authorization=tokens).query(URL, ASKED)
    next(flow)
    tokens.text = "two"

    assert flow.send(Reply(401)).headers["authorization"] == "Bearer two"


@pytest.mark.parametrize("token", [None, "always"])
def test_the_same_token_is_not_sent_twice(token):
    """A function that has no other one, or none."""
    flow = SparqlFlows(authorization=lambda: token).query(URL, ASKED)
    next(flow)

    with pytest.raises(BrokerRefused):
        flow.send(Reply(401))


def test_what_is_forbidden_is_told_at_once():
    """Another token would not help."""
    flow = SparqlFlows(authorization=Tokens("one")).query(URL, ASKED)
    next(flow)

    with pytest.raises(BrokerRefused) as raised:
        flow.send(Reply(403))
    assert raised.value.status == 403


def test_a_refused_token_is_still_refused_after_a_busy_broker():
    """The wait between does not begin it anew."""
    tokens = Tokens("one")
    flow = SparqlFlows(authorization=tokens).query(URL, ASKED)
    next(flow)
    flow.send(Reply(401))
    flow.send(Token("two"))
    tokens.text = "two"

    assert flow.send(Reply(503)) == Wait(0.5)
    assert next(flow).headers["authorization"] == "Bearer two"
    with pytest.raises(BrokerRefused):
        flow.send(Reply(401))


def test_a_token_is_in_no_repr():
    """Of what travels."""
    flow = SparqlFlows(authorization=lambda: "t0ken").query(URL, ASKED)

    assert "t0ken" not in repr(next(flow)) + repr(Token("t0ken")) + repr(Authorize(Tokens(), "t0ken"))
