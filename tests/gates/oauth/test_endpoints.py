"""Registration, tokens and revocation: both shapes, every error of theirs, and whatever bodies there are."""

from __future__ import annotations

import asyncio
import base64
import json

import jwt
import pytest

from triplewire.broker.errors import Unauthorized
from triplewire.broker.rights import Scope

from .office import ISSUER, JSON, basic, is_error, registration_of

SENSOR = registration_of("sensor")


async def register(office, document, **headers):
    content = document if isinstance(document, str | bytes) else json.dumps(document)
    return await office.post("/oauth/register", content=content, headers=JSON | headers)


# Registration


@pytest.mark.parametrize(
    "body",
    [
        json.dumps(SENSOR),
        json.dumps(json.dumps(SENSOR)),  # sepa-js
        "\ufeff" + json.dumps(SENSOR),
        json.dumps(SENSOR | {"httpsAgent": {"options": {"deep": [[[{}]]]}}, "other": None}),
        json.dumps(registration_of("sensor", grant_types=["authorization_code", "client_credentials"])),
        json.dumps(registration_of("sensor", name="ignored", alias=None)),
    ],
)
async def test_a_listed_identity_registers(office, body):
    """SEPA's answer: client_id, secret, and the public key that signs."""
    response = await register(office, body)
    assert response.status_code == 201
    assert response.headers["cache-control"] == "no-store"
    credentials = response.json()["credentials"]
    assert set(credentials) == {"client_id", "client_secret", "signature"}
    assert credentials["client_id"] == "sensor"
    assert len(credentials["client_secret"]) == 43
    assert credentials["signature"] == office.keys.for_sepa()
    assert (await office.token("sensor", credentials["client_secret"])).status_code == 201


@pytest.mark.parametrize("path", ["/oauth/register", "/secure/oauth/register", "/oauth/token"])
async def test_where_registrations_are_taken(office, path):
    """sepy sends it to the token path when its first call is a query."""
    response = await office.post(path, json=SENSOR, headers=JSON)
    assert response.status_code == 201
    assert "client_secret" in response.json()["credentials"]


async def test_who_may_not_is_not_told_whether_it_is_there(office):
    """The same for an identity that is not listed and for one that has registered."""
    await office.register("sensor")
    responses = [await register(office, registration_of(identity)) for identity in ("sensor", "stranger")]
    assert all(is_error(response, 401, "not_authorized_identity") for response in responses)
    assert responses[0].json() == responses[1].json()


async def test_the_first_secret_stays_good_when_somebody_registers_again(office):
    """Nobody takes over a client by its name."""
    secret = await office.register("sensor")
    assert is_error(await register(office, SENSOR), 401, "not_authorized_identity")
    assert (await office.token("sensor", secret)).status_code == 201


async def test_registering_again_where_the_policy_lets(offices):
    """Another secret; the old one is not good any more."""
    office = offices(reregistration=True)
    first = await office.register("sensor")
    assert (await office.token("sensor", first)).status_code == 201
    second = await office.register("sensor")
    assert is_error(await office.token("sensor", first), 400, "unauthorized_client")
    assert (await office.token("sensor", second)).status_code == 201


async def test_of_two_that_register_at_once_one_wins(office):
    """And its secret is the one that is good."""
    responses = await asyncio.gather(*(register(office, SENSOR) for _ in range(10)))
    won = [response for response in responses if response.status_code == 201]
    assert len(won) == 1
    assert all(is_error(lost, 401, "not_authorized_identity") for lost in responses if lost not in won)
    secret = won[0].json()["credentials"]["client_secret"]
    assert (await office.token("sensor", secret)).status_code == 201


@pytest.mark.parametrize(
    ("document", "code"),
    [
        (registration_of("sensor", grant_types=["password"]), "invalid_grant"),
        (registration_of("sensor", grant_types=[]), "invalid_grant"),
        (registration_of("sensor", grant_types="client_credentials"), "invalid_grant"),
        (registration_of("sensor", grant_types=None), "invalid_grant"),
        ({"register": {"client_identity": "sensor"}}, "invalid_grant"),
        ({"register": {"grant_types": ["client_credentials"]}}, "invalid_client_metadata"),
        (registration_of(None), "invalid_client_metadata"),
        (registration_of(7), "invalid_client_metadata"),
        (registration_of(["sensor"]), "invalid_client_metadata"),
        (registration_of(""), "invalid_client_metadata"),
        (registration_of("a\0b"), "invalid_client_metadata"),
        (registration_of("\ud800"), "invalid_client_metadata"),
        (registration_of("x" * 257), "invalid_client_metadata"),
        (registration_of("x" * 60_000), "invalid_client_metadata"),
        ({"register": "sensor"}, "invalid_client_metadata"),
        ({"register": None}, "invalid_client_metadata"),
        ({}, "invalid_client_metadata"),
        ([], "invalid_client_metadata"),
        ("", "invalid_client_metadata"),
        ('""', "invalid_client_metadata"),
        ("null", "invalid_client_metadata"),
        ("{", "invalid_client_metadata"),
        (b"\xff\xfe", "invalid_client_metadata"),
        ("[" * 60_000, "invalid_client_metadata"),
        (json.dumps("[" * 50_000), "invalid_client_metadata"),
        ("1" * 60_000, "invalid_client_metadata"),
        (json.dumps(json.dumps(json.dumps(SENSOR))), "invalid_client_metadata"),
    ],
)
async def test_registrations_that_are_none(office, document, code):
    """400, and what was expected."""
    assert is_error(await register(office, document), 400, code)


async def test_a_body_over_its_bound(office):
    """Not even read to its end."""
    assert is_error(await register(office, " " * 65_537), 413, "too_large")
    assert is_error(await office.post("/oauth/token", content="x" * 65_537, headers=JSON), 413, "too_large")


@pytest.mark.parametrize(
    "identity", ["'; DROP TABLE clients; --", "Größe 1", "a:b:c", "αισθητήρας", "x" * 256, "a+b%41", "100% +"]
)
async def test_identities_of_any_characters_log_in(offices, identity):
    """Both ways; what is in a name means nothing."""
    office = offices(registration="open")
    secret = await office.register(identity)
    for response in (await office.token(identity, secret), await office.form_token(identity, secret)):
        assert response.status_code in {200, 201}
        claims = jwt.decode(response.json()["access_token"], options={"verify_signature": False})
        assert claims["client_id"] == claims["sub"] == identity


async def test_a_restart_forgets_no_client(offices):
    """Nor who has registered already."""
    secret = await offices().register("sensor")
    office = offices()
    assert (await office.token("sensor", secret)).status_code == 201
    assert is_error(await register(office, SENSOR), 401, "not_authorized_identity")


async def test_the_test_client(offices):
    """Registers as often as it likes, its secret is its name, its tokens live 5 s; it is no administrator."""
    office = offices(test_identity=True, registration="closed")
    for _ in range(3):
        assert await office.register("SEPATest") == "SEPATest"
    response = await office.token("SEPATest", "SEPATest")
    assert response.json()["expires_in"] == 5
    claims = office.tokens.check(response.json()["access_token"])
    assert Scope.ADMIN not in claims.scopes
    assert claims.expires - claims.issued_at == pytest.approx(5)
    assert is_error(await office.token("SEPATest", "sepatest"), 400, "unauthorized_client")
    assert office.clients.page() == []


async def test_the_test_client_without_the_setting(offices):
    """It is nobody, also where it was there before; nobody logs in with what everybody knows."""
    await offices(test_identity=True).register("SEPATest")
    office = offices()
    assert is_error(await register(office, registration_of("SEPATest")), 401, "not_authorized_identity")
    assert is_error(await office.token("SEPATest", "SEPATest"), 400, "unauthorized_client")
    office = offices(registration="open")
    assert await office.register("SEPATest") != "SEPATest"
    assert is_error(await office.token("SEPATest", "SEPATest"), 400, "unauthorized_client")


# Tokens as SEPA has them


@pytest.mark.parametrize("path", ["/oauth/token", "/secure/oauth/token", "/oauth/register"])
@pytest.mark.parametrize("body", ["", '""', "null", "{}", '{"grant_type": 1}', "[" * 10_000, "nonsense"])
async def test_a_token_as_sepa_has_it(office, path, body):
    """201, flat and wrapped, whatever the body is."""
    secret = await office.register("sensor")
    headers = JSON | {"Authorization": basic("sensor", secret)}
    response = await office.post(path, headers=headers, content=body)
    assert response.status_code == 201
    assert response.headers["cache-control"] == "no-store"
    document = response.json()
    wrapped = document.pop("token")
    assert wrapped == document
    assert set(document) == {"access_token", "token_type", "expires_in", "scope"}
    assert document["token_type"] == "bearer"
    assert document["expires_in"] == 3600
    assert document["scope"] == "query subscribe update"
    claims = office.tokens.check(document["access_token"])
    assert (claims.client, claims.issuer) == ("sensor", ISSUER)
    assert claims.scopes == {Scope.QUERY, Scope.UPDATE, Scope.SUBSCRIBE}


@pytest.mark.parametrize(
    ("authorization", "status", "code"),
    [
        (None, 401, "unauthorized_client"),
        ("", 401, "unauthorized_client"),
        ("Bearer x", 401, "unauthorized_client"),
        ("Basic", 401, "invalid_client"),
        ("Basic ", 401, "invalid_client"),
        ("Basic !!!!", 401, "invalid_request"),
        ("Basic abc", 401, "invalid_request"),
        ("Basic /////w==", 401, "invalid_request"),
        ("Basic " + base64.b64encode(b"sensor").decode(), 401, "invalid_client"),
        (basic("nobody", "secret"), 400, "unauthorized_client"),
        (basic("sensor", "wrong"), 400, "unauthorized_client"),
        (basic("sensor", ""), 400, "unauthorized_client"),
        (basic("", ""), 400, "unauthorized_client"),
        (basic("sensor\0", "\0"), 400, "unauthorized_client"),
        (basic("' OR 1=1 --", "' OR 1=1 --"), 400, "unauthorized_client"),
        (basic("x" * 20_000, "y" * 20_000), 400, "unauthorized_client"),
    ],
)
async def test_errors_as_sepa_has_them(office, authorization, status, code):
    """With their statuses; unknown and wrong are the same."""
    await office.register("sensor")
    headers = JSON | ({} if authorization is None else {"Authorization": authorization})
    assert is_error(await office.post("/oauth/token", headers=headers, content='""'), status, code)


@pytest.mark.parametrize("scheme", ["basic", "BASIC", "Basic  "])
async def test_the_scheme_is_of_any_case(office, scheme):
    """RFC 9110, 11.1."""
    secret = await office.register("sensor")
    credentials = base64.b64encode(f"sensor:{secret}".encode()).decode()
    headers = JSON | {"Authorization": f"{scheme} {credentials}"}
    assert (await office.post("/oauth/token", headers=headers)).status_code == 201


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Type": "application/json; charset=utf-8", "Accept": "application/json; charset=utf-8"},
        {"Content-Type": "Application/JSON", "Accept": "*/*"},
        {"Content-Type": "application/json", "Accept": "application/json, text/plain, */*"},
        {"Content-Type": "text/json", "Accept": "application/sparql-results+json"},
        {"Content-Type": "application/vnd.api+json", "Accept": "application/*;q=0.5"},
        {"Accept": ""},
        {},
    ],
)
async def test_headers_that_are_fine(office, headers):
    """Parameters, wildcards, or none at all."""
    secret = await office.register("sensor")
    headers |= {"Authorization": basic("sensor", secret)}
    assert (await office.post("/oauth/token", headers=headers)).status_code == 201


@pytest.mark.parametrize("path", ["/oauth/token", "/oauth/register"])
@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"Content-Type": "text/plain"}, "content_type_error"),
        ({"Content-Type": "application/sparql-query"}, "content_type_error"),
        ({"Content-Type": "multipart/form-data; boundary=x"}, "content_type_error"),
        ({"Accept": "text/html"}, "accept_error"),
        ({"Accept": "application/xml, text/turtle;q=0.9"}, "accept_error"),
    ],
)
async def test_headers_that_are_something_else(office, path, headers, code):
    """400, with SEPA's codes."""
    assert is_error(await office.post(path, headers=JSON | headers, content=json.dumps(SENSOR)), 400, code)


# Tokens as RFC 6749 has them


async def test_a_token_by_a_form(office):
    """200; the client in the header or in the form; for all that it may do, or for what it asks."""
    secret = await office.register("sensor")
    response = await office.form_token("sensor", secret)
    assert response.status_code == 200
    assert response.headers["cache-control"] == "no-store"
    assert response.json()["scope"] == "query subscribe update"
    form = {"grant_type": "client_credentials", "client_id": "sensor", "client_secret": secret}
    response = await office.post("/oauth/token", data=form | {"scope": "query update"})
    assert response.status_code == 200
    assert response.json()["scope"] == response.json()["token"]["scope"] == "query update"
    assert office.tokens.check(response.json()["access_token"]).scopes == {Scope.QUERY, Scope.UPDATE}
    response = await office.form_token("sensor", secret, client_id="sensor", scope="query admin")
    assert response.json()["scope"] == "query"


@pytest.mark.parametrize(
    ("fields", "status", "code"),
    [
        ({}, 400, "invalid_request"),
        ({"grant_type": ""}, 400, "invalid_request"),
        ({"grant_type": "password"}, 400, "unsupported_grant_type"),
        ({"grant_type": ["client_credentials", "client_credentials"]}, 400, "invalid_request"),
        ({"grant_type": "client_credentials", "scope": "everything"}, 400, "invalid_scope"),
        ({"grant_type": "client_credentials", "scope": "query  update"}, 400, "invalid_scope"),
        ({"grant_type": "client_credentials", "scope": "QUERY"}, 400, "invalid_scope"),
        ({"grant_type": "client_credentials", "scope": "publish admin"}, 400, "invalid_scope"),
        ({"grant_type": "client_credentials", "scope": ["query", "update"]}, 400, "invalid_request"),
        ({"grant_type": "client_credentials", "client_secret": "also here"}, 400, "invalid_request"),
        ({"grant_type": "client_credentials", "client_id": "other"}, 400, "invalid_request"),
    ],
)
async def test_errors_as_the_standard_has_them(office, fields, status, code):
    """RFC 6749, 5.2."""
    headers = {"Authorization": basic("sensor", await office.register("sensor"))}
    response = await office.post("/oauth/token", data=fields, headers=headers | {"Content-Type": FORM})
    assert is_error(response, status, code)


FORM = "application/x-www-form-urlencoded"


@pytest.mark.parametrize(
    ("authorization", "fields"),
    [
        (None, {}),
        (None, {"client_id": "sensor"}),
        (None, {"client_id": "sensor", "client_secret": "wrong"}),
        (None, {"client_id": "sensor", "client_secret": ""}),
        (None, {"client_id": "nobody", "client_secret": "wrong"}),
        ("Bearer x", {}),
        ("Basic !!!", {}),
        ("Basic " + base64.b64encode(b"sensor").decode(), {}),
        (basic("sensor", "wrong"), {}),
        (basic("nobody", "wrong"), {}),
    ],
)
@pytest.mark.parametrize("path", ["/oauth/token", "/oauth/revoke"])
async def test_a_client_that_does_not_show_itself(office, path, authorization, fields):
    """401 and the scheme, whatever is wrong."""
    await office.register("sensor")
    headers = (
        {}
        if authorization is None or authorization.startswith("Bearer")
        else {"Authorization": authorization}
    )
    form = {"grant_type": "client_credentials", "token": "x"} | fields
    response = await office.post(path, data=form, headers=headers)
    assert is_error(response, 401, "invalid_client")
    assert response.headers["www-authenticate"].startswith("Basic ")


async def test_percent_encoding_is_the_second_reading(offices):
    """RFC 6749, 2.3.1 has it, SEPA's clients do not; a client whose name looks encoded is meant as it is."""
    office = offices(registration="open")
    plain, encoded = await office.register("a b:c"), await office.register("d%20e")
    assert (await office.form_token("a+b%3Ac", plain)).status_code == 200
    assert (await office.form_token("a%20b%3Ac", plain)).status_code == 200
    assert (await office.form_token("d%20e", encoded)).status_code == 200
    assert (await office.form_token("d%2520e", encoded)).status_code == 200
    assert is_error(await office.form_token("d+e", encoded), 401, "invalid_client")


@pytest.mark.parametrize("content", [b"grant_type=%ff", b"\xff", b"&".join([b"a=b"] * 2000)])
async def test_forms_that_are_none(office, content):
    """Not UTF-8, or of too many fields."""
    response = await office.post("/oauth/token", content=content, headers={"Content-Type": FORM})
    assert is_error(response, 400, "invalid_request")


async def test_a_form_is_no_registration(office):
    """JSON is."""
    response = await office.post("/oauth/register", data={"client_identity": "sensor"})
    assert is_error(response, 400, "content_type_error")


async def test_a_client_that_may_nothing_gets_no_token(office):
    """By either way."""
    secret = await office.register("idle")
    assert is_error(await office.token("idle", secret), 400, "invalid_scope")
    assert is_error(await office.form_token("idle", secret), 400, "invalid_scope")


# While the last token is good


async def test_a_new_token_each_time(office):
    """The default; both are good."""
    secret = await office.register("sensor")
    tokens = {(await office.token("sensor", secret)).json()["access_token"] for _ in range(2)}
    assert len(tokens) == 2
    assert len({office.tokens.check(token).jti for token in tokens}) == 2


async def test_the_same_token_while_it_is_good(offices):
    """With what is left of its life; another for other scopes, or after a revocation."""
    office = offices(token_while_valid="same")
    secret = await office.register("sensor")
    first = (await office.token("sensor", secret)).json()
    second = (await office.form_token("sensor", secret)).json()
    assert second["access_token"] == first["access_token"]
    assert first["expires_in"] - 5 < second["expires_in"] <= first["expires_in"]
    other = (await office.form_token("sensor", secret, scope="query")).json()
    assert other["access_token"] != first["access_token"]
    headers = {"Authorization": basic("sensor", secret)}
    form = {"token": other["access_token"]}
    assert (await office.post("/oauth/revoke", data=form, headers=headers)).status_code == 200
    third = (await office.form_token("sensor", secret, scope="query")).json()
    assert third["access_token"] != other["access_token"]


async def test_no_token_while_one_is_good(offices):
    """As SEPA's paper has it; the others get theirs."""
    office = offices(token_while_valid="refuse")
    sensor, reader = await office.register("sensor"), await office.register("reader")
    assert (await office.token("sensor", sensor)).status_code == 201
    assert is_error(await office.token("sensor", sensor), 400, "invalid_grant")
    assert is_error(await office.form_token("sensor", sensor), 400, "invalid_grant")
    assert (await office.token("reader", reader)).status_code == 201


# Revocation


async def revoke(office, client_id, secret, **fields):
    headers = {"Authorization": basic(client_id, secret)}
    return await office.post("/oauth/revoke", data=fields, headers=headers)


async def test_a_client_revokes_its_token(office):
    """And everybody who listens hears of it; its other tokens stay good."""
    secret = await office.register("sensor")
    one, other = [(await office.token("sensor", secret)).json()["access_token"] for _ in range(2)]
    heard = []
    office.guarded.listen(lambda: heard.append(1))
    assert (await office.guarded.access(one)).client == "sensor"
    response = await revoke(office, "sensor", secret, token=one, token_type_hint="access_token")
    assert response.status_code == 200
    assert heard == [1]
    assert office.guarded.known(one) is None
    with pytest.raises(Unauthorized, match="revoked"):
        await office.guarded.access(one)
    assert (await office.guarded.access(other)).client == "sensor"
    assert (await revoke(office, "sensor", secret, token=one)).status_code == 200


@pytest.mark.parametrize("token", ["x", "a.b.c", "\0", "x" * 50_000, "ü"])
async def test_an_unknown_token_is_revoked_already(office, token):
    """RFC 7009, 2.2."""
    assert (await revoke(office, "sensor", await office.register("sensor"), token=token)).status_code == 200


async def test_the_token_of_another_stays_good(office):
    """RFC 7009, 2.1."""
    sensor, reader = await office.register("sensor"), await office.register("reader")
    token = (await office.token("sensor", sensor)).json()["access_token"]
    assert is_error(await revoke(office, "reader", reader, token=token), 400, "invalid_grant")
    assert (await office.guarded.access(token)).client == "sensor"


async def test_a_revocation_without_a_token(office):
    """And one that is no form."""
    secret = await office.register("sensor")
    assert is_error(await revoke(office, "sensor", secret), 400, "invalid_request")
    response = await office.post("/oauth/revoke", json={"token": "x"})
    assert is_error(response, 400, "invalid_request")


async def test_a_revoked_token_stays_so_over_a_restart(offices):
    """The file knows."""
    office = offices()
    secret = await office.register("sensor")
    token = (await office.token("sensor", secret)).json()["access_token"]
    await revoke(office, "sensor", secret, token=token)
    with pytest.raises(Unauthorized, match="revoked"):
        await offices().guarded.access(token)


@pytest.mark.parametrize(
    ("address", "headers", "status"),
    [
        ("127.0.0.1", {}, 201),
        ("::1", {}, 201),
        ("192.0.2.1", {}, 401),
        ("not an address", {}, 401),
        ("127.0.0.1", {"X-Forwarded-For": "127.0.0.1"}, 401),
        ("127.0.0.1", {"Forwarded": "for=192.0.2.1"}, 401),
        ("127.0.0.1", {"Via": "1.1 proxy"}, 401),
    ],
)
async def test_administrators_register_on_this_machine(office, address, headers, status):
    """And not through a proxy on it."""
    asked = registration_of("boss")
    response = await office.post("/oauth/register", json=asked, headers=JSON | headers, address=address)
    assert response.status_code == status
