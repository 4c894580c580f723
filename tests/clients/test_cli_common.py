import io

import click
import pytest

from triplewire.clients import ClientSettings, cli
from triplewire.clients.addresses import Addresses
from triplewire.clients.cli_common import Access, sparql_text


def test_a_text_comes_from_the_argument_or_from_a_file():
    """One of the two."""
    assert sparql_text("ASK {}", None) == "ASK {}"
    assert sparql_text(None, io.StringIO("ASK {}")) == "ASK {}"


def test_two_texts_or_none_are_wrong_usage():
    """Nobody could know which is meant."""
    with pytest.raises(click.UsageError):
        sparql_text(None, None)
    with pytest.raises(click.UsageError):
        sparql_text("ASK {}", io.StringIO("ASK {}"))


def test_a_token_counts_more_than_an_identity():
    """It is there already."""
    at = Addresses.of("http://localhost:8000")

    assert Access("Ann", "token").authorization(at)() == "token"
    assert Access().authorization(at) is None
    found = Access("Ann").authorization(at)
    assert (found.identity, found.at) == ("Ann", "http://localhost:8000/oauth/token")


def test_certificates_are_believed_as_the_options_say():
    """Over what a profile wishes."""
    assert Access().settings() == ClientSettings()
    assert Access(ca_file="ca.pem").settings().ca_file == "ca.pem"
    assert not Access(insecure=True).settings().verify
    assert not Access().settings(ClientSettings(verify=False)).verify
    assert Access(ca_file="ca.pem").settings(ClientSettings(urgency=6)).urgency == 6


def test_a_token_is_in_no_repr():
    """Tracebacks may show it."""
    assert "t0ken" not in repr(Access("Ann", "t0ken"))


@pytest.mark.parametrize("command", ["query", "update"])
def test_the_options_of_access_are_taken(fake, command, tmp_path, monkeypatch):
    """By argument, file and environment."""
    file = tmp_path / "token"
    file.write_text("two\nmore\n")
    text = {"query": "ASK {}", "update": "INSERT DATA {}"}[command]
    assert cli.run([command, "--url", fake.http, "--token", "one", text]) == 0
    assert cli.run([command, "--url", fake.http, "--token-file", str(file), text]) == 0
    monkeypatch.setenv("TRIPLEWIRE_TOKEN", "three")
    assert cli.run([command, "--url", fake.http, text]) == 0

    sent = [request["headers"]["Authorization"] for request in fake.requests]
    assert sent == ["Bearer one", "Bearer two", "Bearer three"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--token", ""],
        ["--token", "a\nb"],
        ["--token", "ö"],
        ["--token", "a", "--token-file", __file__],
        ["--ca", "/nowhere.pem"],
        ["--token-file", "/nowhere"],
    ],
)
def test_wrong_options_of_access_are_wrong_usage(arguments, capsys):
    """And no token is repeated."""
    assert cli.run(["query", *arguments, "ASK {}"]) == 2
    assert "a\nb" not in capsys.readouterr().err


def test_who_logs_in_must_be_said():
    """By the option or the environment."""
    assert cli.run(["login"]) == 2
