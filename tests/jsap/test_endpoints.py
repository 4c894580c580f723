"""Where operations are sent."""

from __future__ import annotations

import pytest

from triplewire.broker.errors import ProfileError
from triplewire.jsap.endpoints import Endpoint, http_endpoint, port_number, subscribe_endpoint


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        ({}, Endpoint("http://h:8000/sparql", "URL_ENCODED_POST", "JSON")),
        ({"protocol": "jena_api"}, Endpoint("http://h:8000/sparql", "URL_ENCODED_POST", "JSON")),
        ({"protocol": "https"}, Endpoint("https://h:443/sparql", "URL_ENCODED_POST", "JSON")),
        (
            {"protocol": "http", "port": 80, "query": {"path": "/q", "method": "get", "format": "XML"}},
            Endpoint("http://h:80/q", "GET", "XML"),
        ),
        (
            {"port": "8001", "query": {"path": "secure/query"}},
            Endpoint("http://h:8001/secure/query", "URL_ENCODED_POST", "JSON"),
        ),
        ({"query": {"path": "/query "}}, Endpoint("http://h:8000/query", "URL_ENCODED_POST", "JSON")),
    ],
)
def test_an_http_endpoint(protocol, expected):
    """Defaults are SEPA's; a path needs no slash before it and no blanks around it."""
    assert http_endpoint("query", protocol, "h") == expected


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        ({}, "ws://h:9000/subscribe"),
        ({"protocol": "wss"}, "wss://h:443/subscribe"),
        ({"protocol": "ws", "availableProtocols": {"ws": {"port": 1, "path": "s"}}}, "ws://h:1/s"),
        (
            {"protocol": "wss", "availableProtocols": {"wss": {"port": 9443, "path": "/secure/s "}}},
            "wss://h:9443/secure/s",
        ),
        (
            {"protocol": "mine", "availableProtocols": {"mine": {"scheme": "wss", "port": 2}}},
            "wss://h:2/subscribe",
        ),
        ({"protocol": "mine", "availableProtocols": {"mine": {}}}, "ws://h:9000/subscribe"),
        ({"protocol": "ws", "availableProtocols": {"wss": {"port": 5}}}, "ws://h:9000/subscribe"),
    ],
)
def test_a_subscribe_endpoint(protocol, expected):
    """The chosen one of the available protocols; its scheme is its name where it has none."""
    assert subscribe_endpoint(protocol, "h").url == expected


@pytest.mark.parametrize(
    ("host", "expected"), [("::1", "[::1]"), ("[::1]", "[::1]"), ("10.0.0.1", "10.0.0.1"), (" h ", "h")]
)
def test_hosts(host, expected):
    """IPv6 addresses get their brackets."""
    assert http_endpoint("query", {}, host).url == f"http://{expected}:8000/sparql"


@pytest.mark.parametrize("host", [None, "", " "])
def test_without_a_host_there_is_no_url(host):
    """The error names the member."""
    with pytest.raises(ProfileError, match="host: no host is given"):
        http_endpoint("update", {}, host)
    with pytest.raises(ProfileError, match="host: no host is given"):
        subscribe_endpoint({}, host)


@pytest.mark.parametrize("host", ["http://h", "h/x", "u@h", "a b"])
def test_a_host_is_a_host(host):
    """It is no URL and no part of one."""
    with pytest.raises(ProfileError, match="not the name of a host"):
        http_endpoint("update", {}, host)


@pytest.mark.parametrize("port", ["x", 0, -1, 65536, True, [], {}])
def test_a_port_is_a_number(port):
    """From 1 to 65535."""
    with pytest.raises(ProfileError, match=r"x\.port: .* is not a port"):
        port_number(port, "x")


def test_a_protocol_that_is_not_available():
    """Only ws and wss need no entry of their own."""
    with pytest.raises(ProfileError, match="'mine' is none of the availableProtocols"):
        subscribe_endpoint({"protocol": "mine", "availableProtocols": {"ws": {}}}, "h")
    with pytest.raises(ProfileError, match="expected ws or wss, not 'http'"):
        subscribe_endpoint({"availableProtocols": {"ws": {"scheme": "http"}}}, "h")
