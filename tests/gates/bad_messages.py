"""WebSocket messages that are wrong in one way each: what is sent, the error's code, and words of its sentence."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

JSON, SHAPE = "JsonParseException", "Exception"
DEEP = 100_000


@dataclass(frozen=True)
class Case:
    """One message; `alias` is what the error must echo."""

    name: str
    message: str | bytes
    error: str
    says: str
    alias: str | None = None


def subscribe(**members: Any) -> str:
    return json.dumps({"subscribe": {"alias": "a"} | members})


def query(name: str, sparql: str, says: str, error: str = "parsing failed") -> Case:
    return Case(f"subscribe: {name}", subscribe(sparql=sparql), error, says, "a")


CASES = [
    Case("empty", "", JSON, "not JSON"),
    Case("no JSON", "hello", JSON, "not JSON"),
    Case("half of it", '{"subscribe":', JSON, "not JSON"),
    Case("more than it", '{"subscribe":{"sparql":"ASK {}"}} x', JSON, "Extra data"),
    Case("an array", "[]", JSON, "must be a JSON object"),
    Case("null", "null", JSON, "must be a JSON object"),
    Case("a number", "42", JSON, "must be a JSON object"),
    Case("a number without end", "1" * 10_000, JSON, "not JSON"),
    Case("nul", "\0", JSON, "not JSON"),
    Case("byte order mark", '\ufeff{"subscribe":{}}', JSON, "not JSON"),
    Case("a binary frame", b'{"subscribe":{"sparql":"ASK {}"}}', JSON, "must be text frames"),
    Case("binary rubbish", b"\x00\xff", JSON, "must be text frames"),
    Case("deep arrays", "[" * DEEP, JSON, "nested too deeply"),
    Case("deep objects", '{"a":' * DEEP + "1" + "}" * DEEP, JSON, "nested too deeply"),
    Case(
        "deep member",
        '{"subscribe":{"sparql":"ASK {}","x":' + "[" * DEEP + "]" * DEEP + "}}",
        JSON,
        "too deeply",
    ),
    Case("no member", "{}", "unsupported", "must have the member subscribe or unsubscribe"),
    Case("another member", '{"publish":1,"alias":"a"}', "unsupported", "it has ['alias', 'publish']", "a"),
    Case("subscribe of null", '{"subscribe":null}', SHAPE, "must be an object"),
    Case("subscribe of a text", '{"subscribe":"ASK {}"}', SHAPE, "must be an object"),
    Case("subscribe of an array", '{"subscribe":["ASK {}"]}', SHAPE, "must be an object"),
    Case("no sparql", subscribe(), SHAPE, "sparql member not found", "a"),
    Case("sparql of null", subscribe(sparql=None), SHAPE, "must be a string", "a"),
    Case("sparql of a number", subscribe(sparql=1), SHAPE, "must be a string", "a"),
    Case("sparql of an array", subscribe(sparql=["ASK {}"]), SHAPE, "must be a string", "a"),
    Case("alias of a number", subscribe(sparql="", alias=7), "parsing failed", "Parsing failed"),
    Case(
        "graphs of a number",
        subscribe(sparql="ASK {}", **{"default-graph-uri": 1}),
        SHAPE,
        "array of IRIs",
        "a",
    ),
    Case(
        "graphs of numbers",
        subscribe(sparql="ASK {}", **{"named-graph-uri": [1]}),
        SHAPE,
        "array of IRIs",
        "a",
    ),
    Case(
        "graphs of an object",
        subscribe(sparql="ASK {}", **{"named-graph-uri": {"a": 1}}),
        SHAPE,
        "array of IRIs",
        "a",
    ),
    Case(
        "relative graph",
        subscribe(sparql="ASK {}", **{"default-graph-uri": "g"}),
        "bad_request",
        "absolute IRI",
        "a",
    ),
    Case(
        "graph with a space",
        subscribe(sparql="ASK {}", **{"named-graph-uri": ["u:a b"]}),
        "bad_request",
        "absolute",
        "a",
    ),
    Case("unsubscribe of null", '{"unsubscribe":null,"alias":"a"}', SHAPE, "spuid member not found", "a"),
    Case("no spuid", '{"unsubscribe":{"alias":"a"}}', SHAPE, "spuid member not found", "a"),
    Case("spuid of a number", '{"unsubscribe":{"spuid":1}}', SHAPE, "must be a string"),
    Case(
        "unknown spuid",
        '{"unsubscribe":{"spuid":"x","alias":"a"}}',
        "sid_not_found",
        "no subscription x",
        "a",
    ),
    Case("empty spuid", '{"unsubscribe":{"spuid":""}}', "sid_not_found", "no subscription"),
    Case("spuid without end", json.dumps({"unsubscribe": {"spuid": "x" * 9999}}), "sid_not_found", "xxx"),
    query("empty", "", "Parsing failed"),
    query("one word", "SELECT", "line 1, column"),
    query("unclosed", "SELECT * { ?s ?p ?o", "line 1, column"),
    query("unknown prefix", "SELECT * { ?s nope:p ?o }", "Prefix not found"),
    query("nul", "ASK {}\0", "Parsing failed"),
    query("an update", "INSERT DATA { <s> <p> 1 }", "this is an update, where a query is expected"),
    query("SERVICE", "ASK { SERVICE <http://ex/> {} }", "sparql.service_hosts", "unsupported"),
    query("too complex", "ASK { FILTER(" + "(" * 1000, "limits.nesting", "too_complex"),
    query("too long", "ASK {}" + " " * 20_000, "limits.query_chars", "too_large"),
    query("unknown function", "SELECT (<http://ex/f>(1) AS ?x) {}", "the query failed", "query_failed"),
]
