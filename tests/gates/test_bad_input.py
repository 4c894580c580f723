"""Whatever comes in, the sender is told what is wrong with it, and the broker answers the next as if nothing had been."""

from __future__ import annotations

import json

import pytest
from support.raw import Raw, exchange
from support.sparql import Sparql
from support.subscriber import Subscriber

from . import bad_graphs, bad_http, bad_messages

pytestmark = pytest.mark.xdist_group("gates-bad-input")

KEPT = "INSERT DATA { <http://ex/kept> <http://ex/p> 1 }"


@pytest.fixture(scope="module")
def picky(broker_with):
    """A broker with small limits; whatever was sent to it, its log must have no error in it."""
    running = broker_with(
        f"limits.body_bytes={bad_http.BODY_BYTES}", f"limits.query_chars={bad_http.QUERY_CHARS}"
    )
    pid = running.process.pid
    yield running
    assert running.process.pid == pid
    assert " ERROR " not in running.log
    assert "Traceback" not in running.log


@pytest.fixture(scope="module")
def witness(picky):
    """Another client, who sees that nothing has changed."""
    with Sparql(picky.http) as client:
        client.update(KEPT)
        yield client


@pytest.fixture(scope="module")
def listener(picky, witness):
    """A socket on which all the bad messages come, and which goes on."""
    with Subscriber(picky.ws) as client:
        yield client


@pytest.mark.parametrize("case", [*bad_http.CASES, *bad_graphs.CASES], ids=lambda case: case.name)
def test_a_bad_request_is_refused_with_a_sentence_that_helps(picky, witness, case):
    """The status, SEPA's three members, and nothing has changed."""
    status, headers, body = exchange(picky.http, case.request)

    told = json.loads(body)
    assert status == case.status, told
    assert case.says in told["error_description"]
    assert set(told) == {"error", "status_code", "error_description"}
    assert told["status_code"] == status
    assert headers["content-type"].startswith("application/json")
    assert witness.rows("SELECT ?s { ?s ?p ?o }") == [{"s": "http://ex/kept"}]


@pytest.mark.parametrize("case", bad_messages.CASES, ids=lambda case: case.name)
def test_a_bad_message_is_refused_with_a_sentence_that_helps(witness, listener, case):
    """The code, the alias, and the socket goes on."""
    listener.say(case.message)

    told = listener.hear()
    assert told["error"] == case.error, told
    assert case.says in told["error_description"]
    assert told.get("alias") == case.alias
    assert isinstance(told["status_code"], int)
    assert 400 <= told["status_code"] <= 500
    spuid = listener.subscribe("ASK { <http://ex/kept> ?p ?o }")["spuid"]
    assert listener.exchange({"unsubscribe": {"spuid": spuid}}) == {"unsubscribed": {"spuid": spuid}}
    assert witness.rows("SELECT ?s { ?s ?p ?o }") == [{"s": "http://ex/kept"}]


def test_bytes_that_are_cut_off_anywhere_harm_nobody(picky, witness):
    """A good request that ends after any of its bytes, with the connection."""
    whole = bad_http.post("/update", "DROP ALL", bad_http.UPDATE)
    for end in range(len(whole)):
        with Raw(picky.http) as raw:
            raw.send(whole[:end])

    assert witness.rows("SELECT ?s { ?s ?p ?o }") == [{"s": "http://ex/kept"}]
