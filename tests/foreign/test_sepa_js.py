"""@arces-wot/sepa-js, SEPA's JavaScript client, as it is published: nothing of it is changed."""

from __future__ import annotations

import copy
import socket
from typing import TYPE_CHECKING, Any

import pytest
from foreign.foreigner import Foreigner, Raised
from foreign.installs import HERE, environment, node_packages, program

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = [pytest.mark.foreign, pytest.mark.xdist_group("sepa-js"), pytest.mark.timeout(300)]

HELLO = "SELECT ?said WHERE { <js> <says> ?said }"

PROFILE = {
    "namespaces": {"exp": "http://www.w3.org/example#"},
    "updates": {
        "plain": {"sparql": "INSERT DATA { <js> <is> 'plain' }"},
        "switch": {
            "sparql": "DELETE { ?lamp exp:is ?was } INSERT { ?lamp exp:is ?state } "
            "WHERE { OPTIONAL { ?lamp exp:is ?was } }",
            "forcedBindings": {
                "lamp": {"type": "uri", "value": "exp:lamp1"},
                "state": {"type": "literal", "value": "off"},
            },
        },
        "forget": {"sparql": "DELETE WHERE { ?s ?p ?o }"},
    },
    "queries": {
        "everything": {"sparql": "SELECT * WHERE { ?s ?p ?o }"},
        "state": {
            "sparql": "SELECT ?state WHERE { ?lamp exp:is ?state.}",
            "forcedBindings": {"lamp": {"type": "uri", "value": "exp:lamp1"}},
        },
    },
}


@pytest.fixture(scope="module")
def modules() -> Path:
    """The folder with sepa-js and what it depends on."""
    return node_packages("sepa-js")


@pytest.fixture
def sepa(modules: Path, jsap: dict[str, Any]) -> Iterator[Foreigner]:
    """A sepa-js client of the running broker, whose default graph has been cleared."""
    command = [program("node"), str(HERE / "js" / "sepa_driver.cjs")]
    client = Foreigner(command, environment(NODE_PATH=str(modules)))
    client.do("open", jsap=jsap)
    client.do("update", sparql="CLEAR ALL")
    yield client
    client.close()


@pytest.fixture
def nowhere(jsap: dict[str, Any]) -> dict[str, Any]:
    """A configuration whose ports nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    elsewhere = copy.deepcopy(jsap)
    elsewhere["sparql11protocol"]["port"] = port
    elsewhere["sparql11seprotocol"]["availableProtocols"]["ws"]["port"] = port
    return elsewhere


def values(result: dict[str, Any], variable: str) -> list[str]:
    return [row[variable]["value"] for row in result["results"]["bindings"]]


# The core API.


def test_a_query_answers_with_results_json(sepa: Foreigner) -> None:
    """The data that a query's promise brings is a parsed document with head and bindings."""
    answer = sepa.do("query", sparql=HELLO + " LIMIT 1")
    assert answer["head"]["vars"] == ["said"]
    assert answer["results"]["bindings"] == []


def test_an_update_is_answered_with_200(sepa: Foreigner) -> None:
    """sepa-js hands on the status and its text; both are those of success."""
    assert sepa.do("update", sparql="INSERT DATA { <js> <says> 'hello' }") == {
        "status": 200,
        "statusText": "OK",
    }


def test_relative_iris_are_resolved_alike_everywhere(sepa: Foreigner) -> None:
    """What is written with relative IRIs is found with them, by query and by subscription."""
    sepa.do("update", sparql="INSERT DATA { <hello> <from> 'js' }")
    answer = sepa.do("query", sparql="select * where { ?s ?p 'js' }")
    assert answer["head"]["vars"] == ["s", "p"]
    assert values(answer, "s")[0].endswith("/hello")
    assert values(sepa.do("query", sparql="select ?o where { <hello> <from> ?o }"), "o") == ["js"]
    sepa.do("subscribe", name="relative", sparql="select ?o where { <hello> <from> ?o }")
    assert values(sepa.event("relative", "added"), "o") == ["js"]


def test_a_subscription_begins_with_sequence_zero(sepa: Foreigner) -> None:
    """`subscribed` and `notification` are told of the same first message: spuid, alias and both sides in full."""
    alias = sepa.do("subscribe", name="first", sparql=HELLO)
    first = sepa.event("first", "subscribed")
    assert first == sepa.event("first", "notification")
    assert (first["sequence"], first["alias"]) == (0, alias)
    assert first["spuid"].startswith("sepa://subscription/")
    for side in ("addedResults", "removedResults"):
        assert first[side] == {"head": {"vars": ["said"]}, "results": {"bindings": []}}


def test_an_update_is_notified(sepa: Foreigner) -> None:
    """After the first results comes one notification for each update that changes the answer."""
    sepa.do("subscribe", name="hello", sparql=HELLO)
    assert sepa.event("hello", "notification")["sequence"] == 0
    sepa.do("update", sparql="INSERT DATA { <js> <says> 'hello' }")
    added = sepa.event("hello", "notification")
    assert (added["sequence"], values(added["addedResults"], "said")) == (1, ["hello"])
    sepa.do("update", sparql="INSERT DATA { <js> <says> 'hello' }")
    sepa.do("update", sparql="DELETE DATA { <js> <says> 'hello' }")
    removed = sepa.event("hello", "notification")
    assert (removed["sequence"], values(removed["removedResults"], "said")) == (2, ["hello"])
    assert values(removed["addedResults"], "said") == []


def test_unsubscribing_ends_it(sepa: Foreigner, health: Callable[[str, int], None]) -> None:
    """`unsubscribed` names the subscription; sepa-js then closes a socket that nobody needs."""
    sepa.do("subscribe", name="hello", sparql=HELLO)
    spuid = sepa.event("hello", "subscribed")["spuid"]
    health("subscriptions", 1)
    sepa.do("unsubscribe", name="hello")
    assert sepa.event("hello", "unsubscribed")["unsubscribed"]["spuid"] == spuid
    health("subscriptions", 0)
    health("sockets", 0)


def test_a_malformed_subscribe_is_an_error_event(sepa: Foreigner) -> None:
    """sepa-js finds whose error it is by the alias alone."""
    alias = sepa.do("subscribe", name="bad", sparql="SELECTED ?x WHERE { ?x ?y ?z }", alias="mine")
    error = sepa.event("bad", "error")
    assert error["alias"] == alias == "mine"
    assert error["status_code"] == 400
    assert isinstance(error["error"], str)
    assert error["error_description"]
    assert sepa.seen("bad", "notification") == 0


def test_a_malformed_subscribe_harms_no_other_on_its_socket(sepa: Foreigner) -> None:
    """The socket stays open and its other subscription is still told."""
    sepa.do("subscribe", name="good", sparql=HELLO)
    sepa.event("good", "subscribed")
    sepa.do("subscribe", name="bad", sparql="SELECT ?x WHERE {", alias="bad")
    sepa.event("bad", "error")
    sepa.do("kill", name="bad")
    sepa.do("update", sparql="INSERT DATA { <js> <says> 'still here' }")
    sepa.event("good", "notification")
    assert values(sepa.event("good", "notification")["addedResults"], "said") == ["still here"]
    assert sepa.seen("good", "error") == 0


def test_two_subscriptions_share_a_socket(sepa: Foreigner, health: Callable[[str, int], None]) -> None:
    """One socket, two ids, each hears its own; ending one leaves the other, ending both closes the socket."""
    for name in ("one", "two"):
        sepa.do("subscribe", name=name, sparql=f"SELECT ?o WHERE {{ <{name}> <is> ?o }}")
    ids = {sepa.event(name, "subscribed")["spuid"] for name in ("one", "two")}
    assert len(ids) == 2
    health("subscriptions", 2)
    health("sockets", 1)

    sepa.do("update", sparql="INSERT DATA { <one> <is> 'first' }")
    sepa.do("update", sparql="INSERT DATA { <two> <is> 'second' }")
    for name, value in (("one", "first"), ("two", "second")):
        assert sepa.event(name, "notification")["sequence"] == 0
        heard = sepa.event(name, "notification")
        assert (heard["sequence"], values(heard["addedResults"], "o")) == (1, [value])

    sepa.do("unsubscribe", name="one")
    sepa.event("one", "unsubscribed")
    health("subscriptions", 1)
    sepa.do("update", sparql="DELETE WHERE { ?s <is> ?o }")
    assert values(sepa.event("two", "notification")["removedResults"], "o") == ["second"]
    assert sepa.seen("one", "notification") == 0
    sepa.do("unsubscribe", name="two")
    sepa.event("two", "unsubscribed")
    health("sockets", 0)


@pytest.mark.parametrize("verb", ["query", "update"])
def test_malformed_sparql_rejects_the_promise(sepa: Foreigner, verb: str) -> None:
    """The rejection holds the broker's status and its error object."""
    with pytest.raises(Raised, match="400") as caught:
        sepa.do(verb, sparql="this is { not SPARQL")
    assert '"status_code":400' in caught.value.message
    assert sepa.do("query", sparql=HELLO)["results"]["bindings"] == []


def test_the_ready_made_client_is_told_where_to_go_call_by_call(
    sepa: Foreigner, jsap: dict[str, Any]
) -> None:
    """The exported `client` reaches the broker with a configuration in each call."""
    sepa.do("subscribe_at", name="hello", sparql=HELLO, config=jsap)
    sepa.event("hello", "subscribed")
    assert sepa.do("update_at", sparql="INSERT DATA { <js> <says> 'hello' }", config=jsap)["status"] == 200
    assert values(sepa.do("query_at", sparql=HELLO, config=jsap), "said") == ["hello"]
    sepa.event("hello", "notification")
    assert values(sepa.event("hello", "notification")["addedResults"], "said") == ["hello"]
    sepa.do("unsubscribe", name="hello")
    sepa.event("hello", "unsubscribed")


def test_a_query_to_nobody_is_rejected(sepa: Foreigner, nowhere: dict[str, Any]) -> None:
    """Where no broker listens the promise is rejected; the client goes on."""
    with pytest.raises(Raised, match="ECONNREFUSED"):
        sepa.do("query_at", sparql=HELLO, config=nowhere)
    assert sepa.do("query", sparql=HELLO)["head"]["vars"] == ["said"]


def test_a_subscription_to_nobody_is_a_connection_error(sepa: Foreigner, nowhere: dict[str, Any]) -> None:
    """The broker's absence is told as `connection-error` or by a reconnect that never succeeds, not as results."""
    sepa.do("subscribe_at", name="lost", sparql=HELLO, config=nowhere)
    assert sepa.do("query", sparql=HELLO)["head"]["vars"] == ["said"]
    assert sepa.seen("lost", "notification") == 0


# Jsap: an application's updates and queries by name.


@pytest.fixture
def application(sepa: Foreigner, jsap: dict[str, Any]) -> Foreigner:
    """The client with a profile loaded."""
    names = sepa.do("profile", jsap=jsap | copy.deepcopy(PROFILE))
    assert names == {"producers": ["plain", "switch", "forget"], "consumers": ["everything", "state"]}
    return sepa


def test_a_producer_writes(application: Foreigner) -> None:
    """A producer without bindings is answered with 200, and its triple is there."""
    assert application.do("produce", id="plain")["status"] == 200
    assert values(application.do("query", sparql="SELECT ?o { <js> <is> ?o }"), "o") == ["plain"]


def test_a_producer_takes_its_defaults(application: Foreigner) -> None:
    """Forced bindings that are not given have the values of the profile."""
    assert application.do("produce", id="switch")["status"] == 200
    assert values(application.do("ask", id="state"), "state") == ["off"]


def test_a_producer_s_bindings_override_its_defaults(application: Foreigner) -> None:
    """A binding that is given replaces the profile's; a prefixed name stays one."""
    assert (
        application.do("produce", id="switch", bindings={"lamp": "exp:lamp2", "state": "on"})["status"] == 200
    )
    assert values(application.do("ask", id="state", bindings={"lamp": "exp:lamp2"}), "state") == ["on"]


def test_a_relative_iri_as_a_binding_is_found_again(application: Foreigner) -> None:
    """A uri binding that is no prefixed name is sent as a relative IRI, and means the same in both."""
    application.do("produce", id="switch", bindings={"lamp": "js", "state": "dim"})
    assert values(application.do("ask", id="state", bindings={"lamp": "js"}), "state") == ["dim"]


def test_several_values_for_a_binding_become_values(application: Foreigner) -> None:
    """An array is sent as VALUES, and the rows of each value come."""
    for lamp, state in (("exp:lamp1", "on"), ("exp:lamp2", "off"), ("exp:lamp3", "dim")):
        application.do("produce", id="switch", bindings={"lamp": lamp, "state": state})
    answer = application.do("ask", id="state", bindings={"lamp": ["exp:lamp1", "exp:lamp2"]})
    assert sorted(values(answer, "state")) == ["off", "on"]


def test_a_consumer_begins_with_what_is_there(application: Foreigner) -> None:
    """A consumer without bindings hears sequence 0."""
    application.do("produce", id="plain")
    application.do("consume", name="all", id="everything", bindings={})
    first = application.event("all", "notification")
    assert (first["sequence"], values(first["addedResults"], "o")) == (0, ["plain"])
    assert first["addedResults"]["head"]["vars"] == ["s", "p", "o"]


def test_a_consumer_takes_its_defaults(application: Foreigner) -> None:
    """A consumer's forced bindings have the values of the profile."""
    application.do("produce", id="switch")
    application.do("consume", name="lamp", id="state", bindings={})
    first = application.event("lamp", "notification")
    assert (first["sequence"], values(first["addedResults"], "state")) == (0, ["off"])


def test_a_consumer_s_bindings_override_its_defaults(application: Foreigner) -> None:
    """A binding that is given decides what the consumer hears."""
    application.do("produce", id="switch")
    application.do("consume", name="lamp", id="state", bindings={"lamp": "exp:lamp2"})
    first = application.event("lamp", "notification")
    assert (first["sequence"], values(first["addedResults"], "state")) == (0, [])


def test_a_producer_reaches_a_consumer(application: Foreigner) -> None:
    """After everything is forgotten, what the producer writes is the consumer's second message."""
    assert application.do("call", id="forget")["status"] == 200
    application.do("consume", name="lamp", id="state", bindings={})
    assert application.event("lamp", "notification")["sequence"] == 0
    application.do("produce", id="switch", bindings={"state": "on"})
    second = application.event("lamp", "notification")
    assert (second["sequence"], values(second["addedResults"], "state")) == (1, ["on"])
    application.do("unsubscribe", name="lamp")
    application.event("lamp", "unsubscribed")
