"""The flows by hand: what is said, and what is made of the answers."""

import base64
import json
import math

import pytest

from triplewire.broker.errors import BrokerMisbehaved, BrokerRefused, ConnectionLost
from triplewire.clients import oauth
from triplewire.clients.flows import Call, Reply, Wait
from triplewire.clients.settings import ClientSettings

URL = "https://broker:8443/oauth/token"
SECRET = oauth.Secret("the:id", "s3cret")
SETTINGS = ClientSettings()


def reply(status, document):
    return Reply(status, {"content-type": "application/json"}, json.dumps(document).encode())


def finish(flow, answer):
    with pytest.raises(StopIteration) as end:
        flow.send(answer)
    return end.value.value


def asked(flow):
    call = next(flow)
    assert isinstance(call, Call)
    return call


def basic(call):
    scheme, _, value = call.headers["authorization"].partition(" ")
    assert scheme == "Basic"
    return base64.b64decode(value).decode()


def test_an_identity_is_registered_as_sepa_has_it():
    """Both headers exactly, and what comes of it."""
    flow = oauth.register("https://broker/oauth/register", "Ann", SETTINGS)

    call = asked(flow)

    assert call.headers == {"content-type": "application/json", "accept": "application/json"}
    assert json.loads(call.body) == {
        "register": {"client_identity": "Ann", "grant_types": ["client_credentials"]}
    }
    made = reply(201, {"credentials": {"client_id": "a", "client_secret": "b", "signature": {"kty": "RSA"}}})
    assert finish(flow, made) == oauth.Secret("a", "b")


def test_a_refused_registration_tells_who_and_where():
    """With the broker's own words and code."""
    flow = oauth.register("https://broker/oauth/register", "Ann", SETTINGS)
    next(flow)

    with pytest.raises(BrokerRefused, match=r"'Ann' can't register at https://broker.*no such") as raised:
        flow.send(reply(401, {"error": "not_authorized_identity", "error_description": "no such"}))

    assert (raised.value.code, raised.value.status) == ("not_authorized_identity", 401)


def test_a_token_is_asked_for_as_sepa_has_it():
    """Basic with both parts as they are, JSON headers and no body."""
    call = asked(oauth.token(URL, SECRET, SETTINGS))

    assert (call.method, call.url, call.body) == ("POST", URL, b"")
    assert call.headers["content-type"] == call.headers["accept"] == "application/json"
    assert basic(call) == "the:id:s3cret"


@pytest.mark.parametrize(
    "body",
    [
        {"token": {"access_token": "abc", "token_type": "bearer", "expires_in": 5}},
        {"access_token": "abc", "token_type": "Bearer", "expires_in": 5},
        {"access_token": "abc", "expires_in": "5", "token": "foreign"},
    ],
)
@pytest.mark.parametrize("status", [200, 201])
def test_a_token_is_understood_in_each_shape(body, status):
    """Flat or wrapped, SEPA's status or that of RFC 6749."""
    flow = oauth.token(URL, SECRET, SETTINGS)
    next(flow)

    assert finish(flow, reply(status, body)) == oauth.Granted("abc", 5)


def test_a_token_without_a_life_is_good_until_it_is_refused():
    """RFC 6749, 5.1: expires_in is recommended only."""
    flow = oauth.token(URL, SECRET, SETTINGS)
    next(flow)

    assert finish(flow, reply(200, {"access_token": "abc"})).expires_in_s == math.inf


def test_a_token_is_asked_for_by_a_form():
    """RFC 6749, 4.4.2, the client's parts encoded (2.3.1)."""
    flow = oauth.token_by_form(URL, oauth.Secret("the:id", "a b%"), SETTINGS, "query update")

    call = asked(flow)

    assert call.headers["content-type"] == "application/x-www-form-urlencoded"
    assert call.body == b"grant_type=client_credentials&scope=query+update"
    assert basic(call) == "the%3Aid:a+b%25"
    assert finish(flow, reply(200, {"access_token": "abc", "expires_in": 60})) == oauth.Granted("abc", 60)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"s3cret",
        b"[]",
        b"{}",
        b'{"access_token":5}',
        b'{"access_token":"a\\nb"}',
        b'{"token":{}}',
        b'{"access_token":"a","expires_in":"soon"}',
        b'{"access_token":"a","expires_in":[]}',
        b"[" * 100_000,
    ],
)
def test_what_is_no_token_is_told(body):
    """By where it came from; the answer itself is not quoted, as a token may be in it."""
    flow = oauth.token(URL, SECRET, SETTINGS)
    next(flow)

    with pytest.raises(BrokerMisbehaved, match="https://broker:8443/oauth/token") as raised:
        flow.send(Reply(200, {}, body))

    assert "s3cret" not in str(raised.value)


def test_a_server_that_is_away_is_asked_again_after_growing_waits():
    """And given up in the end."""
    flow = oauth.token(URL, SECRET, ClientSettings(retries=3))
    call, waits = asked(flow), []
    for _ in range(3):
        wait = flow.throw(ConnectionLost("away"))
        assert isinstance(wait, Wait)
        waits.append(wait.seconds)
        assert next(flow) == call

    with pytest.raises(ConnectionLost, match="away"):
        flow.throw(ConnectionLost("away"))
    assert waits == [0.5, 1, 2]


def test_a_server_that_has_no_time_says_when_to_ask_again():
    """Retry-After."""
    flow = oauth.token(URL, SECRET, SETTINGS)
    call = asked(flow)

    assert flow.send(Reply(429, {"retry-after": "7"})) == Wait(7)
    assert next(flow) == call


def test_a_token_is_taken_back():
    """RFC 7009, 2.1."""
    flow = oauth.revoke("https://broker/oauth/revoke", SECRET, "abc", SETTINGS)

    assert asked(flow).body == b"token=abc&token_type_hint=access_token"
    assert finish(flow, Reply(200)) is None


@pytest.mark.parametrize("issuer", ["https://idp/realms/one", "https://idp/realms/one/"])
def test_a_provider_is_found_by_its_issuer(issuer):
    """OpenID Connect Discovery first, then RFC 8414."""
    flow = oauth.discover(issuer, SETTINGS)
    document = {
        "issuer": "https://idp/realms/one",
        "token_endpoint": "https://idp/t",
        "revocation_endpoint": "https://idp/r",
    }

    assert asked(flow).url == "https://idp/realms/one/.well-known/openid-configuration"
    second = flow.send(Reply(404))
    assert second.url == "https://idp/.well-known/oauth-authorization-server/realms/one"
    assert finish(flow, reply(200, document)) == oauth.Provider("https://idp/t", "https://idp/r")


@pytest.mark.parametrize(
    "document",
    [
        {"token_endpoint": "https://idp/t"},
        {"issuer": "https://evil", "token_endpoint": "https://idp/t"},
        {"issuer": "https://idp"},
        {"issuer": "https://idp", "token_endpoint": "file:///etc/passwd"},
    ],
)
def test_metadata_of_another_issuer_is_not_believed(document):
    """RFC 8414, 3.3; nor where it leads nowhere."""
    flow = oauth.discover("https://idp", SETTINGS)
    next(flow)

    with pytest.raises(BrokerMisbehaved, match="the metadata of https://idp"):
        flow.send(reply(200, document))


def test_secrets_are_in_no_repr():
    """Of what travels, and of what is known."""
    call = asked(oauth.token(URL, SECRET, SETTINGS))
    granted = oauth.Granted("t0ken", 5)
    answered = reply(200, {"access_token": "t0ken"})

    shown = repr((call, SECRET, granted, answered))

    assert "s3cret" not in shown
    assert "t0ken" not in shown
    assert call.headers["authorization"].split()[1] not in shown
