import json
from pathlib import Path

import pytest
from pyoxigraph import NamedNode

from triplewire.broker.errors import ClientError, ProfileError
from triplewire.clients import ClientCredentials, ClientSettings, Method
from triplewire.clients.application import Application
from triplewire.clients.credentials import Credentials, CredentialsFile
from triplewire.jsap import Profile


@pytest.fixture
def application(profile):
    return Application(profile)


def test_a_query_knows_where_it_goes_and_how(application, fake):
    """As the profile says."""
    asked = application.query("VALUES", {"sensor": "ex:two"})

    assert asked.url == f"{fake.http}/query"
    assert asked.method is Method.POST
    assert "<http://example.org/two>" in asked.operation.sparql


def test_an_update_knows_where_it_goes_and_how(application, fake):
    """As the profile says."""
    made = application.update("MEASURE", {"value": 7})

    assert made.url == f"{fake.http}/update"
    assert made.method is Method.URL_ENCODED_POST
    assert "<http://example.org/one>" in made.operation.sparql


def test_a_subscription_goes_to_the_websocket(application, fake):
    """With the same text as a query."""
    followed = application.subscription("VALUES", {})

    assert followed.url == fake.ws
    assert followed.operation == application.query("VALUES", {}).operation


def test_a_text_is_taken_for_sparql(application, fake):
    """With the profile's prefixes and addresses, and values for any of its variables."""
    asked = application.query("SELECT ?v { ?s ex:value ?v }", {"s": NamedNode("http://example.org/two")})
    made = application.update("INSERT DATA { ex:a ex:b ?c }", {"c": "it's"})
    followed = application.subscription("SELECT ?v { ?s ex:value ?v }", {})

    assert asked.url == f"{fake.http}/query"
    assert "<http://example.org/two>" in asked.operation.sparql
    assert "PREFIX ex:" in asked.operation.sparql
    assert '"it\'s"' in made.operation.sparql
    assert followed.url == fake.ws


def test_a_single_word_is_an_id(application):
    """A misspelt one is told, and not sent as SPARQL."""
    with pytest.raises(ProfileError, match="VALUES"):
        application.query("VALUE", {})
    with pytest.raises(ProfileError, match="MEASURE"):
        application.update("MEASURES", {})


def test_an_update_needs_no_braces(application):
    """`CLEAR ALL` is a text."""
    assert application.update("CLEAR ALL", {}).operation.sparql.endswith("CLEAR ALL")


def test_a_profile_that_is_loaded_already_will_do(profile):
    """It is read once."""
    loaded = Profile.load(profile)

    assert Application(loaded).profile is loaded


def test_the_profile_may_wish_not_to_reconnect(profile):
    """Settings that are given have the last word."""
    profile.write_text(profile.read_text().replace('"reconnect": true', '"reconnect": false'))
    application = Application(str(profile))

    assert not application.settings(None).reconnect
    assert application.settings(ClientSettings()).reconnect


@pytest.fixture
def secure(profile):
    """Makes applications of profiles with such an `oauth`."""

    def make(**oauth):
        document = json.loads(Path(profile).read_text())
        document["oauth"] = {
            "enable": True,
            "register": "https://b/register",
            "tokenRequest": "https://b/token",
        } | oauth
        return Application(Profile.of(document))

    return make


def test_a_profile_says_where_tokens_come_from(secure):
    """For an identity."""
    found = secure().authorization(None, "Ann", ClientSettings())

    assert isinstance(found, ClientCredentials)
    assert (found.identity, found.at) == ("Ann", "https://b/token")


def test_what_is_given_counts_more_than_the_profile(secure):
    """So does a profile without OAuth."""
    given = ClientCredentials("Bob", token_url="https://c/token")

    assert secure().authorization(given, "Ann", ClientSettings()) is given
    assert secure(enable=False).authorization(None, "Ann", ClientSettings()) is None


def test_without_an_identity_it_is_the_only_one_that_is_known(secure, caplog):
    """Two are none, and that is told."""
    file = CredentialsFile()
    assert secure().authorization(None, None, ClientSettings()) is None
    assert "no identity is given" in caplog.text
    file.keep("https://b/token", Credentials("Ann", "a", "s"))
    assert secure().authorization(None, None, ClientSettings()).identity == "Ann"
    file.keep("https://b/token", Credentials("Bob", "b", "s"))
    assert secure().authorization(None, None, ClientSettings()) is None


def test_a_profile_without_a_token_url_is_told(secure):
    """As OAuth is enabled."""
    with pytest.raises(ProfileError, match="no URL to get tokens from"):
        secure(tokenRequest=None).authorization(None, "Ann", ClientSettings())


def test_keycloak_is_asked_by_a_form_and_nobody_registers_there(secure):
    """Its secrets are given by its administrators."""
    found = secure(provider="keycloak").authorization(None, "Ann", ClientSettings())

    with pytest.raises(ClientError, match="register it first"):
        found.token()
    assert found._form


def test_trusting_anybody_is_the_profiles_wish_and_told(secure, caplog):
    """Settings that are given count more."""
    assert secure().settings(None).verify
    assert not secure(trustall=True).settings(None).verify
    assert caplog.text.count("oauth.trustall") == 1
    assert secure(trustall=True).settings(ClientSettings()).verify
