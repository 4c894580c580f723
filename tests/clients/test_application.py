import pytest
from pyoxigraph import NamedNode

from triplewire.broker.errors import ProfileError
from triplewire.clients import ClientSettings, Method
from triplewire.clients.application import Application
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
