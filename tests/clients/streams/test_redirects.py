"""Where requests are sent on to, and where tokens may go."""

from urllib.parse import urlencode

import pytest

from triplewire.broker.errors import BrokerRefused
from triplewire.broker.wire.items import PUBLISHED
from triplewire.clients.flows import Reply
from triplewire.clients.streams.redirects import MOST_HOPS, Origin, Trail, Trust

TRACKER = "https://tracker.example/consume/events/compressed"
STREAM = "https://host.example/events/compressed"
RELAY = "https://relay.example:8002/events/compressed"


def to(location, status=307, **headers):
    return Reply(status, {"location": location, **headers})


def trail(url=TRACKER, *others, trusted=()):
    return Trail(url, Trust([url, *others], trusted))


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_it_goes_where_it_is_sent(status):
    """A relay's name is remembered."""
    way = trail()
    assert (way.url, way.is_moved, way.node) == (TRACKER, False, "")
    way.follow(to(RELAY, status, **{"triplewire-node": "r1"}), ())
    assert (way.url, way.is_moved, way.node) == (RELAY, True, "r1")


def test_a_location_can_be_relative():
    """To the URL that was asked (RFC 9110, 10.2.2); a fragment is none of the server's."""
    way = trail()
    way.follow(to("../../events/stream?a=b#c"), ())
    assert way.url == "https://tracker.example/events/stream?a=b"


def test_what_was_added_here_is_taken_off():
    """And nothing else; the next server is told anew."""
    way = trail()
    way.follow(to(f"{RELAY}?source=a&last-seen=x&source=b&overlap=3&ask=ASK%7B%7D"), ("last-seen", "overlap"))
    assert way.url == f"{RELAY}?source=a&source=b&ask=ASK%7B%7D"
    way = trail()
    way.follow(to(f"{RELAY}?last-seen=x"), ())
    assert way.url == f"{RELAY}?last-seen=x"


@pytest.mark.parametrize(
    ("location", "why"),
    [
        ("", "does not say where"),
        ("ftp://h/events", "sends us to ftp"),
        ("https://", "in a circle"),  # with nothing in it, it is where we were
        ("https://h:99999/x", "sends us to"),
        ("https://[::1/x", "sends us to"),
        ("https://h/\x00", "does not say where"),
        ("https://h/ä", "does not say where"),
        ("https://h/" + "x" * 66_000, "does not say where"),
        ("https://user:secret@h/x", "a password in it"),
        ("http://tracker.example/events/stream", "from https to http://tracker.example:80"),
        ("//relay.example/\x7f", "does not say where"),
        ("http:relay", "sends us to"),
        ("javascript:alert(1)", "sends us to"),
    ],
)
def test_where_it_does_not_go(location, why):
    """The error says which server wanted it; no secret of a Location is in it."""
    with pytest.raises(BrokerRefused, match=why) as caught:
        trail().follow(to(location), ())
    assert TRACKER in str(caught.value)
    assert "secret" not in str(caught.value)
    assert (caught.value.code, caught.value.status) == ("bad_redirect", 307)


def test_an_item_with_a_long_id_ends_no_consumer():
    """A tracker says it again in its Location: the longest one that can be published, escaped."""
    longest = urlencode({"last-seen": "é" * (PUBLISHED.header_bytes // 2)})
    way = trail()
    way.follow(to(f"{RELAY}?{longest}&overlap=10"), ("last-seen", "overlap"))
    assert way.url == RELAY


@pytest.mark.parametrize(
    "url", ["HTTPS://tracker.example/consume/events/compressed", "hTTps://host.example/events/stream"]
)
def test_nobody_makes_us_leave_tls_however_it_is_written(url):
    """Schemes are the same in capitals (RFC 3986, 3.1)."""
    with pytest.raises(BrokerRefused, match=r"from https to http://relay\.example:80"):
        trail(url).follow(to("HTTP://relay.example/events/stream"), ())


def test_a_relay_is_called_as_the_tracker_calls_it():
    """Also where there is no going there, and where it sends us on itself: it is what had better be avoided."""
    way = trail()
    with pytest.raises(BrokerRefused):
        way.follow(to("http://relay.example/events/stream", **{"triplewire-node": "r1"}), ())
    assert (way.url, way.is_moved, way.node) == (TRACKER, True, "r1")
    way = trail()
    way.follow(to(RELAY, **{"triplewire-node": "r1"}), ())
    way.follow(to("https://other.example/events/stream"), ())
    assert way.node == "r1"


def test_no_circles():
    """Also with what was added here."""
    way = trail()
    way.follow(to(RELAY), ())
    with pytest.raises(BrokerRefused, match="in a circle"):
        way.follow(to(f"{TRACKER}?last-seen=a"), ("last-seen",))


def test_not_for_ever():
    """As many hops as there may be, and none more."""
    way = trail()
    for hop in range(MOST_HOPS):
        way.follow(to(f"{RELAY}?hop={hop}"), ())
    with pytest.raises(BrokerRefused, match=f"more than {MOST_HOPS} times"):
        way.follow(to(f"{RELAY}?hop=more"), ())


@pytest.mark.parametrize(
    ("url", "hops", "shared"),
    [
        (STREAM, ["https://host.example/other/stream"], True),  # the same server
        (STREAM, ["https://HOST.example:443/other/stream"], True),
        (STREAM, ["https://host.example:8443/events/stream"], False),  # another one on its machine
        (STREAM, [RELAY], False),
        (STREAM, [RELAY, "https://host.example/events/stream"], True),  # and back
        (STREAM, [RELAY, "https://third.example/events/stream"], False),
        (TRACKER, [RELAY], True),  # a tracker that the user named
        (TRACKER, [RELAY, "https://third.example/events/stream"], False),  # a relay says so
        (TRACKER, ["https://tracker.example/consume/events/stream", RELAY], True),
        (
            TRACKER,
            ["https://other.example/consume/events/stream", RELAY],
            False,
        ),  # a tracker that nobody named
        (STREAM, ["https://other.example/consume/events/stream", RELAY], False),
        ("http://tracker.example/consume/events/stream", ["http://relay.example/events/stream"], True),
        ("http://host.example/events/stream", ["https://host.example/events/stream"], False),
        (STREAM, ["https://trusted.example/events/stream"], True),
        (STREAM, ["http://trusted.example/events/stream"], None),
        ("http://host.example/events/stream", ["http://trusted.example/events/stream"], False),
        (STREAM, ["https://trusted.example:444/events/stream"], False),
    ],
)
def test_who_gets_the_token(url, hops, shared):
    """Servers that the user named or trusts, and those that a tracker which the user named sends us to."""
    way = trail(url, trusted=["https://trusted.example"])
    assert way.shares_token
    if shared is None:
        with pytest.raises(BrokerRefused, match="from https to http"):
            way.follow(to(hops[0]), ())
        return
    for hop in hops:
        way.follow(to(hop), ())
    assert way.shares_token is shared


def test_all_urls_of_the_user_are_named():
    """A token is for each of them."""
    way = Trail(STREAM, Trust([STREAM, RELAY]))
    way.follow(to(RELAY), ())
    assert way.shares_token


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("host.example", "no http"),
        ("ftp://h", "no http"),
        ("https://", "no http"),
        ("https://h:x", "[Pp]ort"),
    ],
)
def test_a_trusted_server_is_a_url(url, why):
    """So that it is clear which one is meant."""
    with pytest.raises(ValueError, match=why):
        Trust([STREAM], [url])


def test_an_origin_is_written_with_its_port():
    """And with the brackets of IPv6."""
    assert str(Origin.of("https://h/x")) == "https://h:443"
    assert str(Origin.of("http://[::1]:8001/x")) == "http://[::1]:8001"
