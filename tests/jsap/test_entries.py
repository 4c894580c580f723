"""The parts of a profile as nouns."""

from __future__ import annotations

import pytest

from triplewire.broker.errors import ProfileError
from triplewire.jsap.entries import Graphs, entries, entry, namespaces, oauth
from triplewire.jsap.terms import ForcedBinding


def test_an_entry_has_all_its_members():
    """Text, forced bindings, graphs, protocols and authentication."""
    found = entry(
        "Q",
        {
            "sparql": "ASK {?s ?p ?o}",
            "forcedBindings": {
                "s": {"type": "uri"},
                "o": {"type": "literal", "value": "v", "datatype": "xsd:date", "language": ""},
            },
            "graphs": {"default-graph-uri": ["urn:g"], "named-graph-uri": []},
            "host": "h",
            "sparql11protocol": {"port": 1},
            "sparql11seprotocol": {"protocol": "wss"},
            "authentication": {"a": [1]},
        },
        "queries.Q",
    )
    assert (found.id, found.path, found.sparql, found.host) == ("Q", "queries.Q", "ASK {?s ?p ?o}", "h")
    assert found.forced_bindings == {
        "s": ForcedBinding("uri"),
        "o": ForcedBinding("literal", "v", "xsd:date"),
    }
    assert found.graphs == Graphs(default=("urn:g",), named=())
    assert found.protocol == {"port": 1}
    assert found.se_protocol == {"protocol": "wss"}
    assert found.authentication == {"a": (1,)}


@pytest.mark.parametrize(
    ("value", "path", "reason"),
    [
        ([], "queries.Q", "expected an object, not an array"),
        ({}, "queries.Q.sparql", "missing"),
        ({"sparql": 5}, "queries.Q.sparql", "expected a string"),
        ({"sparql": "", "forcedBindings": []}, "queries.Q.forcedBindings", "expected an object"),
        ({"sparql": "", "forcedBindings": {"x": "uri"}}, "queries.Q.forcedBindings.x", "expected an object"),
        (
            {"sparql": "", "forcedBindings": {"x": {"type": 1}}},
            "queries.Q.forcedBindings.x.type",
            "expected a string",
        ),
        (
            {"sparql": "", "graphs": {"using-graph-uri": [1]}},
            "queries.Q.graphs.using-graph-uri",
            "array of strings",
        ),
    ],
)
def test_what_is_no_entry(value, path, reason):
    """The path leads to the member."""
    with pytest.raises(ProfileError, match=reason) as raised:
        entries({"queries": {"Q": value}}, "queries")
    assert raised.value.path == path


def test_well_known_namespaces():
    """rdf, rdfs, owl and xsd are always known, and the profile's own win."""
    known = namespaces({"namespaces": {"rdf": "urn:mine:", "ex": "urn:ex:"}})
    assert known["rdf"] == "urn:mine:"
    assert known["ex"] == "urn:ex:"
    assert set(known) == {"rdf", "rdfs", "owl", "xsd", "ex"}


def test_oauth_of_the_older_files():
    """`register` and `tokenRequest` are URLs."""
    found = oauth({"oauth": {"enable": True, "register": "https://h/r", "tokenRequest": "https://h/t"}})
    assert (found.enable, found.register, found.token, found.provider) == (
        True,
        "https://h/r",
        "https://h/t",
        "sepa",
    )


def test_oauth_of_the_newer_files():
    """Registration and authentication have members of their own, and there is a provider."""
    found = oauth(
        {
            "oauth": {
                "enable": True,
                "ssl": "TLSv1.2",
                "trustall": True,
                "loadTrustMaterial": {"jks": "sepa.jks", "secret": "s"},
                "provider": "keycloak",
                "registration": {"endpoint": "https://h/r", "initialAccessToken": "x", "username": "u"},
                "authentication": {"endpoint": "https://h/t", "client_secret": "hidden"},
            }
        }
    )
    assert (found.register, found.token, found.provider) == ("https://h/r", "https://h/t", "keycloak")
    assert (found.ssl, found.trust_all, found.trust_material["jks"]) == ("TLSv1.2", True, "sepa.jks")
    assert found.registration["username"] == "u"
    assert "hidden" not in repr(found)


def test_without_oauth_it_is_off():
    """No member is no security."""
    assert oauth({}).enable is False
    assert oauth({}).token is None
