"""What others have to know of the authorization server (RFC 8414), and its public keys (RFC 7517)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from triplewire.broker.rights import Scope

from .answers import answer
from .endpoints import GRANT_TYPE

if TYPE_CHECKING:
    from fastapi import Request, Response

    from triplewire.broker.config import PathsConfig

    from .server import AuthorizationServer

_AUTHENTICATION = ("client_secret_basic", "client_secret_post")
# Whoever meets a key that it does not know asks anew; this is how long a key that is gone may still be believed.
_CACHE = "public, max-age=300"


class Metadata:
    """The documents that anybody may read; URLs are made from the issuer, never from what a request says."""

    def __init__(self, server: AuthorizationServer, paths: PathsConfig) -> None:
        self._server = server
        self._document = document(paths, server.parts.issuer)

    async def keys(self, _: Request) -> Response:
        """The keys that tokens may be signed by: a JWK Set."""
        return answer(await self._server.desk.run(self._server.parts.keys.jwks), cache=_CACHE)

    async def metadata(self, _: Request) -> Response:
        """Where things are, and what is spoken there."""
        return answer(self._document, cache=_CACHE)


def document(paths: PathsConfig, issuer: str) -> dict[str, Any]:
    """The metadata of RFC 8414, 2."""
    base = issuer.rstrip("/")
    return {
        "issuer": issuer,
        "token_endpoint": base + paths.token,
        "token_endpoint_auth_methods_supported": list(_AUTHENTICATION),
        "registration_endpoint": base + paths.register,
        "revocation_endpoint": base + paths.revoke,
        "revocation_endpoint_auth_methods_supported": list(_AUTHENTICATION),
        "jwks_uri": base + paths.keys,
        "grant_types_supported": [GRANT_TYPE],
        "response_types_supported": [],  # there is no authorization endpoint
        "scopes_supported": sorted(scope.value for scope in Scope),
    }
