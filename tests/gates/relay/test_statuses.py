"""What nodes and trackers tell each other comes over the wire as it was, and anything else is refused with its place."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.any_json import any_json
from support.simulated_nodes import a_status

from triplewire.broker.errors import MalformedRequest, ProtocolError
from triplewire.gates.relay.statuses import (
    Instructions,
    Neighbour,
    Status,
    StatusLimits,
    StreamInstructions,
    StreamStatus,
)

LIMITS = StatusLimits(streams=8, neighbours=8)

words = st.text("abcXYZ019_-", min_size=1, max_size=12)
nodes = st.from_regex(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,10}", fullmatch=True)
counts = st.integers(0, 2**53 - 1)
stream_names = st.from_regex(r"[A-Za-z0-9_-]{2,10}", fullmatch=True).filter(
    lambda name: name not in {"streams", "secure"}
)
stream_statuses = st.builds(
    StreamStatus,
    epoch=st.just("") | words,
    counter=counts,
    neighbours=st.dictionaries(nodes.map("peer-".__add__), st.none() | st.floats(0, 60_000), max_size=8),
    consumers=counts,
    publishes=st.booleans(),
)
published = st.builds(
    replace,
    stream_statuses,
    key=st.from_regex(r"[A-Za-z0-9_-]{43}", fullmatch=True),
    proof=st.from_regex(r"[A-Za-z0-9_-]{86}", fullmatch=True),
)
statuses = st.builds(
    a_status,
    node=nodes,
    instance=words,
    region=st.text(st.characters(blacklist_categories=["Cc", "Cs"]), max_size=64),
    capacity=counts,
    streams_at=st.sampled_from(["", "http://h", "https://h.example:1/under/a/proxy", "http://[::1]:8001"]),
    number=counts,
    carries=st.lists(stream_names, max_size=8).map(tuple),
    streams=st.dictionaries(stream_names, stream_statuses | published, max_size=8),
)


@given(statuses)
def test_a_status_comes_as_it_was_sent(status):
    """Whatever it says."""
    assert Status.read(status.node, status.encode(), LIMITS) == status


neighbours = st.builds(
    Neighbour, nodes, st.sampled_from(["ws://a:1/links", "wss://[2001:db8::1]/x/links"]), st.text(max_size=40)
)
instructions = st.builds(
    Instructions,
    words,
    st.floats(0, 3600),
    st.dictionaries(
        stream_names,
        st.builds(
            StreamInstructions,
            counts,
            st.lists(neighbours, max_size=8).map(tuple),
            st.text(max_size=40),
            st.floats(0, 1e6),
            st.text(max_size=40),
            counts,
        ),
        max_size=8,
    ),
)


@given(instructions)
def test_instructions_come_as_they_were_sent(sent):
    """In one line, as an event's data has to be."""
    body = sent.encode()
    assert b"\n" not in body
    assert Instructions.read(body, LIMITS) == sent
    assert Instructions.read(body.decode(), LIMITS) == sent


def test_a_tickets_text_is_in_no_log():
    """Neither does a certificate's stand in what Python shows of instructions."""
    said = Instructions("e", 3.0, {"S": StreamInstructions(1, (Neighbour("n", "ws://h", "tkt"),), "crt")})
    assert "tkt" not in repr(said)
    assert "crt" not in repr(said)


def test_one_neighbour_alone():
    """As an answer of its own."""
    neighbour = Neighbour("n", "ws://h:1/links", "t")
    assert Neighbour.read(json.dumps(neighbour.document())) == neighbour
    with pytest.raises(ProtocolError, match=r"^links_at: expected a URL"):
        Neighbour.read(b'{"node": "n", "links_at": "http://h", "ticket": ""}')


def changed(path, value):
    """A good status but for one member."""
    document = json.loads(a_status("n", streams={"S": StreamStatus("e", 1, {"m": 1.0})}).encode())
    *above, last = path
    found = document
    for name in above:
        found = found[name]
    if value is ...:
        del found[last]
    else:
        found[last] = value
    return json.dumps(document).encode()


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (["instance"], ..., "instance: expected"),
        (["instance"], "", "instance: expected"),
        (["instance"], 7, "instance: expected"),
        (["instance"], "a b", "instance: expected"),
        (["number"], -1, "number: expected a whole number"),
        (["number"], 1.5, "number: expected a whole number"),
        (["number"], True, "number: expected a whole number"),
        (["number"], 2**53, "number: expected a whole number"),
        (["region"], "a\nb", "region: expected"),
        (["region"], "x" * 65, "region: expected"),
        (["region"], "\ud800", "region: expected"),
        (["links_at"], "http://h", "links_at: expected a URL (ws, wss)"),
        (["links_at"], "ws://", "links_at: expected a URL"),
        (["links_at"], "ws://user@h", "links_at: expected a URL"),
        (["links_at"], "ws://h?x=1", "links_at: expected a URL"),
        (["links_at"], "ws://h:99999", "links_at: expected a URL"),
        (["links_at"], "ws://h:0", "links_at: expected a URL"),
        (["links_at"], "ws://[::1", "links_at: expected a URL"),
        (["links_at"], "ws://h/" + "x" * 300, "links_at: expected a URL"),
        (
            ["links_at"],
            ...,
            "links_at: expected a URL (ws, wss) with a host, and no user, query or fragment, not nothing",
        ),
        (["streams_at"], "ftp://h", "streams_at: expected a URL (http, https)"),
        (["streams_at"], "http://h\r\nX: y", "streams_at: expected a URL"),
        (["capacity"], "many", "capacity: expected a whole number"),
        (["carries"], ["S", ".."], "carries[1]: '..' is no name of a stream"),
        (["carries"], ["S"] * 9, "carries: expected a list of at most 8"),
        (["streams"], [], "streams: expected an object"),
        (["streams", "a/b"], {}, "streams: 'a/b' is no name of a stream"),
        (["streams", "S"], 1, "streams.S: expected a JSON object"),
        (["streams", "S", "counter"], None, "streams.S.counter: expected"),
        (["streams", "S", "key"], "A" * 42, "streams.S.key: expected an Ed25519 public key"),
        (["streams", "S", "key"], "A" * 43, "streams.S.proof: expected an Ed25519 signature"),
        (["streams", "S", "proof"], "A" * 86, "streams.S.proof: expected an Ed25519 signature"),
        (["streams", "S", "proof"], "A" * 85, "streams.S.proof: expected an Ed25519 signature"),
        (["streams", "S", "publishes"], 1, "streams.S.publishes: expected true or false"),
        (["streams", "S", "consumers"], -1, "streams.S.consumers: expected"),
        (["streams", "S", "neighbours"], ["m"], "streams.S.neighbours: expected an object"),
        (["streams", "S", "neighbours", "n"], 1, "streams.S.neighbours: 'n' is no other node's id"),
        (["streams", "S", "neighbours", "a b"], 1, "streams.S.neighbours: 'a b' is no other node's id"),
        (
            ["streams", "S", "neighbours", "m"],
            -0.1,
            "streams.S.neighbours.m: expected null or a number of ms",
        ),
        (["streams", "S", "neighbours", "m"], 60_001, "streams.S.neighbours.m: expected"),
        (["streams", "S", "neighbours", "m"], float("nan"), "streams.S.neighbours.m: expected"),
        (["streams", "S", "neighbours", "m"], float("inf"), "streams.S.neighbours.m: expected"),
        (["streams", "S", "neighbours", "m"], False, "streams.S.neighbours.m: expected"),
        (["streams", "S", "neighbours", "m"], 10**400, "streams.S.neighbours.m: expected"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(path, value, said):
    """So that whoever writes a node finds it."""
    with pytest.raises(MalformedRequest, match="^" + re.escape(said)):
        Status.read("n", changed(path, value), LIMITS)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "the body is not JSON"),
        (b"\xff", "the body is not JSON"),
        (b"[]", "the body: expected a JSON object, not list"),
        (b'"\\ud800"', "the body: expected a JSON object"),
        (b"[" * 100_000, "the JSON is nested too deeply"),
        (b"[" + b"[]," * 60_000 + b"1]", "the JSON has more than"),
    ],
)
def test_what_is_no_object_is_said_so(body, said):
    """And bodies that would take long are not read at all."""
    with pytest.raises(MalformedRequest, match="^" + re.escape(said)):
        Status.read("n", body, LIMITS)


def test_more_than_a_status_may_say():
    """Streams, and neighbours in each."""
    many = {f"s{number}": StreamStatus() for number in range(9)}
    with pytest.raises(MalformedRequest, match=r"^streams: expected an object of at most 8"):
        Status.read("n", a_status("n", streams=many).encode(), LIMITS)
    crowd = {"S": StreamStatus(neighbours={f"m{number}": 1.0 for number in range(9)})}
    with pytest.raises(MalformedRequest, match=r"^streams\.S\.neighbours: expected an object of at most 8"):
        Status.read("n", a_status("n", streams=crowd).encode(), LIMITS)


@pytest.mark.parametrize("node", ["", ".", "..", "a/b", "a b", "x" * 65, "é"])
def test_a_nodes_id_is_part_of_urls(node):
    """So it has to be one."""
    with pytest.raises(MalformedRequest, match="is no node's id"):
        Status.read(node, a_status("n").encode(), LIMITS)


anything = any_json(words)
PLACES = [
    [name]
    for name in (
        "instance",
        "number",
        "region",
        "links_at",
        "streams_at",
        "capacity",
        "carries",
        "streams",
    )
] + [
    ["streams", "S"],
    *[
        ["streams", "S", name]
        for name in ("epoch", "counter", "neighbours", "consumers", "publishes", "key", "proof")
    ],
    ["streams", "S", "neighbours", "m"],
]


def refusal(read, body, error):
    """Why a body was refused; None where it was read."""
    try:
        read(body)
    except error as found:
        return str(found)
    return None


@given(st.sampled_from(PLACES), anything)
def test_any_json_in_any_place_is_a_status_or_an_error_that_can_be_sent(path, value):
    """And never anything else."""
    body = changed(path, value)
    said = refusal(lambda body: Status.read("n", body, LIMITS), body, MalformedRequest)
    if said is None:
        status = Status.read("n", body, LIMITS)
        assert Status.read("n", status.encode(), LIMITS) == status
    else:
        assert said.encode()
        assert len(said) < 500


@given(anything)
def test_any_json_is_refused_or_instructions(value):
    """By ProtocolError: a tracker's bytes are no request."""
    body = json.dumps({"epoch": "e", "heartbeat_s": 3, "streams": {"S": value}})
    said = refusal(lambda body: Instructions.read(body, LIMITS), body, ProtocolError)
    assert said is None or said.startswith("streams.S")
