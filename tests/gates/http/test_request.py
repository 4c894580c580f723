"""Reading a request: parameters, headers, its own URL and its body, without a network."""

from __future__ import annotations

import asyncio
import gzip
from urllib.parse import quote, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triplewire.broker.config import HttpConfig, LimitsConfig
from triplewire.broker.errors import (
    DeadlineExceeded,
    MalformedRequest,
    RequestTooLarge,
    TooManyRequests,
    UnsupportedMediaType,
)
from triplewire.gates.http.request import ClientGone, HttpRequest, Parameters


def request_of(*parts: bytes | None, path: str = "/query", **headers: str) -> HttpRequest:
    """A request whose body comes in parts; None is a client that hangs up."""
    left = list(parts)

    async def receive():
        part = left.pop(0)
        if part is None:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": part, "more_body": bool(left)}

    fields = [(name.replace("_", "-").encode(), value.encode("latin-1")) for name, value in headers.items()]
    scope = {
        "method": "POST",
        "path": path,
        "raw_path": quote(path).encode(),
        "headers": fields,
        "server": ("::1", 80),
    }
    limits, http = LimitsConfig(body_bytes=10), HttpConfig(body_timeout_s=0.01)
    return HttpRequest(scope, receive, None, http, limits)  # type: ignore[arg-type]


@given(st.lists(st.tuples(st.text(), st.text()), max_size=20))
def test_parameters_come_back_as_they_were_encoded(pairs):
    """Of any text, in order, repeated or empty."""
    parsed = Parameters.parse(urlencode(pairs).encode(), "the URL")

    assert list(parsed.pairs) == pairs
    for name in {name for name, _ in pairs}:
        assert name in parsed
        assert parsed.all(name) == tuple(value for key, value in pairs if key == name)


@given(st.binary())
def test_any_bytes_are_parameters_or_malformed(data):
    """No other error leaves, so none can become a 500."""
    try:
        parsed = Parameters.parse(data, "the URL")
    except MalformedRequest:
        return
    assert all(isinstance(part, str) for pair in parsed.pairs for part in pair)


FIELDS = st.lists(
    st.sampled_from(
        ["a", "=", "&", "%", "%41", "%C3%A9", "%c3", "%A9", "+", "é", "%zz", "%4", "%26", "\ufffd"]
    )
).map("".join)


@given(FIELDS)
async def test_long_parameters_are_those_that_short_ones_are(text):
    """Another decoder, the same meaning; wrong for one is wrong for the other."""

    async def outcome(parse):
        try:
            found = parse(text.encode(), "the form")
            return found if isinstance(found, Parameters) else await found
        except MalformedRequest as error:
            return str(error)

    assert await outcome(Parameters.parse_in_turns) == await outcome(Parameters.parse)


async def test_a_long_form_has_as_many_parameters_as_a_short_one():
    """1,000."""
    assert len((await Parameters.parse_in_turns(b"&".join([b"x"] * 1000), "the form")).pairs) == 1000
    with pytest.raises(MalformedRequest, match="the form has more than 1000 parameters"):
        await Parameters.parse_in_turns(b"&".join([b"x"] * 1001), "the form")


async def test_a_long_form_is_decoded_while_others_have_their_turn():
    """A megabyte of escapes is a tenth of a second."""
    body = b"update=" + b"%C3%A9" * 200_000
    request = request_of(body)
    request.limits, request.http = LimitsConfig(), HttpConfig()
    reading = asyncio.create_task(request.form())
    turns = 0
    while not reading.done():
        turns += 1
        await asyncio.sleep(0)

    assert (await reading).one("update") == "é" * 200_000
    assert turns > 50


async def test_the_body_is_its_parts_in_order():
    """However many they are."""
    assert await request_of(b"AS", b"", b"K ", b"{}").body() == b"ASK {}"


@pytest.mark.parametrize(
    ("parts", "headers", "error"),
    [
        ((b"x" * 11,), {}, RequestTooLarge),
        ((b"x" * 6, b"x" * 5, b""), {}, RequestTooLarge),
        ((b"",), {"content_length": "11"}, RequestTooLarge),
        ((b"x", None), {}, ClientGone),
        ((b"x",), {"content_encoding": "br"}, UnsupportedMediaType),
        ((b"x",), {"content_encoding": "gzip, gzip"}, UnsupportedMediaType),
        ((b"x",), {"content_encoding": "gzip"}, MalformedRequest),
        ((gzip.compress(b"x" * 11),), {"content_encoding": "gzip"}, RequestTooLarge),
        ((b"\x1f\x8b\x08",), {"content_encoding": "gzip"}, MalformedRequest),
        ((b"",), {"content_encoding": "gzip"}, MalformedRequest),
        ((b"x",), {"content_encoding": "identity, br"}, UnsupportedMediaType),
    ],
)
async def test_a_body_that_cannot_be_had_says_why(parts, headers, error):
    """Its own error for each."""
    with pytest.raises(error):
        await request_of(*parts, **headers).body()


async def test_a_body_that_does_not_come_is_waited_for_so_long():
    """http.body_timeout_s."""
    request = request_of(b"")
    request.receive = asyncio.Event().wait  # type: ignore[assignment]

    with pytest.raises(DeadlineExceeded, match=r"http\.body_timeout_s"):
        await request.body()


async def test_what_a_body_inflates_to_is_the_body():
    """Its limit is on both."""
    sent = gzip.compress(b"x" * 50)
    request = request_of(*([bytes([byte]) for byte in sent]), content_encoding="X-GZIP")
    request.limits = LimitsConfig(body_bytes=50)
    request.http = HttpConfig()

    assert await request.body() == b"x" * 50
    assert request.came == len(sent)


async def test_bytes_that_inflate_to_nothing_are_counted_too():
    """A gzip header may have a name without end."""
    endless = b"\x1f\x8b\x08\x08" + bytes(6) + b"n" * 100
    request = request_of(endless, b"n", b"n", content_encoding="gzip")
    request.limits = LimitsConfig(body_bytes=110)

    with pytest.raises(RequestTooLarge):
        await request.body()
    assert request.came == 111


async def test_others_have_their_turn_while_a_body_inflates():
    """One chunk can be a second of work."""
    turns = 0

    async def other():
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    request = request_of(gzip.compress(bytes(10_000_000)), content_encoding="gzip")
    request.limits, request.http = LimitsConfig(), HttpConfig()
    task = asyncio.create_task(other())

    assert await request.body() == bytes(10_000_000)
    task.cancel()
    assert turns > 38


async def test_what_is_held_of_a_body_is_told_and_may_be_refused():
    """The connection adds up what all requests hold."""
    held: list[int] = []

    def hold(size):
        held.append(size)
        if sum(held) > 7:
            raise TooManyRequests("too much")

    request = request_of(b"xx", b"yyy", b"zzzz")
    request.scope["extensions"] = {"triplewire.hold": hold}

    with pytest.raises(TooManyRequests):
        await request.body()
    assert held == [2, 3, 4]


def test_the_address_is_that_of_the_connection():
    """None on a Unix socket."""
    request = request_of()
    assert request.address is None
    request.scope["client"] = ("192.0.2.1", 1)
    assert request.address == "192.0.2.1"


@pytest.mark.parametrize("coding", ["identity", " Identity "])
async def test_identity_is_no_coding(coding):
    """RFC 9110, 8.4.1."""
    assert await request_of(b"x", content_encoding=coding).body() == b"x"


@pytest.mark.parametrize("charset", ["UTF-8", "utf8", '"utf-8"', "US-ASCII"])
async def test_the_text_is_utf_8(charset):
    """Its subset too."""
    assert await request_of(b"x", content_type=f"text/plain; charset={charset}").text() == "x"


def test_headers_of_one_name_are_one_list():
    """RFC 9110, 5.3."""
    request = request_of(accept="text/csv")
    request.scope["headers"].append((b"accept", b"text/turtle"))

    assert request.header("accept") == "text/csv, text/turtle"
    assert request.header("origin") is None


def test_the_url_without_a_host_is_that_of_the_socket():
    """HTTP/1.0 needs no Host; an IPv6 address is put into brackets."""
    assert request_of().url == "http://[::1]:80/query"


@pytest.mark.parametrize(
    ("host", "url"),
    [("example.org", "http://example.org/caf%C3%A9"), ("[::1]:8000", "http://[::1]:8000/caf%C3%A9")],
)
def test_the_url_is_as_the_client_wrote_it(host, url):
    """Escaped as it was, under the name by which it was reached."""
    assert request_of(path="/café", host=host).url == url


@pytest.mark.parametrize("host", ["a b", "<", "a, b", "a/b", "a@b", "[::1", "x\xe9", "%"])
def test_a_host_that_is_none_is_malformed(host):
    """The URL becomes an IRI in answers and graphs: nothing else may be put into it."""
    with pytest.raises(MalformedRequest):
        _ = request_of(host=host).url
