"""Any text, any bytes, any JSON: an answer, never an error of the broker's own, and never its end."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.raw import Raw
from support.subscriber import Subscriber

pytestmark = pytest.mark.xdist_group("gates-bad-input-properties")

ANY = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
WORDS = [
    "SELECT",
    "ASK",
    "*",
    "?x",
    "{",
    "}",
    "(",
    ")",
    "<a>",
    "a:b",
    "'x'",
    ".",
    ";",
    ",",
    "WHERE",
    "FILTER",
    "UNION",
]
WORDS += [
    "OPTIONAL",
    "GRAPH",
    "INSERT",
    "DELETE",
    "DATA",
    "WITH",
    "USING",
    "VALUES",
    "BIND",
    "AS",
    "<<(",
    ")>>",
    "1",
    "#",
]
words = st.lists(st.sampled_from(WORDS), max_size=15).map(" ".join)
texts = st.one_of(st.text(), words)
names = st.sampled_from(
    ["subscribe", "unsubscribe", "sparql", "alias", "spuid", "default-graph-uri", "authorization"]
)
values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), texts, st.text(st.characters())),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(names, inner, max_size=4)),
    max_leaves=10,
)
messages = st.one_of(
    texts, values.map(json.dumps), st.dictionaries(names, values, max_size=3).map(json.dumps)
)


@pytest.fixture(scope="module")
def listener(broker):
    """One socket for all messages."""
    with Subscriber(broker.ws) as client:
        yield client


@pytest.fixture(scope="module", autouse=True)
def unharmed(broker):
    """The log has no error of the broker's own in it."""
    yield
    assert broker.alive
    assert " ERROR " not in broker.log
    assert "Traceback" not in broker.log


@ANY
@given(texts)
def test_any_text_as_a_query_is_answered(sparql, text):
    """With its results, or with what is wrong with it."""
    response = sparql.query(text.encode("utf-8", "surrogatepass"))

    assert response.status_code in {200, 400, 413}, response.text


@ANY
@given(texts)
def test_any_text_as_an_update_is_answered(sparql, text):
    """The same."""
    assert sparql.try_update(text.encode("utf-8", "surrogatepass")).status_code in {200, 400, 413}


@ANY
@given(messages)
def test_any_text_as_a_message_is_answered_once(listener, text):
    """By a notification, an end, or an error; then the next."""
    heard = listener.exchange(text)

    assert set(heard) & {"notification", "unsubscribed", "error"}
    if "error" in heard:
        assert 400 <= heard["status_code"] <= 500
        assert "internal error" not in heard["error_description"]


@ANY
@given(st.one_of(st.binary(), st.binary().map(lambda data: b"GET /query HTTP/1.1\r\n" + data)))
def test_any_bytes_harm_nobody(broker, sparql, data):
    """On either port."""
    for url in (broker.http, broker.ws.replace("ws", "http", 1)):
        with Raw(url) as raw:
            raw.send(data)

    assert sparql.ask("ASK {}")
