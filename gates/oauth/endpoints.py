"""What clients ask for: registration as SEPA has it, tokens as SEPA and RFC 6749 (4.4) have them, revocation (RFC 7009)."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, Any

from triplewire.broker.errors import MalformedRequest, RequestError, Unauthorized
from triplewire.broker.rights import Scope

from .answers import answer, token_answer
from .asked import basic_of, body_of, field_of, form_of, has_basic, is_form, json_of, wrong_client

if TYPE_CHECKING:
    from fastapi import Request, Response

    from triplewire.gates.http.request import Parameters

    from .server import AuthorizationServer, Login

GRANT_TYPE = "client_credentials"
_OF_PROXIES = ("forwarded", "via", "x-forwarded-for", "x-real-ip")
_SCOPES = {scope.value: scope for scope in Scope}


class Endpoints:
    """The paths that clients call."""

    def __init__(self, server: AuthorizationServer) -> None:
        self._server = server
        self._timeout_s = server.parts.body_timeout_s

    async def register(self, request: Request) -> Response:
        """An identity becomes a client: 201 with its client_id and its secret, which is told this once."""
        form = is_form(request)
        body = await body_of(request, self._timeout_s)
        if form:
            raise RequestError(
                "a registration is application/json; tokens are had elsewhere", code="content_type_error"
            )
        if has_basic(request) and _registration_in(body) is None:
            return await self._sepa_token(request)
        return await self._register(request, json_of(body))

    async def _register(self, request: Request, document: Any) -> Response:
        asked = document.get("register") if isinstance(document, dict) else None
        if not isinstance(asked, dict) or not isinstance(asked.get("client_identity"), str):
            raise RequestError(
                'expected {"register": {"client_identity": "...", "grant_types": ["client_credentials"]}}',
                code="invalid_client_metadata",
            )
        types = asked.get("grant_types")
        if not isinstance(types, list) or GRANT_TYPE not in types:
            raise RequestError(f"grant_types must have {GRANT_TYPE}: there is no other", code="invalid_grant")
        client_id, secret = await self._server.register(
            asked["client_identity"], address_of(request), local=_is_local(request)
        )
        signature = await self._server.desk.run(self._server.parts.keys.for_sepa)
        credentials = {"client_id": client_id, "client_secret": secret, "signature": signature}
        return answer({"credentials": credentials}, 201)

    async def token(self, request: Request) -> Response:
        """A client that shows its secret gets a token: by a form, 200 (RFC 6749); else as SEPA has it, 201."""
        form = is_form(request)
        body = await body_of(request, self._timeout_s)
        if form:
            return await self._standard_token(request, form_of(body))
        # SEPA's Python client mixes the two paths up when its first call is a query
        document = _registration_in(body)
        return await (self._sepa_token(request) if document is None else self._register(request, document))

    async def _standard_token(self, request: Request, form: Parameters) -> Response:
        grant_type = field_of(form, "grant_type")
        if grant_type is None:
            raise RequestError("the form has no grant_type", code="invalid_request")
        asked = _scopes(field_of(form, "scope"))
        login = await self._form_login(request, form)
        if grant_type != GRANT_TYPE:
            raise RequestError(
                f"grant_type must be {GRANT_TYPE}: there is no other", code="unsupported_grant_type"
            )
        return token_answer(await self._server.grant(login, asked), 200)

    async def _sepa_token(self, request: Request) -> Response:
        login = await self._server.login(basic_of(request), address_of(request))
        if login is None:
            raise RequestError(
                "the client is not registered, or its secret is wrong", code="unauthorized_client"
            )
        return token_answer(await self._server.grant(login), 201)

    async def revoke(self, request: Request) -> Response:
        """A client's own token is not good any more; 200 also where it was not before (RFC 7009, 2.2)."""
        form = await self._form(request)
        token = field_of(form, "token")
        login = await self._form_login(request, form)
        if token is None:
            raise RequestError("the form has no token", code="invalid_request")
        await self._server.revoke_token(login, token)
        return answer({})

    async def _form(self, request: Request) -> Parameters:
        if not is_form(request):
            raise RequestError("the body must be a form", code="invalid_request")
        return form_of(await body_of(request, self._timeout_s))

    async def _form_login(self, request: Request, form: Parameters) -> Login:
        """Who asks, by one of the two ways of RFC 6749, 2.3.1."""
        client_id, secret = field_of(form, "client_id"), field_of(form, "client_secret")
        if has_basic(request):
            readings = _basic(request)
            if secret is not None or client_id not in {None, *(name for name, _ in readings)}:
                raise RequestError(
                    "the client shows itself in the form and in the Authorization header: one is right",
                    code="invalid_request",
                )
        elif client_id is not None and secret is not None:
            readings = [(client_id, secret)]
        else:
            raise wrong_client()
        login = await self._server.login(readings, address_of(request))
        if login is None:
            raise wrong_client()
        return login


def _basic(request: Request) -> list[tuple[str, str]]:
    try:
        return basic_of(request)
    except Unauthorized as error:
        # RFC 6749 has one code for what SEPA has three
        raise Unauthorized(error.description, code="invalid_client", challenge=error.challenge) from error


def _registration_in(body: bytes) -> dict[str, Any] | None:
    try:
        document = json_of(body)
    except RequestError:
        return None
    return document if isinstance(document, dict) and "register" in document else None


def _scopes(text: str | None) -> frozenset[Scope] | None:
    if text is None:
        return None
    names = text.split(" ")
    if not set(names) <= _SCOPES.keys():
        raise RequestError(f"the scopes there are: {' '.join(sorted(_SCOPES))}", code="invalid_scope")
    return frozenset(_SCOPES[name] for name in names)


def _is_local(request: Request) -> bool:
    """Whether it comes from this machine, and not through a proxy on it that speaks for others."""
    if any(name in request.headers for name in _OF_PROXIES):
        return False
    try:
        return ipaddress.ip_address(address_of(request)).is_loopback
    except ValueError:
        return False


def address_of(request: Request) -> str:
    """Where a request comes from.

    Raises:
        MalformedRequest: the server does not tell; without it nothing would bound the attempts.
    """
    if request.client is None:
        raise MalformedRequest("the request has no address")
    return request.client.host
