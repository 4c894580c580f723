"""sepy, SEPA's Python client, as it is published: nothing of it is changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from foreign.foreigner import Foreigner, Raised
from foreign.installs import environment, python_packages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = [pytest.mark.foreign, pytest.mark.xdist_group("sepy"), pytest.mark.timeout(300)]

PREFIX = "http://sensors.example/"
PREFIXES = [f"PREFIX ex: <{PREFIX}>"]

PROFILE = {
    "namespaces": {"ex": PREFIX, "xsd": "http://www.w3.org/2001/XMLSchema#"},
    "updates": {
        "MEASURE": {
            "sparql": "DELETE { ?sensor ex:value ?old } INSERT { ?sensor ex:value ?new } "
            "WHERE { OPTIONAL { ?sensor ex:value ?old } }",
            "forcedBindings": {
                "sensor": {"type": "uri", "value": ""},
                "new": {"type": "literal", "datatype": "xsd:decimal", "value": ""},
            },
        },
        "NAME": {
            "sparql": "INSERT DATA { ?sensor ex:name ?label }",
            "forcedBindings": {
                "sensor": {"type": "uri", "value": "ex:unknown"},
                "label": {"type": "literal", "value": ""},
            },
        },
    },
    "queries": {
        "VALUES_OF": {
            "sparql": "SELECT ?v WHERE { ?sensor ex:value ?v }",
            "forcedBindings": {"sensor": {"type": "uri", "value": ""}},
        },
        "NAMES": {"sparql": "SELECT ?s ?n WHERE { ?s ex:name ?n }"},
    },
}


@pytest.fixture(scope="module")
def python() -> Path:
    """An interpreter that has sepy; requests it forgot to declare, and pkg_resources left setuptools with 81."""
    return python_packages(
        "sepy", "sepy==0.43.2.1", "requests", "setuptools<81", "websocket-client", "PyYAML"
    )


@pytest.fixture
def sepy(python: Path, jsap: dict[str, Any]) -> Iterator[Foreigner]:
    """A sepy client of the running broker, whose default graph has been cleared."""
    client = Foreigner(
        [str(python), "-W", "ignore", str(Path(__file__).with_name("sepy_driver.py"))], environment()
    )
    client.do("open", jsap=jsap | PROFILE)
    client.do("clear")
    yield client
    client.close()


def uri(name: str) -> dict[str, str]:
    return {"type": "uri", "value": PREFIX + name}


def literal(text: str) -> dict[str, str]:
    return {"type": "literal", "value": text}


def decimal(text: str) -> dict[str, str]:
    return literal(text) | {"datatype": "http://www.w3.org/2001/XMLSchema#decimal"}


def results(client: Foreigner, name: str) -> tuple[list[Any], list[Any]]:
    heard = client.event(name, "results")
    return heard["added"], heard["removed"]


def test_what_is_inserted_is_in_the_answer_to_query_all(sepy: Foreigner) -> None:
    """`query_all` gives the triples, with its three variables in the order of the text."""
    sepy.do("sparql_update", sparql=f"INSERT DATA {{ <{PREFIX}lamp> <{PREFIX}is> 'on' }}")
    answer = sepy.do("query_all")
    assert answer["head"]["vars"] == ["a", "b", "c"]
    assert answer["results"]["bindings"] == [{"a": uri("lamp"), "b": uri("is"), "c": literal("on")}]


def test_an_answer_can_be_drawn_as_a_table(sepy: Foreigner) -> None:
    """sepy's own table of an answer has a line for each row, its prefixes shortened."""
    sepy.do(
        "sparql_update",
        sparql=f"INSERT DATA {{ <{PREFIX}a> <{PREFIX}is> 'on' . <{PREFIX}b> <{PREFIX}is> 'off' }}",
    )
    table = sepy.do("table", results=sepy.do("query_all"), prefixes=PREFIXES)
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines() if "|" in line]
    assert cells[0] == ["a", "b", "c"]
    assert sorted(cells[1:]) == [
        ["(uri) ex:a", "(uri) ex:is", "(literal) on"],
        ["(uri) ex:b", "(uri) ex:is", "(literal) off"],
    ]
    assert table.endswith("2 result(s)")


def test_clear_empties_the_default_graph(sepy: Foreigner) -> None:
    """After `clear` nothing is left for `query_all`."""
    sepy.do("sparql_update", sparql=f"INSERT DATA {{ <{PREFIX}lamp> <{PREFIX}is> 'on' }}")
    sepy.do("clear")
    assert sepy.do("query_all")["results"]["bindings"] == []


def test_a_profile_s_update_and_query_take_forced_bindings(sepy: Foreigner) -> None:
    """A typed value written by the id of an update is read by the id of a query, as it is stored."""
    sepy.do("update", entry="MEASURE", bindings={"sensor": PREFIX + "s1", "new": "20.50"})
    answer = sepy.do("query", entry="VALUES_OF", bindings={"sensor": PREFIX + "s1"})
    assert answer["results"]["bindings"] == [{"v": decimal("20.5")}]


def test_a_default_binding_with_a_prefix_is_understood(sepy: Foreigner) -> None:
    """A forced binding that is left out takes its default from the profile."""
    sepy.do("update", entry="NAME", bindings={"label": "nobody"})
    assert sepy.do("query", entry="NAMES", bindings={})["results"]["bindings"] == [
        {"s": uri("unknown"), "n": literal("nobody")}
    ]


def test_a_required_forced_binding_is_demanded(sepy: Foreigner) -> None:
    """sepy itself refuses an id whose required binding is missing, and nothing is written."""
    with pytest.raises(Raised) as caught:
        sepy.do("update", entry="MEASURE", bindings={"sensor": PREFIX + "s1"})
    assert caught.value.kind == "KeyError"
    assert sepy.do("query_all")["results"]["bindings"] == []


def test_texts_keep_their_letters(sepy: Foreigner) -> None:
    """A text in Georgian comes back as it was sent."""
    sepy.do("sparql_update", sparql=f"INSERT DATA {{ <{PREFIX}x> <{PREFIX}says> 'გამარჯობა 🛰' }}")
    assert sepy.do("query_all")["results"]["bindings"][0]["c"] == literal("გამარჯობა 🛰")


def test_ask_gives_a_boolean(sepy: Foreigner) -> None:
    """The answer to ASK is JSON with `boolean`, and has no member `error`, at which sepy would give up."""
    answer = sepy.do("sparql_query", sparql=f"ASK {{ <{PREFIX}x> ?p ?o }}")
    assert answer["boolean"] is False
    assert "error" not in answer


def test_a_subscription_hears_first_results_then_each_change(
    sepy: Foreigner, health: Callable[[str, int], None]
) -> None:
    """First results, one row added, one replaced, and the end: sepy closes its socket when it is unsubscribed."""
    sepy.do("update", entry="MEASURE", bindings={"sensor": PREFIX + "s1", "new": "1"})
    spuid = sepy.do(
        "subscribe", name="s1", entry="VALUES_OF", alias="first", bindings={"sensor": PREFIX + "s1"}
    )
    assert spuid.startswith("sepa://subscription/")
    assert sepy.do("subscriptions") == [spuid]
    assert results(sepy, "s1") == ([{"v": decimal("1")}], [])

    sepy.do("update", entry="MEASURE", bindings={"sensor": PREFIX + "s1", "new": "2"})
    assert results(sepy, "s1") == ([{"v": decimal("2")}], [{"v": decimal("1")}])

    sepy.do("update", entry="MEASURE", bindings={"sensor": PREFIX + "s2", "new": "7"})
    sepy.do("sparql_update", sparql=f"DELETE WHERE {{ <{PREFIX}s1> ?p ?o }}")
    assert results(sepy, "s1") == ([], [{"v": decimal("2")}])

    sepy.do("unsubscribe", spuid=spuid)
    health("subscriptions", 0)
    health("sockets", 0)
    sepy.do("update", entry="MEASURE", bindings={"sensor": PREFIX + "s1", "new": "3"})
    assert sepy.seen("s1", "results") == 0


def test_two_subscriptions_are_told_apart(sepy: Foreigner, health: Callable[[str, int], None]) -> None:
    """Each handler hears its own rows only; sepy opens a socket for each."""
    ids = [
        sepy.do("subscribe", name=name, entry="VALUES_OF", alias=None, bindings={"sensor": PREFIX + name})
        for name in ("s1", "s2")
    ]
    health("sockets", 2)
    assert [results(sepy, name) for name in ("s1", "s2")] == [([], []), ([], [])]
    for name, value in (("s1", "1"), ("s2", "2")):
        sepy.do("update", entry="MEASURE", bindings={"sensor": PREFIX + name, "new": value})
    assert results(sepy, "s1") == ([{"v": decimal("1")}], [])
    assert results(sepy, "s2") == ([{"v": decimal("2")}], [])
    for spuid in ids:
        sepy.do("unsubscribe", spuid=spuid)
    health("subscriptions", 0)


def test_a_graph_given_as_one_text_is_the_default_graph(sepy: Foreigner) -> None:
    """sepy sends `default-graph-uri` as a string: the subscription sees that graph and no other."""
    graph = PREFIX + "graph"
    spuid = sepy.do(
        "sparql_subscribe",
        name="graph",
        sparql="SELECT ?o WHERE { ?s ?p ?o }",
        alias="g",
        default_graph=graph,
    )
    assert results(sepy, "graph") == ([], [])
    sepy.do("sparql_update", sparql=f"INSERT DATA {{ <{PREFIX}x> <{PREFIX}is> 'elsewhere' }}")
    sepy.do(
        "sparql_update", sparql=f"INSERT DATA {{ GRAPH <{graph}> {{ <{PREFIX}x> <{PREFIX}is> 'here' }} }}"
    )
    assert results(sepy, "graph") == ([{"o": literal("here")}], [])
    sepy.do("unsubscribe", spuid=spuid)
    sepy.do("sparql_update", sparql=f"DROP GRAPH <{graph}>")


def test_a_malformed_update_raises_with_the_broker_s_words(sepy: Foreigner) -> None:
    """sepy raises ValueError with the error object; the broker goes on, and nothing was written."""
    with pytest.raises(Raised) as caught:
        sepy.do("sparql_update", sparql="INSERT DATA { <a> <b> }")
    assert caught.value.kind == "ValueError"
    error = json.loads(caught.value.message)
    assert error["status_code"] == 400
    assert set(error) >= {"error", "status_code", "error_description"}
    assert sepy.do("query_all")["results"]["bindings"] == []


def test_a_malformed_query_raises(sepy: Foreigner) -> None:
    """sepy raises ValueError with the status; the broker goes on."""
    with pytest.raises(Raised, match="400") as caught:
        sepy.do("sparql_query", sparql="SELECT WHERE { ?s ?p")
    assert caught.value.kind == "ValueError"
    assert sepy.do("query_all")["results"]["bindings"] == []


def test_a_generated_profile_reaches_the_broker(sepy: Foreigner, jsap: dict[str, Any]) -> None:
    """A profile written by `generate` and read back leads to the same ports."""
    sparql11 = {key: jsap["sparql11protocol"][key] for key in ("protocol", "port", "query", "update")}
    written = sepy.do(
        "open_generated",
        host=jsap["host"],
        sparql11=sparql11,
        sparql11se=jsap["sparql11seprotocol"],
        queries={"ALL": {"sparql": "SELECT ?s ?o WHERE { ?s ex:is ?o }"}},
        updates={"SWITCH": {"sparql": "INSERT DATA { ex:lamp ex:is 'on' }"}},
        namespaces={"ex": PREFIX},
    )
    assert str(sparql11["port"]) in written
    sepy.do("update", entry="SWITCH", bindings={})
    spuid = sepy.do("subscribe", name="all", entry="ALL", alias="all", bindings={})
    assert results(sepy, "all") == ([{"s": uri("lamp"), "o": literal("on")}], [])
    sepy.do("unsubscribe", spuid=spuid)
