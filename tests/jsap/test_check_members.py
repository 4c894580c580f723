"""Problems of members that are no texts."""

from __future__ import annotations

import pytest

from triplewire.jsap import check_members as members
from triplewire.jsap.entries import KNOWN_NAMESPACES


def _strings(problems):
    return [str(problem) for problem in problems]


@pytest.mark.parametrize(
    ("document", "count"),
    [
        ({"host": "h"}, 0),
        ({"sparql11protocol": {"host": "h"}, "sparql11seprotocol": {"host": "h"}}, 0),
        ({"sparql11protocol": {"host": "h"}}, 1),
        ({}, 1),
    ],
)
def test_hosts(document, count):
    """One for all, or one for each protocol."""
    assert len(list(members.host_problems(document))) == count


def test_paths_with_blanks_or_without_a_slash():
    """They are put right, but other clients may not do so."""
    document = {
        "sparql11protocol": {"query": {"path": "secure/query"}, "update": {"path": "/update "}},
        "sparql11seprotocol": {"availableProtocols": {"ws": {"path": " s"}}},
    }
    found = [*members.protocol_problems(document, ""), *members.subscription_problems(document, "")]
    assert _strings(found) == [
        "warning: sparql11protocol.query.path: 'secure/query' does not begin with /; one is added",
        "warning: sparql11protocol.update.path: '/update ' has blanks around it; they are dropped",
        "warning: sparql11seprotocol.availableProtocols.ws.path: ' s' has blanks around it; they are dropped",
        "warning: sparql11seprotocol.availableProtocols.ws.path: ' s' does not begin with /; one is added",
    ]


def test_words_that_are_none_of_the_protocol_s():
    """Protocols, methods, formats and schemes, in an entry as in the profile."""
    document = {
        "sparql11protocol": {
            "protocol": "ftp",
            "query": {"method": "PUT", "format": "YAML"},
            "update": {"method": "GET", "format": "HTML"},
        },
        "sparql11seprotocol": {"protocol": "wss", "availableProtocols": {"ws": {"scheme": "http"}}},
    }
    found = [
        *members.protocol_problems(document, "queries.Q"),
        *members.subscription_problems(document, "queries.Q"),
    ]
    assert _strings(found) == [
        "error: queries.Q.sparql11protocol.protocol: 'ftp' is none of http, https, jena_api, jena-api",
        "error: queries.Q.sparql11protocol.query.method: 'PUT' is none of GET, POST, URL_ENCODED_POST",
        "error: queries.Q.sparql11protocol.query.format: 'YAML' is none of JSON, XML, CSV",
        "error: queries.Q.sparql11protocol.update.method: 'GET' is none of POST, URL_ENCODED_POST",
        "error: queries.Q.sparql11seprotocol.availableProtocols.ws.scheme: 'http' is none of ws, wss",
        "error: queries.Q.sparql11seprotocol.protocol: 'wss' is none of ws",
    ]


def test_graphs_and_namespaces_are_iris():
    """And graphs have four names only."""
    document = {
        "graphs": {"default-graph-uri": ["urn:a", "a b"], "graphsX": []},
        "namespaces": {"a": "urn:a", "b": "b>"},
    }
    assert _strings(members.graph_problems(document, "")) == [
        "warning: graphs.graphsX: not a member that is read",
        "error: graphs.default-graph-uri: 'a b' is not an IRI: it has ' '; write it percent-encoded",
    ]
    assert _strings(members.namespace_problems(document)) == [
        "error: namespaces.b: 'b>' is not an IRI: it has '>'; write it percent-encoded"
    ]


def test_a_namespace_that_is_no_iri_stays_declared():
    """It is a problem once, and not at each use."""
    usable = members.usable_namespaces({"namespaces": {"a": "urn:a:", "b": "b>", "c": 5}})
    assert usable == {**KNOWN_NAMESPACES, "a": "urn:a:", "b": "urn:undeclared:b:", "c": "urn:undeclared:c:"}
    assert members.usable_namespaces({"namespaces": 5}) == KNOWN_NAMESPACES


def test_oauth_without_a_way_to_tokens():
    """Enabled is not enough."""
    assert _strings(members.oauth_problems({"oauth": {"enable": True}})) == [
        "warning: oauth: enabled, but there is no URL to get tokens from"
    ]
    assert _strings(members.oauth_problems({"oauth": {"enable": True, "tokenRequest": "https://h/t"}})) == []
