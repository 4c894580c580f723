"""The SPARQL 1.1 Secure Event Protocol: the shapes of its messages, as unmodified clients of SEPA need them."""

from __future__ import annotations

import re

import pytest
from support.subscriber import Subscriber, values

pytestmark = pytest.mark.xdist_group("gates-websocket-session")

ALL = "SELECT ?s ?o WHERE { ?s <p> ?o }"
SPUID = re.compile(r"sepa://subscription/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def shape(*rows):
    """Results over ?s and ?o, in full."""
    return {
        "head": {"vars": ["s", "o"]},
        "results": {
            "bindings": [
                {"s": {"type": "uri", "value": f"http://localhost/{s}"}, "o": {"type": "literal", "value": o}}
                for s, o in rows
            ]
        },
    }


def test_the_answer_to_a_subscribe_is_the_first_notification(subscriber, sparql):
    """Sequence 0, spuid, alias, and both sides in full shape: dashboards read removedResults.head.vars of it."""
    sparql.update("INSERT DATA { <a> <p> 'x' }")
    heard = subscriber.exchange({"subscribe": {"sparql": ALL, "alias": "mine"}})

    assert set(heard) == {"notification"}
    spuid = heard["notification"].pop("spuid")
    assert SPUID.fullmatch(spuid)
    assert heard["notification"] == {
        "alias": "mine",
        "sequence": 0,
        "addedResults": shape(("a", "x")),
        "removedResults": shape(),
    }


def test_an_empty_answer_has_its_variables_too(subscriber):
    """And no alias where none was given."""
    notification = subscriber.subscribe(ALL)

    assert set(notification) == {"spuid", "sequence", "addedResults", "removedResults"}
    assert notification["addedResults"] == notification["removedResults"] == shape()


def test_a_notification_has_both_sides_in_full(subscriber, sparql):
    """The same spuid, the next sequence."""
    spuid = subscriber.subscribe(ALL, alias="mine")["spuid"]
    sparql.update("INSERT DATA { <a> <p> 'x' }")
    sparql.update("DELETE DATA { <a> <p> 'x' }; INSERT DATA { <b> <p> 'y' }")

    first, second = subscriber.notification(), subscriber.notification()
    assert (first["spuid"], second["spuid"]) == (spuid, spuid)
    assert (first["sequence"], second["sequence"]) == (1, 2)
    assert (first["addedResults"], first["removedResults"]) == (shape(("a", "x")), shape())
    assert (second["addedResults"], second["removedResults"]) == (shape(("b", "y")), shape(("a", "x")))


def test_a_socket_holds_several_subscriptions(subscriber, sparql):
    """sepa-js pools by URL; each has its spuid, alias and sequence."""
    one = subscriber.subscribe(ALL, alias="one")
    two = subscriber.subscribe("SELECT ?o { <b> <p> ?o }", alias="two")
    three = subscriber.subscribe(ALL, alias="three")
    assert len({one["spuid"], two["spuid"], three["spuid"]}) == 3

    sparql.update("INSERT DATA { <a> <p> 'x' }")
    sparql.update("INSERT DATA { <b> <p> 'y' }")
    heard = [message["notification"] for message in subscriber.all_so_far()]
    told = sorted((message["spuid"], message["sequence"]) for message in heard)
    assert told == sorted(
        [(one["spuid"], 1), (one["spuid"], 2), (two["spuid"], 1), (three["spuid"], 1), (three["spuid"], 2)]
    )


def test_an_unsubscribe_ends_one_subscription_and_keeps_the_socket(subscriber, sparql):
    """{"unsubscribed":{"spuid":..}} and nothing more of that one."""
    one, two = subscriber.subscribe(ALL), subscriber.subscribe(ALL)

    assert subscriber.exchange({"unsubscribe": {"spuid": one["spuid"]}}) == {
        "unsubscribed": {"spuid": one["spuid"]}
    }
    sparql.update("INSERT DATA { <a> <p> 'x' }")
    [heard] = subscriber.all_so_far()
    assert heard["notification"]["spuid"] == two["spuid"]
    assert sparql.health()["subscriptions"] == 1
    assert subscriber.subscribe(ALL)["sequence"] == 0


def test_an_unsubscribed_spuid_is_unknown_afterwards(subscriber):
    """sid_not_found with status 500, as SEPA's engine: its Java client retries 404."""
    spuid = subscriber.subscribe(ALL)["spuid"]
    subscriber.exchange({"unsubscribe": {"spuid": spuid}})
    heard = subscriber.exchange({"unsubscribe": {"spuid": spuid, "alias": "again"}})

    assert heard["error"] == "sid_not_found"
    assert heard["status_code"] == 500
    assert heard["alias"] == "again"
    assert spuid in heard["error_description"]


def test_only_the_owner_may_unsubscribe(subscriber, sparql, url):
    """To know a spuid is not to own it; to the stranger it is not there."""
    spuid = subscriber.subscribe(ALL)["spuid"]
    with Subscriber(url) as stranger:
        assert stranger.exchange({"unsubscribe": {"spuid": spuid}})["error"] == "sid_not_found"
        stranger.subscribe("ASK { <a> <p> ?o }")
        assert stranger.exchange({"unsubscribe": {"spuid": spuid}})["error"] == "sid_not_found"

    sparql.update("INSERT DATA { <a> <p> 'x' }")
    assert subscriber.notification()["sequence"] == 1


@pytest.mark.parametrize(
    ("message", "error", "status", "says"),
    [
        ({"subscribe": {"sparql": "SELECT"}}, "parsing failed", 400, "Parsing failed: line 1"),
        ({"subscribe": {}}, "Exception", 400, "sparql member not found"),
        ({"subscribe": {"sparql": "DROP ALL"}}, "parsing failed", 400, "this is an update"),
        (
            {"subscribe": {"sparql": ALL, "default-graph-uri": "no iri"}},
            "bad_request",
            400,
            "not an absolute IRI",
        ),
        ({"subscribe": {"sparql": ALL, "named-graph-uri": [1]}}, "Exception", 400, "array of IRIs"),
        ({"unsubscribe": {"spuid": "sepa://subscription/none"}}, "sid_not_found", 500, "no subscription"),
        ({"unsubscribe": {}}, "Exception", 400, "spuid member not found"),
    ],
)
def test_an_error_has_three_members_and_the_alias(subscriber, message, error, status, says):
    """sepa-js knows by the alias alone which of its requests has failed, and waits for ever without."""
    [(_, body)] = message.items()
    body["alias"] = "my alias"
    heard = subscriber.exchange(message)

    assert set(heard) == {"error", "status_code", "error_description", "alias"}
    assert (heard["error"], heard["status_code"], heard["alias"]) == (error, status, "my alias")
    assert says in heard["error_description"]
    assert subscriber.subscribe(ALL)["sequence"] == 0


@pytest.mark.parametrize(
    "message",
    [{"neither": 1, "alias": "top"}, {"subscribe": 7, "alias": "top"}, {"unsubscribe": None, "alias": "top"}],
)
def test_an_alias_beside_the_request_is_echoed_too(subscriber, message):
    """Where the request itself can't be read."""
    assert subscriber.exchange(message)["alias"] == "top"


@pytest.mark.parametrize(
    "members",
    [
        {"alias": None},
        {"default-graph-uri": []},
        {"default-graph-uri": None, "named-graph-uri": ""},
        {"timeout": 60000, "headers": {"X": 1}, "httpsAgent": {"sockets": {}, "filler": "x" * 20_000}},
        {"authorization": "Bearer abc"},
    ],
)
def test_what_real_clients_send_besides_is_not_minded(subscriber, members):
    """sepy, sepa-js and the Java API, in this order and as observed."""
    heard = subscriber.exchange(
        {"subscribe": {"sparql": ALL} | members, "authorization": "raw", "headers": {}, "foreign": [1]}
    )

    assert heard["notification"]["sequence"] == 0
    assert "alias" not in heard["notification"]


def test_text_of_every_script_comes_through(subscriber, sparql):
    """In the alias and in the answer, as UTF-8."""
    text = 'გამარჯობა, \u0000\u001f\u2028"\\ 😀'
    spoken = subscriber.subscribe(ALL, alias=text)
    sparql.update("INSERT DATA { <a> <p> 'გამარჯობა \\u0001\\t😀' }")

    assert spoken["alias"] == text
    assert values(subscriber.notification()["addedResults"])[0]["o"] == "გამარჯობა \u0001\t😀"


@pytest.mark.parametrize(
    "message",
    [
        '{"subscribe":{"sparql":"ASK {}","alias":"\\ud800x"}}',
        '{"subscribe":{"sparql":"nonsense","alias":"\\udfff"}}',
        '{"subscribe":{"sparql":"ASK { ?s ?p \'\\ud800\' }","alias":"a"}}',
        '{"subscribe":{"sparql":"ASK {}","default-graph-uri":"urn:\\ud800"}}',
        '{"unsubscribe":{"spuid":"\\udfff","alias":"\\udfff"}}',
        '{"\\ud800":1,"alias":"\\ud800"}',
    ],
)
def test_half_a_surrogate_pair_does_no_harm(subscriber, sparql, message):
    """JSON can say it and UTF-8 can't: the message is answered, and the connection and its writer go on."""
    heard = subscriber.exchange(message)
    assert set(heard) & {"notification", "error"}
    assert 400 <= heard.get("status_code", 400) <= 500

    subscriber.subscribe(ALL)
    sparql.update("INSERT DATA { <a> <p> 'x' }")
    told = [sent["notification"] for sent in subscriber.all_so_far()]
    assert all(notification["sequence"] == 1 for notification in told)
    assert told


@pytest.mark.parametrize("path", ["/", "/nowhere", "/subscribe/x", "/secure", "/Subscribe", "/sparql"])
def test_a_wrong_path_is_told_for_each_message(broker, url, path):
    """The handshake is taken on any path, as SEPA's engine does; the alias is echoed."""
    base = url.removesuffix("/subscribe")
    with Subscriber(f"{base}{path}") as client:
        heard = [client.exchange({"subscribe": {"sparql": ALL, "alias": alias}}) for alias in ("a", "b")]
        heard.append(client.exchange({"unsubscribe": {"alias": "c"}}))
        nameless = client.exchange("no JSON")

    assert [message["alias"] for message in heard] == ["a", "b", "c"]
    assert {message["error"] for message in [*heard, nameless]} == {"wrong_path"}
    assert {message["status_code"] for message in heard} == {404}
    assert heard[0]["error_description"] == f"subscriptions are at /subscribe, not at {path}"


@pytest.mark.parametrize("path", ["/secure/subscribe", "/subscribe/", "/subscribe?token=x"])
def test_the_path_has_the_same_aliases_as_over_http(url, path):
    """/secure, a slash at the end, a query string."""
    with Subscriber(f"{url.removesuffix('/subscribe')}{path}") as client:
        assert client.subscribe(ALL)["sequence"] == 0
