"""Answers and refusals, and what becomes of errors."""

from __future__ import annotations

import json

import pytest
from fastapi import Request

from triplewire.broker.errors import Forbidden, StoreError, TooManyRequests, Unauthorized
from triplewire.broker.rights import Scope
from triplewire.broker.security.tokens import Issued
from triplewire.gates.oauth.answers import answer, answering, refusal, token_answer
from triplewire.gates.oauth.grants import Grant

REQUEST = Request(
    {"type": "http", "method": "POST", "path": "/oauth/token", "headers": [], "query_string": b""}
)


def test_no_cache_keeps_an_answer():
    """RFC 6749, 5.1; unless it is said."""
    assert answer({}).headers["cache-control"] == "no-store"
    assert answer({}, cache="public, max-age=300").headers["cache-control"] == "public, max-age=300"


@pytest.mark.parametrize("text", ["ü", "\ud800", "\0", "\U0001f511"])
def test_any_text_can_be_answered(text):
    """As JSON that can be read."""
    assert isinstance(json.loads(bytes(answer({"name": text}).body)), dict)


def test_a_token_in_both_shapes():
    """Flat and wrapped, the same."""
    issued = Issued("a.b.c", "jti", 1.0, 1.0, frozenset({Scope.UPDATE, Scope.QUERY}))
    found = json.loads(bytes(token_answer(Grant(issued, 7), 201).body))
    flat = {"access_token": "a.b.c", "token_type": "bearer", "expires_in": 7, "scope": "query update"}
    assert found == {**flat, "token": flat}


def test_headers_that_a_status_asks_for():
    """WWW-Authenticate for 401, Retry-After for 429."""
    refused = refusal(Unauthorized("no", challenge='Basic realm="x"'))
    assert (refused.status_code, refused.headers["www-authenticate"]) == (401, 'Basic realm="x"')
    late = TooManyRequests("later")
    late.retry_after_s = 17
    assert (refusal(late).status_code, refusal(late).headers["retry-after"]) == (429, "17")
    assert "www-authenticate" not in refusal(Forbidden("no")).headers


@pytest.mark.parametrize(
    ("error", "status", "level"),
    [
        (Forbidden("not for you"), 403, "INFO"),
        (StoreError("the disk"), 500, "ERROR"),
        (RuntimeError("hidden detail"), 500, "ERROR"),
    ],
)
async def test_what_becomes_of_an_error(error, status, level, caplog):
    """The sender's own is a line; ours has its traceback in the log, and no details in the answer."""
    caplog.set_level("INFO", "triplewire.gates.oauth")

    async def fail(_):
        raise error

    response = await answering(fail)(REQUEST)
    assert response.status_code == status
    assert json.loads(bytes(response.body))["status_code"] == status
    assert b"hidden detail" not in bytes(response.body)
    (record,) = caplog.records
    assert record.levelname == level
    assert (record.exc_info is not None) == (level == "ERROR")
    assert "/oauth/token" in record.getMessage()
