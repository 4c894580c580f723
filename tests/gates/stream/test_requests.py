"""What a request asks for, read from its head."""

from __future__ import annotations

import pytest

from triplewire.broker.errors import MalformedRequest, NotFound, Unauthorized
from triplewire.gates.stream.forms import EVENTS, LDJSON, ZTREAMY
from triplewire.gates.stream.requests import StreamRequest, qualities


def request(path="/events/stream", query="", version="1.1", **headers):
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return StreamRequest("GET", path, query, named, version, True)


@pytest.mark.parametrize(
    ("path", "stream", "access"),
    [
        ("/events/stream", "events", "stream"),
        ("/a.b-c_D/publish-cont", "a.b-c_D", "publish-cont"),
        ("/%65vents/long-polling", "events", "long-polling"),
    ],
)
def test_a_path_names_a_stream_and_an_access(path, stream, access):
    """Percent-decoded once."""
    assert request(path).target() == (stream, access)


@pytest.mark.parametrize("path", ["/", "//stream", "/stream", "/a/b/stream", "/a/stream/", "/a/next", "*"])
def test_other_paths_are_not_there(path):
    """404, whatever streams there are."""
    with pytest.raises(NotFound):
        request(path).target()


@pytest.mark.parametrize(
    ("query", "last_seen", "limit"),
    [
        ("", None, None),
        ("last-seen=a%20b", "a b", None),
        ("last-seen=", None, None),
        ("last-seen=x&past-events-limit=0", "x", 0),
        ("past-events-limit=20", None, 20),
        ("past-events-limit=", None, None),
    ],
)
def test_the_past(query, last_seen, limit):
    """As facts 1.4 have it: empty is absent."""
    assert request(query=query).past() == (last_seen, limit, None, None)


@pytest.mark.parametrize(
    ("overlap", "seconds"),
    [("", None), ("0", 0.0), ("10", 10.0), ("2.5", 2.5), ("61", 60.0), ("9" * 9, 60.0)],
)
def test_an_overlap_is_seconds(overlap, seconds):
    """A minute at most; empty is absent."""
    assert request(query=f"last-seen=x&overlap={overlap}").past() == ("x", None, seconds, None)


@pytest.mark.parametrize(
    ("away", "seconds"), [("", None), ("0", 0.0), ("2.5", 2.5), ("86400", 86400.0), ("9" * 9, 999_999_999.0)]
)
def test_how_long_it_was_away_is_seconds(away, seconds):
    """However many; empty is absent."""
    assert request(query=f"last-seen=x&away={away}").past() == ("x", None, None, seconds)


@pytest.mark.parametrize("name", ["overlap", "away"])
@pytest.mark.parametrize("seconds", ["-1", "x", "nan", "inf", "1e3", "1.", ".5", "٣", "1,5", "9" * 10])
def test_what_is_no_number_of_seconds_is_told(name, seconds):
    """Rather than items lost."""
    with pytest.raises(MalformedRequest, match=f"{name} must be a number of seconds"):
        request(query=f"{name}={seconds}").past()


def test_a_browser_s_own_header_is_newer_than_its_url():
    """An EventSource connects to the same URL again."""
    assert request(query="last-seen=1", last_event_id="2").past().last_seen == "2"


@pytest.mark.parametrize("limit", ["-1", "x", "1.5", "٣", "9" * 20])
def test_a_limit_that_is_no_number_is_404(limit):
    """Facts 1.4."""
    with pytest.raises(NotFound):
        request(query=f"past-events-limit={limit}").past()


def test_what_is_not_of_the_protocol_is_for_filters():
    """In their order, repeated ones too."""
    asked = request(query="source=a&last-seen=1&overlap=5&away=9&source=b&non-blocking=1&event-type=T")
    assert asked.conditions() == (("source", "a"), ("source", "b"), ("event-type", "T"))
    assert asked.non_blocking
    assert not request(query="non-blocking=0").non_blocking
    with pytest.raises(MalformedRequest):
        request(query="&".join(["a=b"] * 101)).conditions()


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        ("", ZTREAMY),
        ("*/*", ZTREAMY),
        ("application/x-ldjson", LDJSON),
        ("text/html, application/x-ldjson;q=0.5", LDJSON),
        ("text/event-stream", EVENTS),
    ],
)
def test_the_form_is_by_accept(accept, form):
    """A substring, as in Ztreamy."""
    assert request(accept=accept).form() is form


def test_long_polls_have_forms_of_their_own():
    """JSON and gzip, where they are asked for."""
    assert request(accept="application/json, text/javascript, */*; q=0.01").takes_json
    assert not request(accept="*/*").takes_json
    assert request(accept_encoding="gzip").takes_gzip
    assert not request(accept_encoding="identity").takes_gzip
    assert not request(accept_encoding="gzip;q=0, *").takes_gzip


@pytest.mark.parametrize(
    ("header", "found"),
    [
        ("deflate;q=1, identity;q=0.5", {"deflate": 1.0, "identity": 0.5}),
        ("GZIP ; Q=0.5", {"gzip": 0.5}),
        ("a;q=2, b;q=-1, c;q=x, d;q=nan, ,;", {}),
        ("a;x=y;q=0.3", {"a": 0.3}),
    ],
)
def test_weights(header, found):
    """What is none is passed over."""
    assert qualities(header) == found


def test_tokens():
    """Bearer and one; another scheme is as none."""
    assert request(authorization="bearer abc").token() == "abc"
    assert request(authorization="Basic abc").token() is None
    assert request().token() is None
    with pytest.raises(Unauthorized):
        request(authorization="Bearer a b").token()


def socket(query="", **headers):
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return StreamRequest("GET", "/events/stream", query, named, "1.1", keep_alive=False, websocket=True)


def test_a_websocket_may_have_its_token_in_the_url():
    """Browsers can set no header there; others have it in the header only, and it is never a filter's condition."""
    assert socket("access_token=a.b~c").token() == "a.b~c"
    assert (
        socket(
            "last-seen=1&access_token=abc",
        ).conditions()
        == ()
    )
    assert socket(authorization="Bearer abc").token() == "abc"
    assert socket().token() is None
    assert request(query="access_token=abc").token() is None


@pytest.mark.parametrize("query", ["access_token=", "access_token=a%20b", "access_token=a%0d%0ab"])
def test_a_token_in_the_url_that_is_none(query):
    """As in the header."""
    with pytest.raises(Unauthorized):
        socket(query).token()


def test_one_token_is_enough():
    """RFC 6750, 2: a client must not use two ways at once."""
    with pytest.raises(Unauthorized, match="one in the URL"):
        socket("access_token=abc", authorization="Bearer abc").token()
