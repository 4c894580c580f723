"""Where the routes are, what the OpenAPI description says of them, and that no body makes a 500."""

from __future__ import annotations

import asyncio
import base64
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .office import JSON, Office, registration_of

OPEN = {
    "/oauth/register": {"post"},
    "/oauth/token": {"post"},
    "/oauth/revoke": {"post"},
    "/oauth/jwks": {"get"},
    "/.well-known/oauth-authorization-server": {"get"},
    "/.well-known/openid-configuration": {"get"},
}
ADMIN = {
    "/oauth/jwks/rotate": {"post"},
    "/oauth/clients": {"get"},
    "/oauth/clients/{client_id}": {"delete"},
}


async def test_the_description_has_all_of_them(office):
    """Each once, with its own name, and what its body is."""
    description = office.application.openapi()
    assert {path: set(methods) for path, methods in description["paths"].items()} == OPEN | ADMIN
    operations = [one for methods in description["paths"].values() for one in methods.values()]
    assert len({operation["operationId"] for operation in operations}) == len(operations)
    assert all(len(operation["description"]) > 20 for operation in operations)
    body = description["paths"]["/oauth/register"]["post"]["requestBody"]["content"]
    assert body["application/json"]["schema"]["required"] == ["register"]


@pytest.mark.parametrize("path", [path for path in OPEN if path.startswith("/oauth")])
async def test_other_methods_are_not_there(office, path):
    """405."""
    async with office.http() as http:
        assert (await http.put(path)).status_code == 405


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
IDENTITY = ANYTHING | st.sampled_from(["sensor", "SEPATest", "\ud800", "x" * 300, "a\0"])
REGISTRATION = st.builds(registration_of, IDENTITY, grant_types=ANYTHING | st.just(["client_credentials"]))
DOCUMENT = (REGISTRATION | ANYTHING | st.fixed_dictionaries({"register": ANYTHING})).map(json.dumps)
BODY = (
    st.binary(max_size=200)
    | DOCUMENT.map(str.encode)
    | DOCUMENT.map(json.dumps).map(str.encode)
    | st.text(max_size=50).map(lambda text: text.encode("utf-8", "surrogatepass"))
    | st.dictionaries(
        st.sampled_from(["grant_type", "client_id", "client_secret", "scope", "token"]) | st.text(max_size=5),
        st.sampled_from(["client_credentials", "query", "sensor"]) | st.text(max_size=20),
    ).map(
        lambda fields: "&".join(f"{name}={value}" for name, value in fields.items()).encode(
            "utf-8", "replace"
        )
    )
)


def to_latin(text):
    return text.encode("latin-1")


LATIN = st.text(st.characters(min_codepoint=32, max_codepoint=255, exclude_characters="\x7f"), max_size=60)
AUTHORIZATION = (
    LATIN.map(to_latin)
    | st.binary(max_size=40).map(lambda data: b"Basic " + base64.b64encode(data))
    | st.text(max_size=20).map(
        lambda text: b"Basic " + base64.b64encode(f"sensor:{text}".encode("utf-8", "replace"))
    )
)
MEDIA = st.sampled_from(["application/json", "application/x-www-form-urlencoded", "text/plain", "a;b=c;", ""])


@given(
    path=st.sampled_from(["/oauth/register", "/oauth/token", "/oauth/revoke", "/secure/oauth/token"]),
    body=BODY,
    headers=st.fixed_dictionaries(
        {"Content-Type": (MEDIA | LATIN).map(to_latin)},
        optional={
            "Authorization": AUTHORIZATION,
            "Accept": (st.just("application/json") | LATIN).map(to_latin),
        },
    ),
)
@settings(
    max_examples=300,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    database=None,
)
def test_no_request_is_our_failure(tmp_path, path, body, headers):
    """Whatever it is, the answer is JSON of a right form, and never 500."""

    async def ask():
        office = Office(tmp_path, {"attempts": 0, "test_identity": True})
        try:
            return await office.post(path, content=body, headers=headers)
        finally:
            office.close()

    response = asyncio.run(ask())
    assert response.status_code < 500, response.text
    document = response.json()
    if response.status_code >= 400:
        assert set(document) == {"error", "status_code", "error_description"}
        assert document["status_code"] == response.status_code
    else:
        assert set(document) >= {"credentials"} or "access_token" in document or document == {}


async def test_a_body_that_does_not_come(office):
    """504 when its time is up; a client that hangs up is nobody's failure."""
    sent = []

    async def receive():
        await asyncio.sleep(10)

    async def send(event):
        sent.append(event)

    async def gone():
        return {"type": "http.disconnect"}

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/oauth/token",
        "raw_path": b"/oauth/token",
        "query_string": b"",
        "headers": [(name.lower().encode(), value.encode()) for name, value in JSON.items()],
        "client": ("192.0.2.1", 1),
        "server": ("localhost", 80),
        "scheme": "http",
        "http_version": "1.1",
    }
    await office.application(dict(scope), receive, send)
    assert sent[0]["status"] == 504
    assert b"body_timeout_s" in sent[1]["body"]
    sent.clear()
    await office.application(dict(scope), gone, send)
    assert sent[0]["status"] == 400
