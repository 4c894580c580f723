"""What others read: where things are, and the keys that verify."""

from __future__ import annotations

import jwt
import pytest

from triplewire.broker.config import PathsConfig
from triplewire.gates.oauth.metadata import document

from .office import ISSUER, Office


@pytest.mark.parametrize(
    "path", ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"]
)
async def test_where_things_are(office, path):
    """RFC 8414, 2: made from the issuer, whatever Host says."""
    async with office.http() as http:
        response = await http.get(path, headers={"Host": "evil.example", "X-Forwarded-Host": "evil.example"})
    assert response.status_code == 200
    assert "max-age" in response.headers["cache-control"]
    found = response.json()
    assert found["issuer"] == ISSUER
    assert found["token_endpoint"] == f"{ISSUER}/oauth/token"
    assert found["registration_endpoint"] == f"{ISSUER}/oauth/register"
    assert found["revocation_endpoint"] == f"{ISSUER}/oauth/revoke"
    assert found["jwks_uri"] == f"{ISSUER}/oauth/jwks"
    assert found["grant_types_supported"] == ["client_credentials"]
    assert found["token_endpoint_auth_methods_supported"] == ["client_secret_basic", "client_secret_post"]
    assert found["scopes_supported"] == ["admin", "publish", "query", "subscribe", "update"]
    assert "evil" not in response.text


async def test_what_it_says_is_there(office):
    """Each address answers, and its methods are those that work."""
    found = (await office.get("/.well-known/oauth-authorization-server")).json()
    for name in ("token_endpoint", "registration_endpoint", "revocation_endpoint"):
        response = await office.post(found[name].removeprefix(ISSUER))
        assert response.status_code in {400, 401}, name
    assert (await office.get(found["jwks_uri"].removeprefix(ISSUER))).status_code == 200


async def test_an_issuer_with_a_path(tmp_path):
    """RFC 8414, 3.1: its metadata is between the host and the path; OpenID's behind the path."""
    office = Office(tmp_path, issuer="https://example.org/broker/")
    try:
        for path in (
            "/.well-known/oauth-authorization-server",
            "/.well-known/oauth-authorization-server/broker",
            "/broker/.well-known/openid-configuration",
        ):
            found = (await office.get(path)).json()
            assert found["issuer"] == "https://example.org/broker/"
            assert found["token_endpoint"] == "https://example.org/broker/oauth/token"
    finally:
        office.close()


def test_other_paths_are_in_it():
    """As the settings have them."""
    found = document(PathsConfig(token="/t", keys="/k"), ISSUER)
    assert (found["token_endpoint"], found["jwks_uri"]) == (f"{ISSUER}/t", f"{ISSUER}/k")


@pytest.mark.parametrize("algorithm", ["RS256", "ES256"])
async def test_the_keys_verify_tokens(offices, algorithm):
    """With a library that knows nothing of us; no private part is in them."""
    office = offices(algorithm=algorithm)
    token = (await office.bearer("sensor"))["Authorization"].removeprefix("Bearer ")
    response = await office.get("/oauth/jwks")
    assert "max-age" in response.headers["cache-control"]
    private = {"d", "p", "q", "dp", "dq", "qi", "k"}
    assert not any(private & key.keys() for key in response.json()["keys"])
    key = jwt.PyJWKSet.from_dict(response.json())[jwt.get_unverified_header(token)["kid"]]
    claims = jwt.decode(token, key, algorithms=[algorithm], audience="triplewire", issuer=ISSUER)
    assert claims["client_id"] == "sensor"


async def test_heads(office):
    """As GET, without the body."""
    async with office.http() as http:
        for path in ("/oauth/jwks", "/.well-known/oauth-authorization-server"):
            response = await http.head(path)
            assert response.status_code == 200
