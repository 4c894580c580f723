"""Profiles: queries and updates by name."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError

import pyoxigraph as ox
import pytest

from triplewire.broker.errors import ProfileError
from triplewire.broker.model import Query, Update
from triplewire.jsap import Profile

CHAT = {
    "host": "localhost",
    "sparql11protocol": {
        "protocol": "http",
        "port": 8000,
        "query": {"path": "/query", "method": "POST", "format": "JSON"},
        "update": {"path": "/update", "method": "POST", "format": "JSON"},
    },
    "sparql11seprotocol": {
        "protocol": "ws",
        "reconnect": False,
        "availableProtocols": {
            "ws": {"port": 9000, "path": "/subscribe"},
            "wss": {"port": 9443, "path": "/secure"},
        },
    },
    "graphs": {"default-graph-uri": ["urn:chat"], "using-graph-uri": ["urn:chat"]},
    "namespaces": {"chat": "http://wot.arces.unibo.it/chat#"},
    "extended": {"clients": 5, "list": [1, {"a": 1}]},
    "updates": {
        "SEND": {
            "sparql": "INSERT DATA {chat:m rdf:value ?text ; chat:from ?sender}",
            "forcedBindings": {
                "text": {"type": "literal", "value": "Ciao!"},
                "sender": {"type": "uri", "value": ""},
            },
        },
        "OWN": {
            "sparql": "DROP ALL",
            "graphs": {"using-graph-uri": [], "using-named-graph-uri": ["urn:n"]},
            "sparql11protocol": {"host": "there", "port": 81, "update": {"path": "up"}},
        },
    },
    "queries": {
        "SENT": {
            "sparql": "SELECT * {?m rdf:value ?text ; chat:from ?sender}",
            "forcedBindings": {"sender": {"type": "uri"}},
        },
        "LOG": {
            "sparql": "SELECT * {?s ?p ?o}",
            "graphs": {"default-graph-uri": ["urn:log"], "named-graph-uri": "urn:n"},
            "host": "log",
            "sparql11protocol": {"protocol": "https", "port": 443, "query": {"method": "GET"}},
            "sparql11seprotocol": {"host": "events", "protocol": "wss"},
        },
    },
}


@pytest.fixture
def chat():
    """The profile that the tests share."""
    return Profile.of(CHAT)


def test_an_update_is_bound_and_has_its_prefixes(chat):
    """Only those it uses, on one line before the text."""
    update = chat.update("SEND", sender="chat:Ann")
    assert update == Update(
        "PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> PREFIX chat: <http://wot.arces.unibo.it/chat#> "
        'INSERT DATA {chat:m rdf:value "Ciao!" ; chat:from <http://wot.arces.unibo.it/chat#Ann>}',
        using_graphs=("urn:chat",),
    )
    ox.Store().update(update.sparql)


def test_values_come_by_name_or_as_a_mapping(chat):
    """Both may be given; names that Python can't write need the mapping."""
    by_name = chat.update("SEND", text="x", sender="urn:a")
    assert chat.update("SEND", {"text": "x", "sender": "urn:a"}) == by_name
    assert chat.update("SEND", {"text": "x"}, sender="urn:a") == by_name


def test_names_of_parameters_are_free_for_variables():
    """A variable may be called self, or as the method calls its own."""
    names = ["self", "update_id", "query_id", "values"]
    entry = {
        "sparql": "ASK {?self ?update_id ?query_id, ?values}",
        "forcedBindings": {name: {"type": "uri"} for name in names},
    }
    query = Profile.of({"queries": {"Q": entry}}).query(
        "Q", self="a:1", update_id="a:2", query_id="a:3", values="a:4"
    )
    assert query.sparql == "ASK {<a:1> <a:2> <a:3>, <a:4>}"


def test_the_dataset_is_the_entry_s_or_else_the_profile_s(chat):
    """An entry that lists no graphs means none."""
    assert chat.query("SENT", sender="urn:a").default_graphs == ("urn:chat",)
    assert chat.query("LOG") == Query("SELECT * {?s ?p ?o}", ("urn:log",), ("urn:n",))
    assert chat.update("OWN") == Update("DROP ALL", (), ("urn:n",))


def test_urls(chat):
    """The entry's protocol over the profile's; the entry's host, the protocol's, the profile's."""
    assert chat.query_url("SENT") == "http://localhost:8000/query"
    assert chat.update_url("SEND") == "http://localhost:8000/update"
    assert chat.subscribe_url("SENT") == "ws://localhost:9000/subscribe"
    assert chat.query_url("LOG") == "https://log:443/query"
    assert chat.subscribe_url("LOG") == "wss://events:9443/secure"
    assert chat.update_url("OWN") == "http://there:81/up"
    assert chat.query_endpoint("LOG").method == "GET"
    assert chat.update_endpoint("OWN").method == "POST"


def test_hosts_of_the_protocols_come_before_the_profile_s():
    """In both protocols, and behind the entry's own."""
    document = {
        "host": "top",
        "sparql11protocol": {"host": "http"},
        "sparql11seprotocol": {"host": "se"},
        "queries": {"Q": {"sparql": ""}, "R": {"sparql": "", "host": "own"}},
        "updates": {"U": {"sparql": ""}},
    }
    profile = Profile.of(document)
    assert profile.query_url("Q") == "http://http:8000/sparql"
    assert profile.update_url("U") == "http://http:8000/sparql"
    assert profile.subscribe_url("Q") == "ws://se:9000/subscribe"
    assert profile.query_url("R") == "http://own:8000/sparql"
    assert profile.subscribe_url("R") == "ws://own:9000/subscribe"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda chat: chat.query("SEMT"),
            r"queries.SEMT: there is no 'SEMT' among the queries; did you mean SENT\?",
        ),
        (lambda chat: chat.update("SENT"), r"updates.SENT: .*; did you mean SEND\?"),
        (lambda chat: chat.query_url("x"), "there are LOG, SENT"),
        (lambda chat: chat.update_url("x"), "there are OWN, SEND"),
        (lambda chat: chat.subscribe_url("SEND"), r"did you mean SENT\?"),
    ],
)
def test_an_unknown_id_is_named_with_those_near_it(chat, call, message):
    """Queries and updates have names of their own."""
    with pytest.raises(ProfileError, match=message):
        call(chat)


def test_errors_of_values_name_the_entry(chat):
    """By the path into the document."""
    with pytest.raises(ProfileError, match=r"updates\.SEND\.forcedBindings\.sender: \?sender needs a value"):
        chat.update("SEND")
    with pytest.raises(ProfileError, match=r"updates\.SEND\.forcedBindings\.sender: 'a b' is not an IRI"):
        chat.update("SEND", sender="a b")
    with pytest.raises(ProfileError, match=r"queries\.SENT\.forcedBindings\.sendr: .* did you mean sender"):
        chat.query("SENT", sendr="urn:a")


def test_a_profile_never_changes(chat):
    """Values do not stick, and nothing that comes out of it leads back in."""
    before = repr(chat), chat.extended
    chat.update("SEND", text="sticky", sender="urn:a")
    assert '"Ciao!"' in chat.update("SEND", sender="urn:a").sparql
    mine = chat.extended
    mine["list"][1]["a"] = 2
    with pytest.raises(TypeError):
        chat.queries["NEW"] = chat.queries["SENT"]
    with pytest.raises(TypeError):
        chat.queries["SENT"].forced_bindings["x"] = None
    with pytest.raises(TypeError):
        chat.namespaces["rdf"] = "urn:mine:"
    with pytest.raises(FrozenInstanceError):
        chat.host = "there"
    assert (repr(chat), chat.extended) == before


def test_a_profile_does_not_see_changes_of_its_source():
    """The document stays the caller's, and unchanged."""
    document = json.loads(json.dumps(CHAT))
    profile = Profile.of(document)
    assert document == CHAT
    document["queries"]["LOG"]["sparql"] = "changed"
    document["extended"]["clients"] = 6
    assert profile.query("LOG").sparql == "SELECT * {?s ?p ?o}"
    assert profile.extended["clients"] == 5


def test_extended_is_plain_json(chat):
    """It can be written again."""
    assert json.loads(json.dumps(chat.extended)) == CHAT["extended"]
    assert Profile.of({}).extended == {}


def test_reconnect_is_on_unless_it_is_off(chat):
    """As SEPA's clients have it."""
    assert chat.reconnect is False
    assert Profile.of({}).reconnect is True


def test_files_in_json_and_yaml(tmp_path):
    """By path, by string, by file: URL."""
    (tmp_path / "chat.jsap").write_text(json.dumps(CHAT))
    (tmp_path / "chat.ysap").write_text(
        'host: "yes"\nqueries:\n  Q:\n    sparql: |\n      SELECT *\n      {?s ?p ?o}\n'
    )
    for path in (tmp_path / "chat.jsap", str(tmp_path / "chat.jsap"), (tmp_path / "chat.jsap").as_uri()):
        assert Profile.load(path).query_url("SENT") == "http://localhost:8000/query"
    yaml = Profile.load(tmp_path / "chat.ysap")
    assert (yaml.host, yaml.query("Q").sparql) == ("yes", "SELECT *\n{?s ?p ?o}\n")
    with pytest.raises(ProfileError, match="not a file"):
        Profile.load("http://localhost/chat.jsap")


def test_included_files(tmp_path):
    """Loading follows them; a document only from a folder that it is given."""
    (tmp_path / "base.jsap").write_text(json.dumps(CHAT))
    (tmp_path / "mine.jsap").write_text(json.dumps({"include": ["base.jsap"]}))
    assert Profile.load(tmp_path / "mine.jsap").host == "localhost"
    assert Profile.of({"include": "base.jsap"}, tmp_path).host == "localhost"
    with pytest.raises(ProfileError, match=r"include\[0\]"):
        Profile.of({"include": "base.jsap"})


def test_overrides_set_members_by_their_path(tmp_path):
    """Over what all files say, and only for this profile."""
    overrides = {
        "host": "other",
        "sparql11protocol.port": 8001,
        "sparql11seprotocol.availableProtocols.ws.port": 9001,
    }
    profile = Profile.of(CHAT, overrides=overrides)
    assert profile.query_url("SENT") == "http://other:8001/query"
    assert profile.subscribe_url("SENT") == "ws://other:9001/subscribe"
    assert CHAT["host"] == "localhost"
    (tmp_path / "chat.jsap").write_text(json.dumps(CHAT))
    assert Profile.load(tmp_path / "chat.jsap", overrides={"host": "o"}).host == "o"


def test_lines_stay_the_author_s():
    """What is added before the text has no line of its own."""
    profile = Profile.of({"queries": {"Q": {"sparql": "SELECT *\n{?s rdf:type ?o\n}"}}})
    assert profile.query("Q").sparql.count("\n") == 2


def test_several_values_in_a_query(chat):
    """A list is all of them."""
    query = chat.query("SENT", sender=["chat:Ann", "chat:Bob"])
    assert (
        "VALUES ?sender { <http://wot.arces.unibo.it/chat#Ann> <http://wot.arces.unibo.it/chat#Bob> }"
        in query.sparql
    )


def test_unknown_members_are_nobody_s_business():
    """Newer and older files may have them."""
    Profile.of({"x": 1, "updates_with": {}, "graphsX": [], "queries": {"Q": {"sparql": "ASK {}", "y": 2}}})


def test_a_member_of_the_wrong_shape_is_an_error():
    """With its path."""
    with pytest.raises(ProfileError, match=r"queries\.Q\.sparql: missing"):
        Profile.of({"queries": {"Q": {}}})
    deep: dict = {}
    for _ in range(200):
        deep = {"a": deep}
    with pytest.raises(ProfileError, match="nested more than 100 deep"):
        Profile.of({"extended": deep})
