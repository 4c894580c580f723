"""What a request says: JSON once or twice, forms, credentials; what can't be read is the sender's to mend."""

from __future__ import annotations

import base64
import json

import pytest
from fastapi import Request
from hypothesis import given
from hypothesis import strategies as st

from triplewire.broker.errors import RequestError, RequestTooLarge, Unauthorized, UnsupportedMediaType
from triplewire.gates.oauth.asked import (
    BODY_BYTES,
    basic_of,
    body_of,
    field_of,
    form_of,
    has_basic,
    is_form,
    json_of,
)


def request(body=(), **headers):
    parts = list(body)

    async def receive():
        part = parts.pop(0) if parts else b""
        return {"type": "http.request", "body": part, "more_body": bool(parts)}

    fields = [(name.replace("_", "-").encode(), value.encode("latin-1")) for name, value in headers.items()]
    return Request({"type": "http", "method": "POST", "path": "/", "headers": fields}, receive)


def encoded(text):
    return "Basic " + base64.b64encode(text.encode()).decode()


async def test_a_body_in_parts():
    """Whole, up to its bound."""
    assert await body_of(request([b"ab", b"", b"cd"]), 1.0) == b"abcd"
    assert await body_of(request(), 1.0) == b""
    assert len(await body_of(request([b"x" * 1024] * 64), 1.0)) == BODY_BYTES
    with pytest.raises(RequestTooLarge, match=str(BODY_BYTES)):
        await body_of(request([b"x" * 1024] * 64 + [b"y"]), 1.0)


@pytest.mark.parametrize("coding", ["gzip", "br", "gzip, identity"])
async def test_a_body_with_a_content_coding(coding):
    """Is not inflated here."""
    with pytest.raises(UnsupportedMediaType):
        await body_of(request([b"x"], content_encoding=coding), 1.0)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda d: st.lists(d) | st.dictionaries(st.text(), d),
    )
)
def test_json_once_or_twice_is_the_same(document):
    """For all that is not a text itself."""
    once = json.dumps(document)
    if not isinstance(document, str):
        assert json_of(once.encode()) == document
        assert json_of(json.dumps(once).encode()) == document


@given(st.binary(max_size=100))
def test_any_bytes_are_json_or_refused(data):
    """No other error."""
    code = "invalid_client_metadata"
    try:
        json_of(data)
    except RequestError as error:
        code = error.code
    assert code == "invalid_client_metadata"


@pytest.mark.parametrize("opening", ["[", '{"a":', '"[', "[[]" * 10 + "["])
def test_json_that_is_too_deep(opening):
    """Is not JSON, as far as it concerns us."""
    with pytest.raises(RequestError, match="not JSON, or nested too deep"):
        json_of((opening * 10_000).encode())


@pytest.mark.parametrize(
    ("headers", "form"),
    [
        ({"content_type": "application/x-www-form-urlencoded"}, True),
        ({"content_type": "Application/X-WWW-Form-Urlencoded; charset=UTF-8"}, True),
        ({"content_type": "application/json"}, False),
        ({"content_type": ""}, False),
        ({}, False),
    ],
)
def test_forms_and_json(headers, form):
    """By the media type; without one it is JSON."""
    assert is_form(request(**headers)) == form


def test_fields_of_a_form():
    """Once or not at all; without a value they are not there (RFC 6749, 3.2)."""
    form = form_of(b"a=1&b=&c=x&c=y&d=%20+")
    assert (field_of(form, "a"), field_of(form, "b"), field_of(form, "z"), field_of(form, "d")) == (
        "1",
        None,
        None,
        "  ",
    )
    with pytest.raises(RequestError, match="c is given 2 times") as refused:
        field_of(form, "c")
    assert refused.value.code == "invalid_request"


@pytest.mark.parametrize(
    ("text", "readings"),
    [
        ("a:b", [("a", "b")]),
        ("a:b:c", [("a:b", "c")]),
        (":", [("", "")]),
        ("http://x/#1:s", [("http://x/#1", "s")]),
        ("a%3Ab:c+d", [("a%3Ab", "c+d"), ("a:b", "c d")]),
        ("ü:ö", [("ü", "ö")]),
        ("%ff:x", [("%ff", "x"), ("\ufffd", "x")]),
    ],
)
def test_credentials_are_split_at_the_last_colon(text, readings):
    """Then percent-decoded, where there is something to decode."""
    assert basic_of(request(authorization=encoded(text))) == readings


@given(st.text(st.characters(min_codepoint=33, max_codepoint=255), max_size=50))
def test_any_header_is_credentials_or_refused(value):
    """With a code of SEPA's, and nothing of what was sent in the text."""
    for authorization in (value, f"Basic {value}"):
        asked = request(authorization=authorization)
        refused = None
        try:
            assert basic_of(asked)
        except Unauthorized as error:
            refused = error
        if refused is None:
            assert has_basic(asked)
        else:
            assert refused.code in {"unauthorized_client", "invalid_request", "invalid_client"}
            assert len(value) < 12 or value not in refused.description
