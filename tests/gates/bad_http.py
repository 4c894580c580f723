"""Requests that are wrong in one way each: what is sent, the status, and words of the sentence that helps."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from urllib.parse import quote, urlencode

FORM, QUERY, UPDATE = (
    "application/x-www-form-urlencoded",
    "application/sparql-query",
    "application/sparql-update",
)
TURTLE = "text/turtle"
STORE = "/rdf-graph-store"
BODY_BYTES, QUERY_CHARS = 50_000, 20_000


@dataclass(frozen=True)
class Case:
    """One request, as bytes."""

    name: str
    request: bytes
    status: int
    says: str


def get(target: str, *headers: str, method: str = "GET") -> bytes:
    lines = [f"{method} {target} HTTP/1.1", "Host: localhost", *headers, "", ""]
    return "\r\n".join(lines).encode()


def asked(sparql: str, **parameters: str) -> bytes:
    """A query by GET."""
    return get(f"/query?{urlencode({'query': sparql} | parameters, quote_via=quote)}")


def post(path: str, body: str | bytes, media_type: str | None, *headers: str, method: str = "POST") -> bytes:
    data = body.encode() if isinstance(body, str) else body
    typed = [f"Content-Type: {media_type}"] if media_type else []
    return get(path, *typed, f"Content-Length: {len(data)}", *headers, method=method) + data


def posted(sparql: str) -> bytes:
    """A direct update."""
    return post("/update", sparql, UPDATE)


def form(path: str, *pairs: tuple[str, str]) -> bytes:
    return post(path, urlencode(pairs), FORM)


PARSING = "Parsing failed: line 1, column"
QUERIES = [
    ("empty", "", PARSING),
    ("one word", "SELECT", PARSING),
    ("unclosed brace", "SELECT * { ?s ?p ?o", PARSING),
    ("brace too many", "SELECT * { ?s ?p ?o } }", PARSING),
    ("unclosed string", "SELECT * { ?s ?p 'x }", PARSING),
    ("unclosed IRI", "SELECT * { ?s <http://ex/p ?o }", PARSING),
    ("space in an IRI", "SELECT * { <http://e x/> ?p ?o }", PARSING),
    ("unknown prefix", "SELECT * { ?s nope:p ?o }", "Prefix not found"),
    ("bad escape", r"SELECT * { ?s ?p '\q' }", PARSING),
    ("escaped surrogate", r"SELECT * { ?s ?p '\uD800' }", "Parsing failed"),
    ("two queries", "ASK {} ASK {}", PARSING),
    ("negative limit", "SELECT * { ?s ?p ?o } LIMIT -1", PARSING),
    ("endless limit", "SELECT * { ?s ?p ?o } LIMIT 99999999999999999999999999", PARSING),
    ("ungrouped variable", "SELECT ?s (COUNT(*) AS ?n) { ?s ?p ?o } GROUP BY ?p", "Parsing failed"),
    ("name given twice", "SELECT (1 AS ?x) (2 AS ?x) {}", "Parsing failed"),
    ("bound already", "SELECT * { ?s ?p ?o BIND(1 AS ?o) }", "Parsing failed"),
    ("control characters", "\x01\x02\x7f", PARSING),
    ("nul", "ASK { ?s ?p ?o }\0", PARSING),
    ("nul in an IRI", "ASK { <http://ex/\0> ?p ?o }", PARSING),
    ("an update", "DROP ALL", "this is an update, where a query is expected"),
    ("an update after a prologue", "PREFIX a: <http://a/> INSERT DATA {}", "this is an update"),
    ("unknown function", "SELECT (<http://ex/f>(1) AS ?x) {}", "the query failed"),
    (
        "SERVICE",
        "ASK { SERVICE <http://127.0.0.1:1/> { ?s ?p ?o } }",
        "SERVICE <http://127.0.0.1:1/> is not allowed",
    ),
    ("SERVICE SILENT", "ASK { SERVICE SILENT <http://ex/> { ?s ?p ?o } }", "sparql.service_hosts"),
    ("SERVICE of a variable", "ASK { VALUES ?x { <http://ex/> } SERVICE ?x {} }", "sparql.service_hosts"),
]
UPDATES = [
    ("one word", "INSERT", PARSING),
    ("a query", "SELECT * { ?s ?p ?o }", "an update is expected here"),
    ("variable in data", "INSERT DATA { ?s ?p ?o }", PARSING),
    ("literal subject", "INSERT DATA { 'x' <p> <o> }", PARSING),
    ("blank node to delete", "DELETE DATA { _:b <p> <o> }", "Parsing failed"),
    ("insert without where", "INSERT { ?s ?p ?o }", PARSING),
    ("half an operation at the end", "INSERT DATA { <s> <p> 1 }; DELETE", PARSING),
    ("no separator", "INSERT DATA { <s> <p> 1 } INSERT DATA { <s> <p> 2 }", PARSING),
    ("graph that is not there", "DROP GRAPH <http://ex/none>", "http://ex/none"),
    ("graph made twice", "CREATE GRAPH <http://ex/twice>; CREATE GRAPH <http://ex/twice>", "http://ex/twice"),
    ("LOAD", "LOAD <http://127.0.0.1:1/>", "LOAD <http://127.0.0.1:1/> is not allowed"),
    ("LOAD of a file", "LOAD <file:///etc/passwd>", "sparql.load_hosts"),
    ("LOAD after a good operation", "INSERT DATA { <s> <p> 1 }; LOAD <http://ex/>", "sparql.load_hosts"),
    ("SERVICE", "INSERT { ?s ?p ?o } WHERE { SERVICE <http://ex/> { ?s ?p ?o } }", "sparql.service_hosts"),
]
PROTOCOL = [
    Case("no parameter", post("/query", "", FORM), 400, "the parameter query is missing"),
    Case("no parameter to update", post("/update", "", FORM), 400, "the parameter update is missing"),
    Case("another parameter", get("/query?sparql=ASK"), 400, "the parameter query is missing"),
    Case("query twice", get("/query?query=ASK%7B%7D&query=ASK%7B%7D"), 400, "query is given 2 times"),
    Case("update twice", form("/update", ("update", ""), ("update", "")), 400, "update is given 2 times"),
    Case("query and update", form("/sparql", ("update", ""), ("query", "")), 400, "both query and update"),
    Case(
        "update on the query path",
        form("/query", ("update", "DROP ALL")),
        400,
        "update belongs on the update path",
    ),
    Case(
        "query on the update path",
        form("/update", ("query", "ASK {}")),
        400,
        "query belongs on the query path",
    ),
    Case("update in the URL", get("/sparql?update=DROP%20ALL"), 400, "an update is posted"),
    Case("update by GET", get("/update?update=DROP%20ALL"), 405, "GET is not a way to update; POST is"),
    Case("query by PUT", post("/query", "ASK {}", QUERY, method="PUT"), 405, "PUT is not a way to query"),
    Case("query by DELETE", get("/query?query=ASK", method="DELETE"), 405, "not a way to query"),
    Case("query by TRACE", get("/query", method="TRACE"), 405, "TRACE is not a way to query"),
    Case(
        "text/plain", post("/query", "ASK {}", "text/plain"), 415, f"a query is posted as {QUERY} or {FORM}"
    ),
    Case("no media type", post("/query", "ASK {}", None), 415, "not as nothing"),
    Case(
        "no media type to update", post("/update", "DROP ALL", None), 415, f"an update is posted as {UPDATE}"
    ),
    Case(
        "two media types",
        post("/query", "ASK {}", QUERY, f"Content-Type: {UPDATE}"),
        415,
        f"{QUERY}, {UPDATE}",
    ),
    Case("update as query", post("/query", "DROP ALL", UPDATE), 415, f"not as {UPDATE}"),
    Case("query as update", post("/update", "ASK {}", QUERY), 415, f"not as {QUERY}"),
    Case("media type without sense", post("/query", "ASK {}", ";;;=,"), 415, "a query is posted as"),
    Case(
        "multipart query",
        post("/query", "--x--", "multipart/form-data; boundary=x"),
        415,
        "multipart/form-data",
    ),
    Case(
        "body in a coding",
        post("/query", "ASK {}", QUERY, "Content-Encoding: br"),
        415,
        "br is not read here",
    ),
    Case(
        "body in two codings",
        post("/query", "ASK {}", QUERY, "Content-Encoding: gzip, gzip"),
        415,
        "gzip, gzip is not read here",
    ),
    Case(
        "body not compressed",
        post("/query", "ASK {}", QUERY, "Content-Encoding: gzip"),
        400,
        "the body is not gzip",
    ),
    Case(
        "half a compressed body",
        post("/query", gzip.compress(b"ASK {}")[:-4], QUERY, "Content-Encoding: gzip"),
        400,
        "it ends in the middle",
    ),
    Case(
        "bomb",
        post("/update", gzip.compress(bytes(BODY_BYTES * 100)), UPDATE, "Content-Encoding: gzip"),
        413,
        f"over {BODY_BYTES} bytes",
    ),
    Case(
        "Latin-1",
        post("/query", "ASK {}", f"{QUERY}; charset=ISO-8859-1"),
        415,
        "must be UTF-8, not ISO-8859-1",
    ),
    Case("body not UTF-8", post("/query", b"ASK {\xff}", QUERY), 400, "not UTF-8: byte 5 is wrong"),
    Case("update not UTF-8", post("/update", b"\xc3\x28", UPDATE), 400, "not UTF-8: byte 0 is wrong"),
    Case("form not UTF-8", post("/query", b"query=\xff", FORM), 400, "not UTF-8"),
    Case("URL not UTF-8", get("/query?query=%ff%fe"), 400, "the parameters of the URL are not UTF-8"),
    Case(
        "form's escapes not UTF-8",
        post("/query", "query=%C3%28", FORM),
        400,
        "the parameters of the form are not",
    ),
    Case("escaped surrogate", get("/query?query=%ED%A0%80"), 400, "not UTF-8"),
    Case("bad escapes", get("/query?query=%zz%1"), 400, PARSING),
    Case("too many parameters", get("/query?" + "&".join("x" * 1001)), 400, "more than 1000 parameters"),
    Case("body too large", post("/update", "#" * (BODY_BYTES + 1), UPDATE), 413, "limits.body_bytes"),
    Case(
        "form too large", post("/query", "query=" + "+" * BODY_BYTES, FORM), 413, f"over {BODY_BYTES} bytes"
    ),
    Case(
        "document too large",
        post(f"{STORE}?default", "#" * (BODY_BYTES + 1), TURTLE),
        413,
        "limits.body_bytes",
    ),
    Case(
        "chunks too large",
        get("/update", f"Content-Type: {UPDATE}", "Transfer-Encoding: chunked", method="POST")
        + b"4000\r\n"
        + b"#" * 0x4000
        + b"\r\n"
        + b"C000\r\n"
        + b"#" * 0xC000
        + b"\r\n0\r\n\r\n",
        413,
        "limits.body_bytes",
    ),
    Case("query too long", post("/query", "ASK {}" + " " * QUERY_CHARS, QUERY), 413, "limits.query_chars"),
    Case("query too complex", asked("ASK { FILTER(" + "(" * 1000), 400, "limits.nesting"),
    Case(
        "no format suits",
        get("/query?query=ASK%7B%7D", "Accept: text/turtle"),
        406,
        "application/sparql-results+json",
    ),
    Case("no format of the description", get("/sparql", "Accept: text/csv"), 406, "text/turtle"),
    Case("Host without sense", get("/sparql").replace(b"localhost", b"<a b>"), 400, "not a host and port"),
    Case("half a Host", get("/sparql").replace(b"localhost", b"[::1"), 400, "is not an IRI"),
    Case("Host with a path", get("/sparql").replace(b"localhost", b"a/b"), 400, "not a host and port"),
    Case("two Hosts", get("/sparql", "Host: other"), 400, "not a host and port"),
    Case("nul in a header", get("/query?query=ASK%7B%7D", "X: \0"), 400, "not an HTTP request"),
    Case("bare line feed in a header", get("/query?query=ASK%7B%7D", "X: a\rb"), 400, "not an HTTP request"),
    Case("unknown path", get("/nowhere"), 404, "there are /query, /update"),
    Case("path of bytes", get("/%00%ff"), 404, "there are /query, /update"),
    Case(
        "events for an update",
        get("/subscribe?query=DROP%20ALL", "Accept: text/event-stream"),
        400,
        "an update",
    ),
    Case("events not accepted", get("/subscribe?query=ASK%7B%7D"), 406, "text/event-stream"),
    Case("events by DELETE", get("/subscribe", method="DELETE"), 405, "not a way to subscribe"),
]
CASES = [
    *(Case(f"query: {name}", asked(sparql), 400, says) for name, sparql, says in QUERIES),
    *(Case(f"update: {name}", posted(sparql), 400, says) for name, sparql, says in UPDATES),
    *(Case(f"protocol: {case.name}", case.request, case.status, case.says) for case in PROTOCOL),
]
