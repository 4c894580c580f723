"""Where operations go."""

from __future__ import annotations

import pytest

from triplewire.clients.application import Application
from triplewire.clients.flows import Method
from triplewire.clients.mcp.addressing import Addressing, streams_beside
from triplewire.jsap.profile import Profile

PROFILE = Profile.of(
    {
        "host": "profile.example",
        "namespaces": {"ex": "http://example.org/"},
        "sparql11protocol": {
            "protocol": "http",
            "port": 8000,
            "query": {"path": "/q", "method": "GET", "format": "JSON"},
            "update": {"path": "/u", "method": "URL_ENCODED_POST", "format": "JSON"},
        },
        "sparql11seprotocol": {"protocol": "ws", "availableProtocols": {"ws": {"port": 9000, "path": "/s"}}},
        "queries": {"Q": {"sparql": "SELECT * { ?s ex:p ?o }"}},
    }
)


def test_without_a_profile_all_goes_to_the_broker():
    """Each to its own path."""
    at = Addressing("http://b:1", None, "")
    assert at.query("ASK {}").url == "http://b:1/query"
    assert at.update("CLEAR ALL").url == "http://b:1/update"
    assert at.subscription("ASK {}").url == "ws://b:1/subscribe"


def test_a_profiles_addresses_count_where_no_url_was_given():
    """With its methods; a text has its prefixes."""
    at = Addressing(None, Application(PROFILE), "")
    assert (at.query("Q").url, at.query("Q").method) == ("http://profile.example:8000/q", Method.GET)
    assert at.update("CLEAR ALL").url == "http://profile.example:8000/u"
    assert at.subscription("Q").url == "ws://profile.example:9000/s"
    assert "PREFIX ex: <http://example.org/>" in at.query("ASK { ?s ex:p 1 }").operation.sparql


def test_a_url_counts_over_the_profiles():
    """The operations stay the profile's."""
    at = Addressing("http://b:1", Application(PROFILE), "")
    assert (at.query("Q").url, at.query("Q").method) == ("http://b:1/query", Method.POST)
    assert at.update("CLEAR ALL").url == "http://b:1/update"
    assert at.subscription("Q").url == "ws://b:1/subscribe"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://b:8000", "http://b:8001"),
        ("https://b:8443/query", "https://b:8444"),
        ("http://[::1]:8000", "http://[::1]:8001"),
    ],
)
def test_the_stream_port_is_on_the_same_host(url, expected):
    """By default at its own default port."""
    assert streams_beside(url) == expected
