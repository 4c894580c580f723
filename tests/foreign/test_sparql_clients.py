"""General SPARQL clients that know nothing of this broker: it must look like any SPARQL 1.1 endpoint to them."""

from __future__ import annotations

import json
import subprocess
import threading
from typing import TYPE_CHECKING, Any, Self

import httpx
import pytest
from foreign.foreigner import Foreigner
from foreign.installs import HERE, environment, node_packages, program
from rdflib import RDF, Dataset, Graph, Literal, Namespace, URIRef
from rdflib.plugins.stores.sparqlstore import SPARQLStore, SPARQLUpdateStore
from SPARQLWrapper import (
    CSV,
    GET,
    JSON,
    JSONLD,
    N3,
    POST,
    POSTDIRECTLY,
    RDFXML,
    TSV,
    TURTLE,
    URLENCODED,
    XML,
    SPARQLWrapper,
)
from SPARQLWrapper.SPARQLExceptions import QueryBadFormed
from sseclient import SSEClient

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.running import RunningBroker

pytestmark = [pytest.mark.foreign, pytest.mark.xdist_group("sparql-clients"), pytest.mark.timeout(300)]

EX = Namespace("http://example.org/")
SOME = """PREFIX ex: <http://example.org/>
INSERT DATA {
  ex:anna a ex:Person ; ex:name "Anna"@en ; ex:age 42 ; ex:knows ex:ben .
  ex:ben a ex:Person ; ex:name "Ben" ; ex:age 7 .
  GRAPH ex:other { ex:carla a ex:Person ; ex:name "Carla" }
}"""
NAMES = "PREFIX ex: <http://example.org/> SELECT ?who ?name WHERE { ?who ex:name ?name } ORDER BY ?name"
XSD_INTEGER = "http://www.w3.org/2001/XMLSchema#integer"


@pytest.fixture(autouse=True)
def dataset(broker: RunningBroker) -> None:
    """Three persons, one of them in a named graph."""
    for sparql in ("CLEAR ALL", SOME):
        answer = httpx.post(
            f"{broker.http}/update", content=sparql, headers={"Content-Type": "application/sparql-update"}
        )
        assert answer.status_code == 200


@pytest.fixture(params=["/query", "/sparql"])
def endpoint(request: pytest.FixtureRequest, broker: RunningBroker) -> str:
    """Where queries are answered."""
    return f"{broker.http}{request.param}"


# SPARQLWrapper.


def wrapper(
    url: str, sparql: str, *, update: bool = False, method: str = GET, how: str = URLENCODED
) -> SPARQLWrapper:
    asking = SPARQLWrapper(url, updateEndpoint=url) if update else SPARQLWrapper(url)
    asking.setQuery(sparql)
    asking.setMethod(method)
    asking.setRequestMethod(how)
    asking.setReturnFormat(JSON)
    return asking


WAYS = [
    pytest.param(GET, URLENCODED, id="get"),
    pytest.param(POST, URLENCODED, id="form"),
    pytest.param(POST, POSTDIRECTLY, id="direct"),
]


@pytest.mark.parametrize(("method", "how"), WAYS)
def test_sparqlwrapper_queries_in_each_way(endpoint: str, method: str, how: str) -> None:
    """GET, a form, and the query as the body give the same rows."""
    answer = wrapper(endpoint, NAMES, method=method, how=how).query().convert()
    assert answer["head"]["vars"] == ["who", "name"]
    assert [row["name"]["value"] for row in answer["results"]["bindings"]] == ["Anna", "Ben"]
    assert answer["results"]["bindings"][0]["name"]["xml:lang"] == "en"


@pytest.mark.parametrize(("method", "how"), WAYS)
def test_sparqlwrapper_asks_in_each_way(endpoint: str, method: str, how: str) -> None:
    """ASK is a boolean in JSON."""
    asking = wrapper(endpoint, "ASK { ?s <http://example.org/age> 42 }", method=method, how=how)
    assert asking.query().convert()["boolean"] is True


@pytest.mark.parametrize("how", [URLENCODED, POSTDIRECTLY])
@pytest.mark.parametrize("path", ["/update", "/sparql"])
def test_sparqlwrapper_updates(broker: RunningBroker, path: str, how: str) -> None:
    """An update as a form and as the body is answered with 200, and done."""
    update = "INSERT DATA { <http://example.org/dora> <http://example.org/name> 'Dora' }"
    done = wrapper(f"{broker.http}{path}", update, update=True, method=POST, how=how).query()
    assert done.response.status == 200
    done.response.close()
    ask = wrapper(f"{broker.http}/query", "ASK { <http://example.org/dora> ?p 'Dora' }")
    assert ask.query().convert()["boolean"] is True


def test_sparqlwrapper_reads_xml(endpoint: str) -> None:
    """XML results are a DOM with a result for each row."""
    asking = wrapper(endpoint, NAMES)
    asking.setReturnFormat(XML)
    document = asking.query().convert()
    assert [node.firstChild.data for node in document.getElementsByTagName("literal")] == ["Anna", "Ben"]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (CSV, b"who,name\r\nhttp://example.org/anna,Anna\r\nhttp://example.org/ben,Ben\r\n"),
        (TSV, b'?who\t?name\n<http://example.org/anna>\t"Anna"@en\n<http://example.org/ben>\t"Ben"\n'),
    ],
)
def test_sparqlwrapper_reads_tables(endpoint: str, wanted: str, expected: bytes) -> None:
    """CSV and TSV are W3C's, byte by byte."""
    asking = wrapper(endpoint, NAMES)
    asking.setReturnFormat(wanted)
    assert asking.query().convert() == expected


@pytest.mark.filterwarnings("ignore:ConjunctiveGraph is deprecated:DeprecationWarning")
@pytest.mark.parametrize("wanted", [RDFXML, XML, TURTLE, N3, JSONLD])
def test_sparqlwrapper_reads_graphs(endpoint: str, wanted: str) -> None:
    """A CONSTRUCT comes in the RDF syntax that is asked for, and says so."""
    asking = wrapper(
        endpoint, "CONSTRUCT { ?s a <http://example.org/Human> } WHERE { ?s a <http://example.org/Person> }"
    )
    asking.setReturnFormat(wanted)
    answer = asking.query()
    media_type = answer.info()["content-type"].partition(";")[0]
    converted = answer.convert()
    graph = converted if isinstance(converted, Graph) else Graph().parse(data=converted, format=media_type)
    assert set(graph) == {(EX.anna, RDF.type, EX.Human), (EX.ben, RDF.type, EX.Human)}


def test_sparqlwrapper_names_graphs(endpoint: str) -> None:
    """`addDefaultGraph` chooses the dataset."""
    asking = wrapper(endpoint, NAMES)
    asking.addDefaultGraph(str(EX.other))
    assert [row["name"]["value"] for row in asking.query().convert()["results"]["bindings"]] == ["Carla"]


@pytest.mark.parametrize(("method", "how"), WAYS)
def test_sparqlwrapper_is_told_of_bad_queries(endpoint: str, method: str, how: str) -> None:
    """A malformed query is its QueryBadFormed, which only a 400 is."""
    with pytest.raises(QueryBadFormed):
        wrapper(endpoint, "SELECT ?x WHERE { ?x }", method=method, how=how).query()


# rdflib.


@pytest.fixture(params=["GET", "POST", "POST_FORM"])
def store(request: pytest.FixtureRequest, broker: RunningBroker) -> Iterator[SPARQLUpdateStore]:
    """rdflib's store over the broker, by each of its methods."""
    opened = SPARQLUpdateStore(
        query_endpoint=f"{broker.http}/query",
        update_endpoint=f"{broker.http}/update",
        method=request.param,
        returnFormat="json",
        autocommit=True,
    )
    yield opened
    opened.close()


def test_rdflib_reads_a_graph(store: SPARQLUpdateStore) -> None:
    """Patterns, values and lengths are those of the named graph."""
    graph = Graph(store, identifier=EX.other)
    assert set(graph) == {(EX.carla, RDF.type, EX.Person), (EX.carla, EX.name, Literal("Carla"))}
    assert graph.value(EX.carla, EX.name) == Literal("Carla")
    assert len(graph) == 2
    assert (EX.carla, RDF.type, EX.Person) in graph
    assert (EX.anna, RDF.type, EX.Person) not in graph


def test_rdflib_writes_a_graph(store: SPARQLUpdateStore) -> None:
    """What is added to a bound graph is in it, what is removed is not, and other graphs keep theirs."""
    graph = Graph(store, identifier=EX.mine)
    graph.add((EX.dora, EX.age, Literal(5)))
    graph.add((EX.dora, EX.name, Literal("Dora", lang="en")))
    graph.add((EX.dora, EX.says, Literal("'\"\\\n\tგამარჯობა")))
    assert set(graph) == {
        (EX.dora, EX.age, Literal(5)),
        (EX.dora, EX.name, Literal("Dora", lang="en")),
        (EX.dora, EX.says, Literal("'\"\\\n\tგამარჯობა")),
    }
    graph.remove((EX.dora, None, None))
    assert len(graph) == 0
    assert len(Graph(store, identifier=EX.other)) == 2


def test_rdflib_queries_with_bindings(store: SPARQLUpdateStore) -> None:
    """`initBindings`, which rdflib sends as VALUES, restrict the rows."""
    rows = Graph(store, identifier=EX.other).query(
        "SELECT ?name WHERE { ?who ex:name ?name }", initNs={"ex": EX}, initBindings={"who": EX.carla}
    )
    assert [row.name for row in rows] == [Literal("Carla")]


def test_rdflib_updates_a_graph(store: SPARQLUpdateStore) -> None:
    """An update of a bound graph touches that graph only."""
    graph = Graph(store, identifier=EX.other)
    graph.update(
        "DELETE { ?s ex:name ?n } INSERT { ?s ex:named ?n } WHERE { ?s ex:name ?n }", initNs={"ex": EX}
    )
    assert set(graph.predicates()) == {RDF.type, EX.named}
    assert store.query("ASK { ?s ex:name 'Ben' }", initNs={"ex": EX}).askAnswer is True


def test_rdflib_lists_adds_and_drops_graphs(store: SPARQLUpdateStore) -> None:
    """CREATE GRAPH and DROP GRAPH, which rdflib's graph-aware store sends, are carried out."""
    dataset = Dataset(store)
    new = dataset.graph(EX.new)
    new.add((EX.a, EX.b, EX.c))
    assert {graph.identifier for graph in dataset.graphs()} >= {EX.other, EX.new}
    dataset.remove_graph(new)
    assert EX.new not in {graph.identifier for graph in dataset.graphs()}


def test_rdflib_s_transaction_is_one_update(broker: RunningBroker) -> None:
    """Without autocommit nothing is sent before `commit`, and `rollback` forgets."""
    store = SPARQLUpdateStore(
        f"{broker.http}/query", f"{broker.http}/update", autocommit=False, dirty_reads=True
    )
    graph = Graph(store, identifier=EX.mine)
    seen = Graph(SPARQLStore(f"{broker.http}/query", returnFormat="json"), identifier=EX.mine)
    graph.add((EX.a, EX.b, EX.c))
    graph.add((EX.a, EX.b, EX.d))
    assert len(seen) == 0
    store.commit()
    assert len(seen) == 2
    graph.remove((None, None, None))
    store.rollback()
    assert len(seen) == 2


@pytest.mark.parametrize("wanted", ["xml", "json", "csv", "tsv"])
def test_rdflib_reads_each_results_format(broker: RunningBroker, wanted: str) -> None:
    """rdflib reads our XML, JSON, CSV and TSV results with its own parsers."""
    store = SPARQLStore(f"{broker.http}/sparql", returnFormat=wanted)
    rows = list(store.query(NAMES))
    assert [str(row[1]) for row in rows] == ["Anna", "Ben"]
    if wanted != "csv":  # CSV has no types
        assert rows[0][1] == Literal("Anna", lang="en")
        assert rows[0][0] == URIRef(EX.anna)


def test_rdflib_constructs(broker: RunningBroker) -> None:
    """A CONSTRUCT through the read-only store becomes a graph."""
    store = SPARQLStore(f"{broker.http}/sparql", returnFormat="xml")
    result = store.query("CONSTRUCT WHERE { ?s <http://example.org/age> ?age }")
    assert set(result.graph) == {(EX.anna, EX.age, Literal(42)), (EX.ben, EX.age, Literal(7))}


# curl.


def curl(*arguments: str) -> str:
    done = subprocess.run(
        [program("curl"), "--silent", "--show-error", "--max-time", "20", *arguments],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_curl_gets(endpoint: str) -> None:
    """`curl -G --data-urlencode` is answered in JSON where nothing is said of a format."""
    answer = json.loads(curl("-G", endpoint, "--data-urlencode", f"query={NAMES}"))
    assert [row["name"]["value"] for row in answer["results"]["bindings"]] == ["Anna", "Ben"]


def test_curl_posts_a_form(endpoint: str) -> None:
    """`--data-urlencode` posts a form; Accept chooses CSV."""
    assert (
        curl(endpoint, "-H", "Accept: text/csv", "--data-urlencode", f"query={NAMES}").splitlines()[0]
        == "who,name"
    )


def test_curl_posts_a_body(broker: RunningBroker) -> None:
    """A body with a charset parameter is SPARQL: query and update."""
    update = "INSERT DATA { <http://example.org/x> <http://example.org/name> 'Xaver' }"
    kind = "Content-Type: application/sparql-update; charset=utf-8"
    said = curl(f"{broker.http}/update", "-H", kind, "--data-binary", update, "-w", "\n%{http_code}")
    assert said.splitlines()[-1] == "200"
    json.loads(said.rpartition("\n")[0])
    kind = "Content-Type: application/sparql-query"
    assert "Xaver" in curl(f"{broker.http}/query", "-H", kind, "--data-binary", NAMES)


def test_curl_understands_compression(broker: RunningBroker) -> None:
    """A large answer is compressed for those who ask for it, and is the same when it is unpacked."""
    rows = " ".join(f"<http://example.org/many> <http://example.org/n> {n} ." for n in range(1000))
    curl(f"{broker.http}/update", "--data-urlencode", f"update=INSERT DATA {{ {rows} }}")
    asked = [
        "-G",
        f"{broker.http}/query",
        "--data-urlencode",
        "query=SELECT ?n { ?s <http://example.org/n> ?n } ORDER BY ?n",
    ]
    head = curl(*asked, "--compressed", "-D", "-", "-o", "/dev/null").lower()
    assert "content-encoding: gzip" in head
    assert "vary:" in head
    assert "accept-encoding" in head.partition("vary:")[2].partition("\r\n")[0]
    plain, unpacked = curl(*asked), curl(*asked, "--compressed")
    assert plain == unpacked
    sizes = [
        int(curl(*asked, *more, "-o", "/dev/null", "-w", "%{size_download}"))
        for more in ([], ["--compressed"])
    ]
    assert len(json.loads(plain)["results"]["bindings"]) == 1000
    assert sizes[1] < sizes[0] / 4


class Curled:
    """`curl -N` at the event stream: the events as they come."""

    def __init__(self, url: str, sparql: str, *more: str) -> None:
        command = [
            program("curl"),
            "-sSN",
            "--max-time",
            "30",
            "-G",
            url,
            "--data-urlencode",
            f"query={sparql}",
        ]
        self.process = subprocess.Popen(
            [*command, "-H", "Accept: text/event-stream", *more], stdout=subprocess.PIPE, text=True
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait(10)
        assert self.process.stdout is not None
        self.process.stdout.close()

    def event(self) -> dict[str, str]:
        """The fields of the next event; comments are no events."""
        fields: dict[str, str] = {}
        assert self.process.stdout is not None
        for line in self.process.stdout:
            name, _, value = line.rstrip("\n").partition(":")
            if not line.strip():
                if "data" in fields:
                    return fields
            elif name:
                fields[name] = fields.get(name, "") + value.removeprefix(" ")
        raise AssertionError("the stream of events ended")


def insert(broker: RunningBroker, triple: str) -> None:
    curl(f"{broker.http}/update", "--data-urlencode", f"update=INSERT DATA {{ {triple} }}")


@pytest.mark.parametrize("more", [[], ["--compressed"]], ids=["plain", "compressed"])
def test_curl_follows_a_subscription(broker: RunningBroker, more: list[str]) -> None:
    """Each event is there when it happens, compressed or not: first results, then what an update adds."""
    watched = "SELECT ?n WHERE { <http://example.org/curl> <http://example.org/n> ?n }"
    with Curled(f"{broker.http}/subscribe", watched, *more) as stream:
        first = json.loads(stream.event()["data"])["notification"]
        assert (first["sequence"], first["addedResults"]["results"]["bindings"]) == (0, [])
        for n in (1, 2):
            insert(broker, f"<http://example.org/curl> <http://example.org/n> {n}")
            heard = json.loads(stream.event()["data"])["notification"]
            assert heard["sequence"] == n
            assert heard["addedResults"]["results"]["bindings"] == [
                {"n": {"type": "literal", "value": str(n), "datatype": XSD_INTEGER}}
            ]


def test_curl_is_told_why_a_subscription_is_refused(broker: RunningBroker) -> None:
    """A malformed query is a 400 with the error object, not a stream."""
    said = curl(
        "-G",
        f"{broker.http}/subscribe",
        "-H",
        "Accept: text/event-stream",
        "--data-urlencode",
        "query=SELECT {",
        "-w",
        "\n%{http_code}",
    )
    body, _, status = said.rpartition("\n")
    assert status == "400"
    assert json.loads(body)["status_code"] == 400


def test_sseclient_follows_a_subscription(broker: RunningBroker) -> None:
    """sseclient-py reads the events of a subscription, which ends with its connection."""
    watched = "SELECT ?n WHERE { <http://example.org/sse> <http://example.org/n> ?n }"
    asked = {"query": watched}
    with httpx.stream(
        "GET", f"{broker.http}/subscribe", params=asked, headers={"Accept": "text/event-stream"}, timeout=20
    ) as answer:
        assert answer.headers["content-type"].partition(";")[0] == "text/event-stream"
        assert "no-cache" in answer.headers["cache-control"] or "no-store" in answer.headers["cache-control"]
        events = SSEClient(answer.iter_bytes()).events()  # type: ignore[arg-type]  # any iterable of bytes will do
        assert json.loads(next(events).data)["notification"]["sequence"] == 0
        for n in (1, 2, 3):
            adding = threading.Thread(
                target=insert, args=(broker, f"<http://example.org/sse> <http://example.org/n> {n}")
            )
            adding.start()
            heard = json.loads(next(events).data)["notification"]
            adding.join()
            assert heard["sequence"] == n
            assert [row["n"]["value"] for row in heard["addedResults"]["results"]["bindings"]] == [str(n)]


# JavaScript.


@pytest.fixture(scope="module")
def modules() -> Path:
    """The folder with Comunica and fetch-sparql-endpoint."""
    return node_packages("comunica")


@pytest.fixture(scope="module")
def comunica(modules: Path) -> Iterator[Foreigner]:
    """A Comunica engine."""
    yield from _javascript(modules, "comunica_driver.cjs")


@pytest.fixture(scope="module")
def fetcher(modules: Path) -> Iterator[Foreigner]:
    """A fetcher of fetch-sparql-endpoint."""
    yield from _javascript(modules, "fetcher_driver.cjs")


def _javascript(modules: Path, driver: str) -> Iterator[Foreigner]:
    command = [program("node"), "--no-warnings", str(HERE / "js" / driver)]
    client = Foreigner(command, environment(NODE_PATH=str(modules)))
    yield client
    client.close()


@pytest.fixture(params=["told", "found out"])
def source(request: pytest.FixtureRequest, broker: RunningBroker) -> Any:
    """The broker as a source, its type told or found out from the service description."""
    url = f"{broker.http}/sparql"
    return {"type": "sparql", "value": url} if request.param == "told" else url


def named(terms: list[dict[str, Any]]) -> list[str]:
    return [term["value"] for term in terms]


def test_comunica_selects(comunica: Foreigner, source: Any) -> None:
    """Rows come with their terms' kinds, datatypes and languages."""
    rows = comunica.do("select", sparql=NAMES, sources=[source])
    assert named([row["name"] for row in rows]) == ["Anna", "Ben"]
    assert rows[0]["name"]["language"] == "en"
    assert rows[0]["who"] == {"termType": "NamedNode", "value": str(EX.anna)}


def test_comunica_joins(comunica: Foreigner, source: Any) -> None:
    """A join, an OPTIONAL and a FILTER over the endpoint find the one pair."""
    sparql = """PREFIX ex: <http://example.org/>
        SELECT ?name ?friend ?age WHERE {
          ?who ex:knows ?other ; ex:name ?name . ?other ex:name ?friend ; ex:age ?age
          OPTIONAL { ?other ex:knows ?nobody } FILTER(?age < 10)
        }"""
    rows = comunica.do("select", sparql=sparql, sources=[source])
    assert [named([row["name"], row["friend"], row["age"]]) for row in rows] == [["Anna", "Ben", "7"]]
    assert rows[0]["age"]["datatype"] == XSD_INTEGER


def test_comunica_joins_two_endpoints(
    comunica: Foreigner, broker: RunningBroker, fresh_broker: RunningBroker
) -> None:
    """A query over two brokers joins rows of the one with rows of the other."""
    insert(fresh_broker, "<http://example.org/ben> <http://example.org/city> 'Brno'")
    sources = [{"type": "sparql", "value": f"{one.http}/sparql"} for one in (broker, fresh_broker)]
    sparql = (
        "PREFIX ex: <http://example.org/> SELECT ?name ?city WHERE { ?who ex:name ?name ; ex:city ?city }"
    )
    rows = comunica.do("select", sparql=sparql, sources=sources)
    assert [named([row["name"], row["city"]]) for row in rows] == [["Ben", "Brno"]]


def test_comunica_asks(comunica: Foreigner, source: Any) -> None:
    """ASK is true and false."""
    truths = [
        comunica.do("ask", sparql=f"ASK {{ ?s <{EX.age}> {age} }}", sources=[source]) for age in (42, 43)
    ]
    assert truths == [True, False]


def test_comunica_constructs(comunica: Foreigner, source: Any) -> None:
    """A CONSTRUCT gives its quads."""
    sparql = "PREFIX ex: <http://example.org/> CONSTRUCT { ?b ex:knownBy ?a } WHERE { ?a ex:knows ?b }"
    quads = comunica.do("construct", sparql=sparql, sources=[source])
    assert [named(quad) for quad in quads] == [[str(EX.ben), str(EX.knownBy), str(EX.anna)]]


def test_comunica_updates(comunica: Foreigner, broker: RunningBroker) -> None:
    """With the endpoint as destination an update is carried out."""
    endpoint = {"type": "sparql", "value": f"{broker.http}/sparql"}
    comunica.do(
        "update",
        sparql="INSERT DATA { <http://example.org/eva> <http://example.org/name> 'Eva' }",
        endpoint=endpoint,
    )
    assert comunica.do("ask", sparql="ASK { ?s ?p 'Eva' }", sources=[endpoint]) is True


@pytest.mark.parametrize("post", [False, True])
def test_fetch_sparql_endpoint_selects(fetcher: Foreigner, endpoint: str, post: bool) -> None:
    """Rows, by GET and by POST."""
    rows = fetcher.do("select", sparql=NAMES, endpoint=endpoint, post=post)
    assert rows == [{"who": str(EX.anna), "name": "Anna"}, {"who": str(EX.ben), "name": "Ben"}]


def test_fetch_sparql_endpoint_asks_and_constructs(fetcher: Foreigner, endpoint: str) -> None:
    """Booleans and triples are parsed."""
    assert fetcher.do("ask", sparql="ASK { ?s ?p 42 }", endpoint=endpoint) is True
    triples = fetcher.do("construct", sparql=f"CONSTRUCT WHERE {{ ?s <{EX.knows}> ?o }}", endpoint=endpoint)
    assert triples == [[str(EX.anna), str(EX.knows), str(EX.ben)]]


def test_fetch_sparql_endpoint_updates(fetcher: Foreigner, broker: RunningBroker) -> None:
    """An update as the body of a POST is carried out."""
    fetcher.do("update", sparql="DELETE WHERE { ?s ?p 'Ben' }", endpoint=f"{broker.http}/update")
    assert fetcher.do("ask", sparql="ASK { ?s ?p 'Ben' }", endpoint=f"{broker.http}/query") is False
