import pandas as pd
import pytest
from pyoxigraph import Literal, NamedNode, Triple

from triplewire.broker.errors import BrokerRefused, ConnectionLost
from triplewire.broker.model import Bindings
from triplewire.clients import SparqlClient
from triplewire.clients.notebook import frame, query

ONE, TWO = Literal(1), Literal(2)


def test_bindings_keep_order_and_duplicates():
    """A row for each row."""
    made = frame(Bindings(("b", "a"), ((TWO, None), (ONE, NamedNode("urn:x")), (ONE, NamedNode("urn:x")))))

    assert list(made.columns) == ["b", "a"]
    assert made["b"].tolist() == [2, 1, 1]
    assert made["a"].tolist() == [pd.NA, "urn:x", "urn:x"]
    assert made.index.tolist() == [0, 1, 2]


def test_solutions_tell_their_variables_by_what_is_bound():
    """Or they are given."""
    rows = [{"a": ONE}, {"b": TWO, "a": ONE}]

    assert list(frame(rows).columns) == ["a", "b"]
    given = frame(iter(rows), ["c", "b"])
    assert given["b"].tolist() == [pd.NA, 2]
    assert given["c"].isna().all()


def test_triples():
    """As CONSTRUCT answers."""
    made = frame([Triple(NamedNode("urn:s"), NamedNode("urn:p"), ONE)])

    assert made.to_dict("records") == [{"subject": "urn:s", "predicate": "urn:p", "object": 1}]


def test_answers_without_rows_or_variables():
    """Neither loses the other."""
    assert frame(Bindings(("a",), ())).shape == (0, 1)
    assert frame(Bindings((), ((), ()))).shape == (2, 0)
    assert frame([]).shape == (0, 0)


@pytest.mark.parametrize("nonsense", [1, "SELECT", [1], [{"a": ONE}, 2]])
def test_other_things_are_refused(nonsense):
    """With what it was."""
    with pytest.raises(TypeError, match=type(nonsense).__name__):
        frame(nonsense)


def test_the_forms_of_a_query(broker):
    """At a real broker: SELECT, ASK, CONSTRUCT with and without triples."""
    with SparqlClient(broker.http) as client:
        client.update("INSERT DATA { <urn:s> <urn:p> 1, 2.5 }")

    assert query(broker.http, "SELECT ?o { <urn:s> <urn:p> ?o } ORDER BY ?o")["o"].tolist() == [1.0, 2.5]
    assert query(broker.http, "ASK { <urn:s> <urn:p> 1 }")["boolean"].tolist() == [True]
    assert len(query(broker.http, "CONSTRUCT WHERE { ?s ?p ?o }")) == 2
    assert list(query(broker.http, "CONSTRUCT WHERE { ?s <urn:q> ?o }").columns) == [
        "subject",
        "predicate",
        "object",
    ]


def test_what_the_broker_says_against_it_is_kept(broker):
    """And who is not there is told of."""
    with pytest.raises(BrokerRefused, match="line 1"):
        query(broker.http, "SELECT nonsense")
    with pytest.raises(ConnectionLost):
        query("http://127.0.0.1:1", "ASK {}")
