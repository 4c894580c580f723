"""What subscribers hear: each form of query, answers as bags, the dataset of the subscription."""

from __future__ import annotations

import pytest
from support.subscriber import bag, values

pytestmark = pytest.mark.xdist_group("gates-websocket-answers")

XSD = "http://www.w3.org/2001/XMLSchema#"


def truth(results):
    """The rows of a subscription to an ASK."""
    assert results["head"] == {"vars": ["boolean"]}
    assert all(row["boolean"]["datatype"] == f"{XSD}boolean" for row in results["results"]["bindings"])
    return [row["boolean"] for row in values(results)]


def triples(results):
    """The rows of a subscription to a CONSTRUCT or DESCRIBE."""
    assert results["head"] == {"vars": ["subject", "predicate", "object"]}
    return sorted(" ".join(row.values()).replace("http://localhost/", "") for row in values(results))


def test_an_ask_tells_its_flips(subscriber, sparql):
    """From false to true and back; what leaves it as it is tells nothing."""
    first = subscriber.subscribe("ASK { <a> <p> ?o }")
    assert (truth(first["addedResults"]), truth(first["removedResults"])) == (["false"], [])

    for text in ("INSERT DATA { <a> <p> 1 }", "INSERT DATA { <a> <p> 2 }", "DELETE DATA { <a> <p> 1 }"):
        sparql.update(text)
    sparql.update("CLEAR DEFAULT")
    flips = [message["notification"] for message in subscriber.all_so_far()]
    assert [(truth(flip["addedResults"]), truth(flip["removedResults"])) for flip in flips] == [
        (["true"], ["false"]),
        (["false"], ["true"]),
    ]


def test_a_construct_tells_triples(subscriber, sparql):
    """Each once, however many solutions make it; it goes with the last of them."""
    sparql.update("INSERT DATA { <a> <p> <b> }")
    first = subscriber.subscribe("CONSTRUCT { ?s <likes> <all>, ?o } WHERE { ?s <p> ?o }")
    assert triples(first["addedResults"]) == ["a likes all", "a likes b"]

    sparql.update("INSERT DATA { <a> <p> <c> }")
    sparql.update("DELETE DATA { <a> <p> <b> }")
    second, third = subscriber.notification(), subscriber.notification()
    assert (triples(second["addedResults"]), triples(second["removedResults"])) == (["a likes c"], [])
    assert (triples(third["addedResults"]), triples(third["removedResults"])) == ([], ["a likes b"])


def test_a_describe_tells_triples(subscriber, sparql):
    """What is said of the resource."""
    sparql.update("INSERT DATA { <a> <p> <b> . <c> <p> <a> }")
    first = subscriber.subscribe("DESCRIBE <a>")
    assert triples(first["addedResults"]) == ["a p b"]

    sparql.update("DELETE DATA { <a> <p> <b> }; INSERT DATA { <a> <q> <d> . <x> <q> <d> }")
    second = subscriber.notification()
    assert (triples(second["addedResults"]), triples(second["removedResults"])) == (["a q d"], ["a p b"])


def test_answers_are_bags(subscriber, sparql):
    """One more of an equal row is a change, and is one row."""
    sparql.update("INSERT DATA { <a> <p> 'x' . <b> <p> 'x' }")
    first = subscriber.subscribe("SELECT ?o { ?s <p> ?o }")
    assert values(first["addedResults"]) == [{"o": "x"}, {"o": "x"}]

    sparql.update("INSERT DATA { <c> <p> 'x' }")
    sparql.update("DELETE DATA { <a> <p> 'x' . <b> <p> 'x' }")
    second, third = subscriber.notification(), subscriber.notification()
    assert (values(second["addedResults"]), values(second["removedResults"])) == ([{"o": "x"}], [])
    assert (values(third["addedResults"]), values(third["removedResults"])) == ([], [{"o": "x"}] * 2)


def test_distinct_answers_are_sets(subscriber, sparql):
    """Here the second of a row is no change."""
    subscriber.subscribe("SELECT DISTINCT ?o { ?s <p> ?o }")
    sparql.update("INSERT DATA { <a> <p> 'x' }")
    sparql.update("INSERT DATA { <b> <p> 'x' }")
    sparql.update("DELETE DATA { <a> <p> 'x' }")

    [told] = subscriber.all_so_far()
    assert values(told["notification"]["addedResults"]) == [{"o": "x"}]


def test_an_unbound_variable_is_left_out_of_its_row(subscriber, sparql):
    """And is not equal to a bound one: the row with it goes, the extended row comes."""
    sparql.update("INSERT DATA { <a> <p> 'x' }")
    first = subscriber.subscribe("SELECT ?o ?n { ?s <p> ?o OPTIONAL { ?s <n> ?n } }")
    assert values(first["addedResults"]) == [{"o": "x"}]

    sparql.update("INSERT DATA { <a> <n> 'y' }")
    second = subscriber.notification()
    assert values(second["addedResults"]) == [{"o": "x", "n": "y"}]
    assert values(second["removedResults"]) == [{"o": "x"}]


def test_an_aggregate_tells_its_group_before_and_after(subscriber, sparql):
    """The old row goes, the new one comes."""
    subscriber.subscribe("SELECT (COUNT(*) AS ?n) { ?s <p> ?o }")
    sparql.update("INSERT DATA { <a> <p> 1, 2 }")

    told = subscriber.notification()
    assert values(told["addedResults"]) == [{"n": "2"}]
    assert values(told["removedResults"]) == [{"n": "0"}]


def test_every_kind_of_term_has_its_shape(subscriber, sparql):
    """xsd:string without datatype, language without datatype, a blank node by its label."""
    subscriber.subscribe("SELECT ?o { <a> <p> ?o }")
    sparql.update("INSERT DATA { <a> <p> 'x', 'x'@EN, 1, <i>, _:b }")

    added = subscriber.notification()["addedResults"]["results"]["bindings"]
    found = {
        row["o"]["type"] + row["o"].get("datatype", "") + row["o"].get("xml:lang", ""): row["o"]
        for row in added
    }
    assert found.pop("bnode")["value"]
    assert found == {
        "literal": {"type": "literal", "value": "x"},
        "literalen": {"type": "literal", "value": "x", "xml:lang": "en"},
        f"literal{XSD}integer": {"type": "literal", "value": "1", "datatype": f"{XSD}integer"},
        "uri": {"type": "uri", "value": "http://localhost/i"},
    }


@pytest.mark.parametrize("graphs", ["http://ex/g", ["http://ex/g"]])
def test_default_graph_uri_is_the_dataset_of_a_subscription(subscriber, sparql, graphs):
    """As one string (sepy) or an array; what happens elsewhere is not heard."""
    sparql.update("INSERT DATA { <a> <p> 'default' GRAPH <http://ex/g> { <a> <p> 'g' } }")
    first = subscriber.subscribe(
        "SELECT ?o FROM <http://ex/h> { ?s <p> ?o }", **{"default-graph-uri": graphs}
    )
    assert values(first["addedResults"]) == [{"o": "g"}]

    sparql.update("INSERT DATA { <a> <p> 'default 2' GRAPH <http://ex/h> { <a> <p> 'h' } }")
    sparql.update("INSERT DATA { GRAPH <http://ex/g> { <b> <p> 'g 2' } }")
    [told] = subscriber.all_so_far()
    assert values(told["notification"]["addedResults"]) == [{"o": "g 2"}]


@pytest.mark.parametrize("graphs", ["http://ex/g", ["http://ex/g", "http://ex/none"]])
def test_named_graph_uri_is_the_dataset_of_a_subscription(subscriber, sparql, graphs):
    """The graphs that GRAPH ?g ranges over."""
    subscriber.subscribe("SELECT ?g ?o { GRAPH ?g { ?s <p> ?o } }", **{"named-graph-uri": graphs})
    sparql.update("INSERT DATA { GRAPH <http://ex/h> { <a> <p> 'h' } }")
    sparql.update("INSERT DATA { GRAPH <http://ex/g> { <a> <p> 'g' } }")

    [told] = subscriber.all_so_far()
    assert values(told["notification"]["addedResults"]) == [{"g": "http://ex/g", "o": "g"}]


def test_equal_queries_over_different_datasets_are_different(subscriber, sparql):
    """SEPA's engine shares by the text alone."""
    plain = subscriber.subscribe("SELECT ?o { ?s <p> ?o }")
    graph = subscriber.subscribe("SELECT ?o { ?s <p> ?o }", **{"default-graph-uri": "http://ex/g"})
    sparql.update("INSERT DATA { <a> <p> 'default' }")
    sparql.update("INSERT DATA { GRAPH <http://ex/g> { <a> <p> 'g' } }")

    first, second = subscriber.notification(), subscriber.notification()
    assert (first["spuid"], values(first["addedResults"])) == (plain["spuid"], [{"o": "default"}])
    assert (second["spuid"], values(second["addedResults"])) == (graph["spuid"], [{"o": "g"}])


def test_relative_iris_mean_the_same_in_a_subscription(subscriber, sparql):
    """One base for query, update and subscribe; the usual prefixes are known."""
    subscriber.subscribe("SELECT ?o { <a> rdf:type ?o }")
    sparql.update("INSERT DATA { <http://localhost/a> a <B> }")

    assert values(subscriber.notification()["addedResults"]) == [{"o": "http://localhost/B"}]


def test_an_update_of_many_rows_is_one_message(subscriber, sparql):
    """10,000 rows come, and go, in one notification each (lunora PR#407)."""
    rows = " ".join(f"<s{number}> <p> {number} ." for number in range(10_000))
    subscriber.subscribe("SELECT ?s ?o { ?s <p> ?o }")
    sparql.update(f"INSERT DATA {{ {rows} }}")
    sparql.update("DELETE WHERE { ?s <p> ?o }")

    came, went = [message["notification"] for message in subscriber.all_so_far()]
    assert len(came["addedResults"]["results"]["bindings"]) == 10_000
    assert len(came["removedResults"]["results"]["bindings"]) == 0
    assert bag(came["addedResults"]) == bag(went["removedResults"])


def test_what_changes_no_answer_tells_nothing(subscriber, sparql):
    """What is there already, what was not there, other data, what is undone in the same request, what fails."""
    sparql.update("INSERT DATA { <a> <p> 1 }")
    subscriber.subscribe("SELECT ?s ?o { ?s <p> ?o }")
    for text in (
        "INSERT DATA { <a> <p> 1 }",
        "DELETE DATA { <a> <p> 2 }",
        "INSERT DATA { <a> <q> 1 }",
        "INSERT DATA { <b> <p> 1 }; DELETE DATA { <b> <p> 1 }",
        "INSERT DATA { GRAPH <g> { <a> <p> 2 } }",
        "",
    ):
        sparql.update(text)
    assert sparql.try_update("INSERT DATA { <b> <p> 1 }; CREATE GRAPH <g>").status_code == 400

    assert subscriber.all_so_far() == []
