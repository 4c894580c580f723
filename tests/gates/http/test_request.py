"""Reading a request: parameters, headers, its own URL and its body, without a network."""

from __future__ import annotations

import asyncio
from urllib.parse import quote, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triplewire.broker.config import HttpConfig, LimitsConfig
from triplewire.broker.errors import (
    DeadlineExceeded,
    MalformedRequest,
    RequestTooLarge,
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
        ((b"x",), {"content_encoding": "gzip"}, UnsupportedMediaType),
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
