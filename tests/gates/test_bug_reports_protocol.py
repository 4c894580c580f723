"""What users of other SPARQL endpoints reported, asked of this one; each test names its report."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from support.raw import Raw, exchange
from support.running import RunningBroker
from support.sparql import QUERY, UPDATE, Sparql
from support.subscriber import Subscriber, values

pytestmark = pytest.mark.xdist_group("gates-bug-reports-protocol")

FORM = "application/x-www-form-urlencoded"
INCREMENT = "DELETE { <c> <n> ?n } INSERT { <c> <n> ?m } WHERE { <c> <n> ?n BIND(?n + 1 AS ?m) }"


@pytest.fixture(autouse=True)
def empty(sparql):
    """Nothing is there."""
    sparql.update("DROP ALL")


def together(url, *works):
    """Do all of it at the same time, each with a client of its own."""

    def run(work):
        with Sparql(url, timeout_s=60) as client:
            return work(client)

    with ThreadPoolExecutor(len(works)) as pool:
        return list(pool.map(run, works))


# RDFLib/rdflib#2420, dracor-org/dracor-api#56
@pytest.mark.parametrize(
    ("path", "media_type", "body"),
    [
        ("/update", f"{UPDATE}; charset=UTF-8", "INSERT DATA { <s> <p> 'é' }"),
        ("/update", f"{FORM}; charset=UTF-8", "update=INSERT+DATA+%7B+%3Cs%3E+%3Cp%3E+%27%C3%A9%27+%7D"),
        ("/query", 'Application/SPARQL-Query;charset="utf-8"', "ASK {}"),
        ("/query", f"{FORM};charset=utf-8", "query=ASK+%7B%7D"),
    ],
)
def test_a_charset_is_no_other_media_type(sparql, path, media_type, body):
    """It was 400."""
    assert sparql.http.post(path, content=body, headers={"Content-Type": media_type}).status_code == 200
    assert sparql.ask("ASK { <s> <p> 'é' }") == (path == "/update")


# RDFLib/rdflib#919
@pytest.mark.parametrize(
    ("path", "body"), [("/update", "DROP ALL"), ("/query", "ASK {}"), ("/sparql", "DROP ALL")]
)
def test_a_body_without_media_type_is_not_carried_out(broker, sparql, path, body):
    """415 with the media types that are."""
    sparql.update("INSERT DATA { <s> <p> 1 }")
    status, _, answer = exchange(
        broker.http, f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n{body}"
    )

    assert status == 415
    assert b"application/sparql-" in answer
    assert sparql.ask("ASK { <s> <p> 1 }")


# RDFLib/sparqlwrapper#127, #159; vaimee/SEPA#95
@pytest.mark.parametrize(
    "request_",
    [
        {"data": {"update": "INSERT DATA {}"}},
        {"content": "INSERT DATA {}", "headers": {"Content-Type": UPDATE}},
    ],
)
def test_the_answer_to_an_update_is_what_its_headers_say(sparql, request_):
    """A body, its length, and JSON where Content-Type says JSON."""
    response = sparql.http.post("/sparql", **request_)

    assert response.status_code == 200
    assert response.headers["content-type"].startswith("application/json")
    assert int(response.headers["content-length"]) == len(response.content) > 0
    assert set(response.json()) == {"response"}


# ad-freiburg/qlever#634, aws/graph-explorer#229, paulovn/sparql-kernel#23
def test_json_has_its_head_and_accept_is_heeded(sparql):
    """Also where the answer is empty or a boolean."""
    assert sparql.query("SELECT ?x { ?x ?y ?z }").json() == {
        "head": {"vars": ["x"]},
        "results": {"bindings": []},
    }
    assert sparql.query("ASK {}").json() == {"head": {}, "boolean": True}
    xml = sparql.query("SELECT ?x {}", accept="application/sparql-results+xml;q=0.9, text/csv;q=0.8")
    assert xml.headers["content-type"] == "application/sparql-results+xml"


# openlink/virtuoso#1361
@pytest.mark.parametrize("text", ["Belgie", "België", "ბელგია"])
def test_a_plain_text_has_no_datatype_in_any_script(sparql, text):
    """What comes back can be used to delete what is there."""
    sparql.update(f"INSERT DATA {{ <s> <p> '{text}' }}")
    [row] = sparql.query("SELECT ?o { <s> <p> ?o }").json()["results"]["bindings"]
    assert row["o"] == {"type": "literal", "value": text}

    sparql.update(f"DELETE DATA {{ <s> <p> '{text}'^^xsd:string }}")
    assert not sparql.ask("ASK { <s> ?p ?o }")


# apache/jena#2555
def test_a_text_with_a_language_has_no_datatype(sparql):
    """rdf:langString is never told."""
    sparql.update("INSERT DATA { <s> <p> 'x'@en }")
    [row] = sparql.query("SELECT ?o { <s> <p> ?o }").json()["results"]["bindings"]

    assert row["o"] == {"type": "literal", "value": "x", "xml:lang": "en"}
    assert sparql.rows("SELECT (DATATYPE(?o) AS ?d) { <s> <p> ?o }")[0]["d"].endswith("#langString")


# ontop PR#901, oxigraph/oxigraph#959, AKSW/QuitStore PR#140, eclipse-rdf4j/rdf4j#4574
def test_the_requests_dataset_wins_over_from(broker, sparql):
    """In queries and in subscriptions; FROM alone leaves no named graphs."""
    sparql.update("INSERT DATA { <s> <p> 0 GRAPH <a> { <s> <p> 1 } GRAPH <b> { <s> <p> 2 } }")
    text = "SELECT ?o FROM <http://localhost/a> { ?s <p> ?o }"
    graph = {"default-graph-uri": "http://localhost/b"}

    assert sparql.rows(text) == [{"o": "1"}]
    assert sparql.rows(text, **graph) == [{"o": "2"}]
    assert sparql.rows("SELECT ?g FROM <a> { GRAPH ?g { ?s ?p ?o } }") == []
    with Subscriber(broker.ws) as subscriber:
        assert values(subscriber.subscribe(text)["addedResults"]) == [{"o": "1"}]
        assert values(subscriber.subscribe(text, **graph)["addedResults"]) == [{"o": "2"}]


# apache/jena#1665
def test_using_graph_uri_is_heeded(sparql):
    """Not warned of and ignored."""
    sparql.update("INSERT DATA { <s> <p> 0 GRAPH <a> { <s> <p> 1 } }")
    update = "INSERT { GRAPH <out> { ?s ?p ?o } } WHERE { ?s ?p ?o }"
    sparql.update(update, **{"using-graph-uri": "http://localhost/a"})

    assert sparql.rows("SELECT ?o { GRAPH <out> { ?s ?p ?o } }") == [{"o": "1"}]


# fluree/db#1438
@pytest.mark.parametrize("separator", [";", " ;\n", ";#;\n", "; PREFIX x: <http://x/> "])
def test_all_operations_of_a_request_are_carried_out(sparql, separator):
    """Not the first alone."""
    sparql.update(
        f"INSERT DATA {{ <s> <p> 1 }}{separator}INSERT DATA {{ <s> <p> 2 }}{separator}INSERT DATA {{ <s> <p> 3 }};"
    )

    assert len(sparql.rows("SELECT ?o { <s> <p> ?o }")) == 3


# eclipse-rdf4j/rdf4j#25, sparq#48
def test_a_request_is_carried_out_whole_or_not_at_all(broker, sparql):
    """Nothing of one that fails is kept or told; of one that succeeds subscribers hear once."""
    with Subscriber(broker.ws) as subscriber:
        subscriber.subscribe("SELECT ?o { <s> <p> ?o }")
        for last in (
            "LOAD <http://127.0.0.1:1/>",
            "DROP GRAPH <none>",
            "nonsense",
            "CREATE GRAPH <g>; CREATE GRAPH <g>",
        ):
            assert sparql.try_update(f"INSERT DATA {{ <s> <p> 1 }}; {last}").status_code == 400
            assert not sparql.ask("ASK { <s> ?p ?o }")
        assert subscriber.all_so_far() == []

        sparql.update("INSERT DATA { <s> <p> 1 }; INSERT DATA { <s> <p> 2 }; DELETE DATA { <s> <p> 1 }")
        [told] = subscriber.all_so_far()
    assert values(told["notification"]["addedResults"]) == [{"o": "2"}]


def count_together(url):
    """Eight clients, a hundred increments each."""
    with Sparql(url) as client:
        client.update("DELETE WHERE { <c> <n> ?n }; INSERT DATA { <c> <n> 0 }")
        together(url, *[lambda client: [client.update(INCREMENT) for _ in range(100)]] * 8)
        return client.rows("SELECT ?n { <c> <n> ?n }")


# oxigraph/oxigraph#1310
def test_no_update_is_lost_in_memory(broker):
    """Updates come one after the other, however many send them."""
    assert count_together(broker.http) == [{"n": "800"}]


# oxigraph/oxigraph#1310, #844; OriginTrail/dkg#1400
def test_no_update_is_lost_on_disk_and_the_next_start_is_quick(tmp_path):
    """RocksDB loses concurrent ones; a log of many small updates must not hold up the start."""
    running = RunningBroker.start("--data", str(tmp_path), memory=False)
    try:
        assert count_together(running.http) == [{"n": "800"}]
    finally:
        assert running.stop() == 0

    started = time.monotonic()
    running = RunningBroker.start("--data", str(tmp_path), memory=False)
    try:
        assert time.monotonic() - started < 10
        with Sparql(running.http) as client:
            assert client.rows("SELECT ?n { <c> <n> ?n }") == [{"n": "800"}]
    finally:
        assert running.stop() == 0


# oxigraph/oxigraph#1874, #1336; arangodb/arangodb#1741
def test_a_heavy_query_does_not_keep_others_from_being_answered(broker, sparql):
    """Its client leaves, and neither queries nor updates of others wait for it."""
    digits = "0 1 2 3 4 5 6 7 8 9"
    count = (
        f"SELECT (COUNT(*) AS ?n) {{ {' '.join(f'VALUES ?{name} {{ {digits} }}' for name in 'abcdefg')} }}"
    )
    with Raw(broker.http) as raw:
        raw.send(
            f"POST /query HTTP/1.1\r\nHost: x\r\nContent-Type: {QUERY}\r\nContent-Length: {len(count)}\r\n\r\n{count}"
        )
        sparql.wait_for_health(reading=1)
        assert sparql.ask("ASK {}")
        sparql.update("INSERT DATA { <s> <p> 1 }")
        assert sparql.health()["reading"] == 1
    sparql.wait_for_health(within_s=30, reading=0)


# dbcls/togomcp PR#54, d2rq/d2rq#169
@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("SELECT * {\n ?s nope:p ?o }", "Prefix not found"),
        ("SELECT * {\n\n  FILTER( }", "expected"),
        ("SELECT\n*", "expected"),
    ],
)
def test_an_error_tells_where_and_what(sparql, query, says):
    """JSON with line and column; no page of HTML, no stack of frames."""
    response = sparql.query(query, accept="text/html")

    assert response.status_code == 400
    assert response.headers["content-type"].startswith("application/json")
    assert "line " in response.json()["error_description"]
    assert "column " in response.json()["error_description"]
    assert says in response.json()["error_description"]
    assert len(response.text) < 600


# blazegraph/database#194
def test_a_long_sequence_of_operations_works(sparql):
    """20,000 of them, one transaction."""
    sparql.update(";".join(f"INSERT DATA {{ <s> <p> {number} }}" for number in range(20_000)))

    assert sparql.rows("SELECT (COUNT(*) AS ?n) { <s> <p> ?o }") == [{"n": "20000"}]


# openlink/virtuoso#271
def test_graphs_that_are_cleared_and_filled_at_once_do_not_block_each_other(broker, sparql):
    """Sixteen clients, and the answer to each."""
    update = "CLEAR SILENT GRAPH <{0}>; INSERT DATA {{ GRAPH <{0}> {{ <s> <p> {1} }} }}"
    works = [
        lambda client, graph=number % 4: [client.update(update.format(graph, value)) for value in range(20)]
        for number in range(16)
    ]
    together(broker.http, *works)

    assert sparql.rows("SELECT (COUNT(*) AS ?n) { GRAPH ?g { ?s ?p ?o } }") == [{"n": "4"}]
