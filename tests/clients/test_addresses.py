import pytest

from triplewire.clients.addresses import Addresses, socket_url


@pytest.mark.parametrize("url", ["http://localhost:8000", "http://localhost:8000/"])
def test_a_host_is_a_broker(url):
    """Its paths are those of SEPA and of the Graph Store Protocol."""
    assert Addresses.of(url) == Addresses(
        query="http://localhost:8000/query",
        update="http://localhost:8000/update",
        subscribe="ws://localhost:8000/subscribe",
        graph_store="http://localhost:8000/rdf-graph-store",
        register="http://localhost:8000/oauth/register",
        token="http://localhost:8000/oauth/token",
        revoke="http://localhost:8000/oauth/revoke",
    )


def test_a_broker_can_be_below_a_path():
    """Which ends with a slash."""
    at = Addresses.of("https://example.org/events/")

    assert at.query == "https://example.org/events/query"
    assert at.subscribe == "wss://example.org/events/subscribe"


def test_any_other_url_is_one_endpoint():
    """For queries and updates alike."""
    at = Addresses.of("https://example.org/sparql")

    assert at.query == at.update == "https://example.org/sparql"
    assert at.subscribe == "wss://example.org/subscribe"


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://example.org", "http://", "", "/query"])
def test_what_is_no_broker_is_refused(url):
    """Before anything is sent."""
    with pytest.raises(ValueError, match="http://"):
        Addresses.of(url)


@pytest.mark.parametrize(
    ("url", "socket"),
    [
        ("ws://localhost:9000/subscribe", "ws://localhost:9000/subscribe"),
        ("ws://localhost:9000", "ws://localhost:9000/subscribe"),
        ("wss://example.org/events/", "wss://example.org/events/subscribe"),
        ("http://localhost:8000", "ws://localhost:8000/subscribe"),
        ("https://example.org/secure/subscribe?a=b", "wss://example.org/secure/subscribe?a=b"),
    ],
)
def test_a_websocket_url_can_be_made_of_an_http_url(url, socket):
    """A path that is given stays."""
    assert socket_url(url) == socket


def test_a_url_without_a_scheme_is_no_websocket_url():
    """It is refused before anything is opened."""
    with pytest.raises(ValueError, match="ws://"):
        socket_url("localhost:9000")
