"""Older spellings become the present one."""

from __future__ import annotations

import copy

import pytest

from triplewire.broker.errors import ProfileError
from triplewire.jsap.profile import Profile
from triplewire.jsap.spellings import present

FIRST_YEARS = {
    "parameters": {
        "host": "mml.arces.unibo.it",
        "ports": {"http": 8000, "https": 8443, "ws": 9000, "wss": 9443},
        "paths": {
            "query": "/query",
            "update": "/update",
            "subscribe": "/subscribe",
            "register": "/oauth/register",
            "tokenRequest": "/oauth/token",
            "securePath": "/secure",
        },
        "methods": {"query": "POST", "update": "URL_ENCODED_POST"},
        "formats": {"query": "JSON", "update": "HTML"},
        "security": {
            "client_id": "...",
            "client_secret": "...",
            "jwt": "...",
            "expires": "...",
            "type": "...",
        },
        "extended": {"test": 1},
    },
    "namespaces": {"chat": "http://wot.arces.unibo.it/chat#"},
    "queries": {"Q": {"sparql": "SELECT * {?s ?p chat:x}"}},
    "updates": {"U": {"sparql": "INSERT DATA {<a> <b> <c>}"}},
}


def test_parameters_of_the_first_years():
    """Hosts, ports, paths, methods and formats are found where they stand today."""
    profile = Profile.of(FIRST_YEARS)
    assert profile.query_endpoint("Q").method == "POST"
    assert profile.query_url("Q") == "http://mml.arces.unibo.it:8000/query"
    assert profile.update_endpoint("U").format == "HTML"
    assert profile.update_url("U") == "http://mml.arces.unibo.it:8000/update"
    assert profile.subscribe_url("Q") == "ws://mml.arces.unibo.it:9000/subscribe"
    assert profile.extended == {"test": 1}


def test_the_secure_path_of_the_first_years():
    """It goes before the path of wss, and OAuth is on the HTTPS port."""
    profile = Profile.of(FIRST_YEARS, overrides={"sparql11seprotocol.protocol": "wss"})
    assert profile.subscribe_url("Q") == "wss://mml.arces.unibo.it:9443/secure/subscribe"
    assert profile.oauth.register == "https://mml.arces.unibo.it:8443/oauth/register"
    assert profile.oauth.token == "https://mml.arces.unibo.it:8443/oauth/token"
    assert profile.oauth.authentication["client_id"] == "..."
    assert profile.oauth.enable is False


def test_everything_may_stand_under_parameters():
    """Entries and namespaces too; what stands beside them wins."""
    inner = {
        **FIRST_YEARS["parameters"],
        "namespaces": {"a": "urn:a:"},
        "queries": {"Q": {"sparql": "ASK {}"}},
    }
    profile = Profile.of({"parameters": inner, "host": "there"})
    assert profile.query("Q").sparql == "ASK {}"
    assert profile.namespaces["a"] == "urn:a:"
    assert profile.host == "there"


def test_parameters_in_the_present_spelling_inside():
    """For some months the protocols stood under parameters as they are today."""
    inner = {
        "host": "h",
        "sparql11protocol": {"protocol": "https", "port": 444, "query": {"path": "/q"}},
        "oauth": {"enable": True},
    }
    profile = Profile.of({"parameters": inner, "queries": {"Q": {"sparql": "ASK {}"}}})
    assert profile.query_url("Q") == "https://h:444/q"
    assert profile.oauth.enable is True


@pytest.mark.parametrize("register", ["register", "registration"])
def test_security_inside_of_the_se_protocol(register):
    """OAuth's paths of 2018 become URLs; the secure path goes before that of wss, once."""
    document = {
        "host": "h",
        "sparql11seprotocol": {
            "protocol": "wss",
            "availableProtocols": {"wss": {"port": 9443, "path": "/subscribe"}},
            "security": {
                register: "/oauth/register",
                "tokenRequest": "/oauth/token",
                "securePath": "/secure",
            },
        },
        "queries": {"Q": {"sparql": "ASK {}"}},
    }
    profile = Profile.of(document)
    assert profile.subscribe_url("Q") == "wss://h:9443/secure/subscribe"
    assert profile.oauth.register == "https://h:8443/oauth/register"
    assert profile.oauth.token == "https://h:8443/oauth/token"
    assert present(present(document)) == present(document)


def test_a_member_of_today_wins_over_the_old_one():
    """`oauth` says more than `security`."""
    document = {
        "host": "h",
        "oauth": {"tokenRequest": "https://h/token"},
        "sparql11seprotocol": {"security": {"tokenRequest": "/old", "register": "/r"}},
    }
    oauth = present(document)["oauth"]
    assert oauth["tokenRequest"] == "https://h/token"
    assert oauth["register"] == "https://h:8443/r"


@pytest.mark.parametrize(
    "graphs",
    [
        {"default-graph-uri": "http://g"},
        {"default-graph-uri": ["http://g"]},
        {"default_graph_uri": "http://g"},
        {"default_graph_uri": ["http://g"]},
        {"default-graph-uri ": "http://g"},
    ],
)
def test_graphs_with_hyphens_or_underscores(graphs):
    """One graph or many, in any spelling, in the profile or in an entry."""
    entry = {"sparql": "ASK {}"}
    assert Profile.of({"graphs": graphs, "queries": {"Q": entry}}).query("Q").default_graphs == ("http://g",)
    profile = Profile.of({"queries": {"Q": {**entry, "graphs": graphs}}})
    assert profile.query("Q").default_graphs == ("http://g",)


def test_includes_in_both_spellings():
    """`include` and `#include`, one name or many, become one list."""
    assert present({"include": "a", "#include": ["b", "c"]}) == {"include": ["a", "b", "c"]}
    with pytest.raises(ProfileError, match="include: expected a string or an array"):
        present({"include": 1})


def test_the_document_that_is_respelled_stays_as_it_was():
    """The caller's document is not touched."""
    before = copy.deepcopy(FIRST_YEARS)
    present(FIRST_YEARS)
    assert before == FIRST_YEARS


def test_unknown_members_stay():
    """They are nobody's business here."""
    assert present({"x": [1], "updates_with": {}}) == {"x": [1], "updates_with": {}}
