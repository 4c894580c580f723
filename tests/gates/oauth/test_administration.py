"""What administrators do, and that nobody else does it."""

from __future__ import annotations

import json

import pytest

from triplewire.broker.errors import Unauthorized
from triplewire.broker.rights import Access, Scope

from .office import is_error

WAYS = [("GET", "/oauth/clients"), ("DELETE", "/oauth/clients/sensor"), ("POST", "/oauth/jwks/rotate")]


@pytest.mark.parametrize(("method", "path"), [*WAYS, *((method, f"/secure{path}") for method, path in WAYS)])
async def test_without_a_token_nobody_may(office, method, path):
    """401, and nothing happens."""
    await office.register("sensor")
    async with office.http() as http:
        response = await http.request(method, path)
    assert is_error(response, 401, "invalid_request")
    assert response.headers["www-authenticate"] == 'Bearer realm="triplewire"'
    assert office.clients.find("sensor") is not None
    assert len(office.keys.jwks()["keys"]) == 1


@pytest.mark.parametrize(("method", "path"), WAYS)
async def test_without_the_scope_nobody_may(office, method, path):
    """403, and nothing happens."""
    headers = await office.bearer("sensor")
    async with office.http() as http:
        assert is_error(await http.request(method, path, headers=headers), 403, "insufficient_scope")
    assert office.clients.find("sensor") is not None


@pytest.mark.parametrize("access", [None, "", True, object(), Access("sensor", frozenset())])
async def test_whatever_else_stands_for_an_access(office, access):
    """Only one with the scope admin is one."""

    async def application(scope, receive, send):
        scope["triplewire.access"] = access
        await office.application(scope, receive, send)

    async with office.http() as http:
        http._transport.app = application
        assert (await http.get("/oauth/clients")).status_code in {401, 403}


async def test_the_clients_there_are(office):
    """Ids and times; neither secrets nor hashes."""
    headers = await office.bearer("boss")
    await office.register("sensor")
    await office.register("reader")
    await office.server.revoke_client("reader", readmit=False)
    response = await office.get("/oauth/clients", headers=headers)
    assert response.status_code == 200
    assert response.headers["cache-control"] == "no-store"
    document = response.json()
    assert document["next"] is None
    assert [client["client_id"] for client in document["clients"]] == ["boss", "reader", "sensor"]
    boss, reader, _ = document["clients"]
    assert set(boss) == {"client_id", "identity", "registered_at", "revoked_at"}
    assert boss["registered_at"].endswith("Z") and boss["revoked_at"] is None
    assert reader["revoked_at"].endswith("Z")
    assert "argon2" not in response.text


async def test_clients_come_in_pages(office, monkeypatch):
    """Each begins after the last of the one before."""
    monkeypatch.setattr("triplewire.gates.oauth.administration._PAGE", 2)
    headers = await office.bearer("boss")
    for identity in ("sensor", "reader", "idle"):
        await office.register(identity)
    found, after = [], ""
    while after is not None:
        page = (await office.get("/oauth/clients", headers=headers, params={"after": after})).json()
        found += [client["client_id"] for client in page["clients"]]
        after = page["next"]
    assert found == ["boss", "idle", "reader", "sensor"]


async def test_a_client_is_revoked_with_all_its_tokens(office, caplog):
    """At once; it does not come in by its secret, nor registers again. Who did it is logged."""
    caplog.set_level("INFO")
    headers = await office.bearer("boss")
    secret = await office.register("sensor")
    token = (await office.token("sensor", secret)).json()["access_token"]
    assert (await office.guarded.access(token)).client == "sensor"
    response = await office.delete("/oauth/clients/sensor", headers=headers)
    assert (response.status_code, response.content) == (204, b"")
    assert office.guarded.known(token) is None
    with pytest.raises(Unauthorized, match="revoked"):
        await office.guarded.access(token)
    assert is_error(await office.token("sensor", secret), 400, "unauthorized_client")
    assert is_error(await office.form_token("sensor", secret), 401, "invalid_client")
    response = await office.post(
        "/oauth/register",
        json={"register": {"client_identity": "sensor", "grant_types": ["client_credentials"]}},
    )
    assert is_error(response, 401, "not_authorized_identity")
    assert "'boss' revoked" in caplog.text


async def test_a_client_may_be_readmitted(office):
    """It registers again; what it had is no good."""
    headers = await office.bearer("boss")
    sensor = await office.bearer("sensor")
    response = await office.delete("/oauth/clients/sensor", headers=headers, params={"readmit": "true"})
    assert response.status_code == 204
    with pytest.raises(Unauthorized):
        await office.guarded.access(sensor["Authorization"].removeprefix("Bearer "))
    assert (await office.token("sensor", await office.register("sensor"))).status_code == 201


@pytest.mark.parametrize(
    "identity", ["http://example.org/a?b=c#d", "a b", "ü/%2F", "'; DROP TABLE clients; --"]
)
async def test_a_client_of_any_name_is_revoked(offices, identity):
    """Percent-encoded in the path."""
    office = offices(registration="open")
    headers = await office.bearer("boss")
    await office.register(identity)
    async with office.http() as http:
        path = "".join(f"%{byte:02X}" for byte in identity.encode())
        response = await http.delete(f"/oauth/clients/{path}", headers=headers)
    assert response.status_code == 204
    assert office.clients.find(identity) is None
    assert office.clients.find("boss") is not None


async def test_a_client_that_is_not_there(office):
    """404."""
    headers = await office.bearer("boss")
    assert is_error(await office.delete("/oauth/clients/nobody", headers=headers), 404, "not_found")


async def test_one_token_is_revoked_by_its_identifier(office):
    """The client and its other tokens stay."""
    headers = await office.bearer("boss")
    secret = await office.register("sensor")
    one, other = [(await office.token("sensor", secret)).json()["access_token"] for _ in range(2)]
    jti = office.tokens.check(one).jti
    response = await office.delete("/oauth/clients/sensor", headers=headers, params={"jti": jti})
    assert response.status_code == 204
    with pytest.raises(Unauthorized, match="revoked"):
        await office.guarded.access(one)
    assert (await office.guarded.access(other)).client == "sensor"


@pytest.mark.parametrize("jti", ["", "a\nb", "x" * 257])
async def test_an_identifier_that_is_none(office, jti):
    """400; the client stays."""
    headers = await office.bearer("boss")
    await office.register("sensor")
    response = await office.delete("/oauth/clients/sensor", headers=headers, params={"jti": jti})
    assert is_error(response, 400, "bad_request")
    assert office.clients.find("sensor") is not None


async def test_a_new_key_signs(office):
    """The old one verifies what it signed."""
    headers = await office.bearer("boss")
    response = await office.post("/oauth/jwks/rotate", headers=headers)
    assert response.status_code == 201
    published = (await office.get("/oauth/jwks")).json()["keys"]
    assert published[0]["kid"] == response.json()["kid"] == office.keys.current.kid
    assert len(published) == 2
    assert (await office.get("/oauth/clients", headers=headers)).status_code == 200


async def test_keys_have_an_end(office):
    """Who rotates without end is told to wait."""
    headers = await office.bearer("boss")
    responses = [await office.post("/oauth/jwks/rotate", headers=headers) for _ in range(17)]
    assert is_error(responses[-1], 429, "too_many_requests")
    assert json.loads(responses[0].content)["kid"] in {key["kid"] for key in office.keys.jwks()["keys"]}


async def test_the_scope_is_of_now(office):
    """Who is no administrator any more, is none with an old token."""
    headers = await office.bearer("boss")
    path = office.folder / "permissions.toml"
    path.write_text(path.read_text().replace('["admin", "query"]', '["query"]'))
    assert office.guarded.reread()
    assert Scope.ADMIN not in office.permissions.of("boss")[0]
    assert is_error(await office.get("/oauth/clients", headers=headers), 403, "insufficient_scope")
