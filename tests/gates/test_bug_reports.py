"""What users of other brokers reported about subscriptions, asked of this one; each test names its report."""

from __future__ import annotations

import threading
from urllib.parse import quote

import psutil
import pytest
from support.raw import Raw
from support.sparql import Sparql
from support.subscriber import Subscriber, bag, fold, values

pytestmark = pytest.mark.xdist_group("gates-bug-reports")

STORE, TURTLE = "/rdf-graph-store", {"Content-Type": "text/turtle"}


@pytest.fixture(autouse=True)
def empty(sparql):
    """Nothing is there."""
    sparql.update("DROP ALL")


@pytest.fixture
def subscriber(broker):
    """A connection to the module's broker."""
    with Subscriber(broker.ws) as client:
        yield client


def heard(subscriber):
    """The notifications so far."""
    return [message["notification"] for message in subscriber.all_so_far()]


# vaimee/SEPA#32
def test_a_part_that_becomes_bound_removes_the_row_without_it(sparql, subscriber):
    """Three OPTIONALs: the row with an unbound variable goes, the extended row comes, and all adds up."""
    query = """SELECT * WHERE { ?person a <Person> OPTIONAL { ?person <name> ?name }
      OPTIONAL { ?person <age> ?age } OPTIONAL { ?person <mail> ?mail } }"""
    told = [subscriber.subscribe(query)]
    sparql.update("INSERT DATA { <anna> a <Person> ; <name> 'Anna' }")
    sparql.update("INSERT DATA { <anna> <mail> 'a@example.org' }")
    told += heard(subscriber)

    assert len(told) == 3
    anna = {"person": "http://localhost/anna", "name": "Anna"}
    assert values(told[1]["addedResults"]) == [anna]
    assert values(told[2]["removedResults"]) == [anna]
    assert values(told[2]["addedResults"]) == [anna | {"mail": "a@example.org"}]
    assert fold(told) == bag(sparql.query(query).json())


# vaimee/SEPA#68
def test_a_change_of_the_default_graph_is_heard(sparql, subscriber):
    """Without GRAPH in the subscription or in the update."""
    subscriber.subscribe("SELECT ?v { <sensor> <value> ?v }")
    for value in (1, 2):
        sparql.update(
            f"DELETE {{ <sensor> <value> ?old }} INSERT {{ <sensor> <value> {value} }}"
            " WHERE { OPTIONAL { <sensor> <value> ?old } }"
        )

    assert [values(told["addedResults"]) for told in heard(subscriber)] == [[{"v": "1"}], [{"v": "2"}]]


# vaimee/SEPA#94
def test_an_ask_can_be_subscribed_to(sparql, subscriber):
    """It tells when the answer flips."""
    assert values(subscriber.subscribe("ASK { <a> <p> ?o }")["addedResults"]) == [{"boolean": "false"}]
    sparql.update("INSERT DATA { <a> <p> 1 }")
    sparql.update("DELETE DATA { <a> <p> 1 }")

    flips = [(values(told["removedResults"]), values(told["addedResults"])) for told in heard(subscriber)]
    false, true = [{"boolean": "false"}], [{"boolean": "true"}]
    assert flips == [(false, true), (true, false)]


# vaimee/SEPA#42
def test_equal_subscriptions_share_their_evaluation(sparql, subscriber, broker):
    """A thousand of them are one unit; each has its own spuid and sequence."""
    query = "SELECT ?o { <shared> <p> ?o }"
    for _ in range(1000):
        subscriber.say({"subscribe": {"sparql": query}})
    spuids = {subscriber.notification()["spuid"] for _ in range(1000)}
    assert len(spuids) == 1000
    assert (sparql.health()["units"], sparql.health()["subscriptions"]) == (1, 1000)

    sparql.update("INSERT DATA { <shared> <p> 1 }")
    told = heard(subscriber)
    assert {notification["spuid"] for notification in told} == spuids
    assert {notification["sequence"] for notification in told} == {1}


# vaimee/SEPA#64
def test_an_update_that_lacks_its_where_is_a_syntax_error(sparql, subscriber):
    """It did nothing, and said nothing."""
    subscriber.subscribe("SELECT * { ?s ?p ?o }")
    response = sparql.try_update("DELETE { <a> <p> ?old }\nINSERT { <a> <p> 'new' }")

    assert response.status_code == 400
    assert response.json()["error"] == "parsing failed"
    assert "line 2" in response.json()["error_description"]
    assert heard(subscriber) == []


# vaimee/SEPA#20
def test_answers_that_nobody_reads_to_their_end_leave_nothing_behind(sparql, broker):
    """A hundred result streams of megabytes, each left after its first bytes."""
    digits = "{ 0 1 2 3 4 5 6 7 8 9 }"
    query = quote(f"SELECT * {{ {' '.join(f'VALUES ?{name} {digits}' for name in 'abcde')} }}")
    process = psutil.Process(broker.process.pid)
    sizes = []
    for number in range(100):
        with Raw(broker.http) as raw:
            raw.send(f"GET /query?query={query} HTTP/1.1\r\nHost: x\r\n\r\n")
            assert raw.line() == b"HTTP/1.1 200 OK\r\n"
        if number in {19, 99}:
            sparql.wait_for_health(reading=0)
            sizes.append(process.memory_info().rss)

    assert sizes[1] - sizes[0] < 16 * 1024 * 1024


# eclipse-rdf4j/rdf4j#431
@pytest.mark.parametrize(
    "change",
    [
        lambda client: client.update("INSERT DATA { GRAPH <g> { <a> <p> 'new' } }"),
        lambda client: client.update("DELETE WHERE { GRAPH <g> { ?s ?p ?o } }"),
        lambda client: client.update("CLEAR GRAPH <g>"),
        lambda client: client.update("CLEAR NAMED"),
        lambda client: client.update("CLEAR ALL"),
        lambda client: client.update("DROP GRAPH <g>"),
        lambda client: client.update("DROP ALL"),
        lambda client: client.update("COPY <other> TO <g>"),
        lambda client: client.update("MOVE <other> TO <g>"),
        lambda client: client.update("MOVE <g> TO <other>"),
        lambda client: client.update("ADD <other> TO <g>"),
        lambda client: client.http.put(
            STORE, params={"graph": "http://localhost/g"}, content="<s> <p> 2.", headers=TURTLE
        ),
        lambda client: client.http.post(
            STORE, params={"graph": "http://localhost/g"}, content="<s> <p> 2.", headers=TURTLE
        ),
        lambda client: client.http.delete(STORE, params={"graph": "http://localhost/g"}),
    ],
)
def test_a_change_is_heard_by_whatever_way_it_is_made(sparql, subscriber, change):
    """Every operation of SPARQL Update and of the Graph Store Protocol; one notification each."""
    query = "SELECT ?s ?o { GRAPH <g> { ?s <p> ?o } }"
    sparql.update("INSERT DATA { GRAPH <g> { <a> <p> 'old' } GRAPH <other> { <b> <p> 'other' } }")
    told = [subscriber.subscribe(query)]
    change(sparql)
    told += heard(subscriber)

    assert len(told) == 2
    assert fold(told) == bag(sparql.query(query).json())


# clockworklabs/SpacetimeDB#4944
def test_who_comes_back_starts_with_the_whole_answer(sparql, broker):
    """However often the socket is cut while updates pour in: sequence 0 and what follows are the answer."""
    query = "SELECT ?o { <a> <p> ?o }"
    cut, done = threading.Event(), threading.Event()

    def publish():
        with Sparql(broker.http) as client:
            for number in range(300):
                client.update(f"INSERT DATA {{ <a> <p> {number} }}; DELETE DATA {{ <a> <p> {number - 5} }}")
                if number % 30 == 0:
                    cut.set()
        done.set()
        cut.set()

    publishing = threading.Thread(target=publish)
    publishing.start()
    while True:
        subscriber = Subscriber(broker.ws)
        told = [subscriber.subscribe(query)]
        if done.is_set():
            break
        cut.wait()
        cut.clear()
        subscriber.socket.socket.close()
        subscriber.close()
    publishing.join()
    told += heard(subscriber)
    subscriber.close()

    assert fold(told) == bag(sparql.query(query).json())
    sparql.wait_for_health(subscriptions=0)


# anolilab/lunora PR#407
def test_a_change_of_every_row_is_one_message(sparql, subscriber):
    """And no larger than the old answer and the new one."""
    query = "SELECT ?s ?o { ?s <p> ?o }"
    sparql.update("INSERT DATA { " + " ".join(f"<s{number}> <p> {number} ." for number in range(100)) + " }")
    snapshot = len(str(subscriber.subscribe(query)))
    sparql.update("DELETE { ?s <p> ?o } INSERT { ?s <p> ?n } WHERE { ?s <p> ?o BIND(?o + 100 AS ?n) }")

    [told] = heard(subscriber)
    assert len(values(told["addedResults"])) == len(values(told["removedResults"])) == 100
    assert len(str(told)) < 2.1 * snapshot


# ruby-rdf/sparql#14
def test_a_blank_node_of_a_template_is_one_within_a_solution(sparql, subscriber):
    """And another in the next; in queries and in subscriptions."""
    sparql.update("INSERT DATA { <a> <given> 'A' ; <family> 'B' . <c> <given> 'C' ; <family> 'D' }")
    query = "CONSTRUCT { ?s <name> _:n . _:n <g> ?g ; <f> ?f } WHERE { ?s <given> ?g ; <family> ?f }"
    rows = values(subscriber.subscribe(query)["addedResults"])

    assert len(rows) == 6
    nodes = {row["object"] for row in rows if row["predicate"].endswith("/name")}
    assert len(nodes) == 2
    for node in nodes:
        texts = {row["object"] for row in rows if row["subject"] == node}
        assert texts in ({"A", "B"}, {"C", "D"})
    assert sparql.query(query, accept="application/n-triples").text.count("_:") == 6
