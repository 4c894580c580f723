"""The commands with scripted answers; `test_secure_with_broker.py` has them with a real broker."""

import json
import re

import pytest

from triplewire.clients import cli
from triplewire.clients.credentials import CredentialsFile

MADE = {"credentials": {"client_id": "ann-1", "client_secret": "s3cret"}}
TOKEN = {"token": {"access_token": "t0ken", "token_type": "bearer", "expires_in": 3600}}


def answer(fake, status, document):
    fake.replies.append((status, {"Content-Type": "application/json"}, json.dumps(document).encode()))


@pytest.fixture
def run(fake):
    return lambda command, *more: cli.run([command, "--url", fake.http, "--identity", "Ann", *more])


def test_an_identity_is_registered_and_remembered(fake, run, capsys):
    """Its secret is not shown."""
    answer(fake, 201, MADE)

    assert run("register") == 0

    kept = CredentialsFile().read(f"{fake.http}/oauth/token", "Ann")
    assert (kept.client_id, kept.secret) == ("ann-1", "s3cret")
    said = capsys.readouterr()
    assert "as client ann-1" in said.err
    assert "s3cret" not in said.out + said.err


def test_a_login_says_until_when_and_shows_the_token_only_when_asked(fake, run, capsys):
    """It is kept for the next command."""
    answer(fake, 201, MADE)
    answer(fake, 201, TOKEN)

    assert run("login") == 0
    said = capsys.readouterr()
    assert said.out == ""
    assert re.search(r"Ann has a token at .*, good until \d{4}-\d\d-\d\d .* \(3600 s\)", said.err)
    assert "t0ken" not in said.err
    assert run("login", "--show") == 0
    assert capsys.readouterr().out == "t0ken\n"
    assert len(fake.requests) == 2


def test_a_script_has_its_token_alone_on_a_line(fake, run, capsys):
    """`token register` and `token get`."""
    answer(fake, 201, MADE)
    answer(fake, 201, TOKEN)
    arguments = ["--url", fake.http, "--identity", "Ann"]
    assert cli.run(["token", "register", *arguments]) == 0
    assert capsys.readouterr().out == ""
    assert cli.run(["token", "get", *arguments]) == 0
    assert capsys.readouterr().out == "t0ken\n"


def test_a_token_without_an_end_says_so(fake, run, capsys):
    """Until it is revoked."""
    answer(fake, 201, MADE)
    answer(fake, 200, {"access_token": "t0ken"})

    assert run("login") == 0
    assert "until it is revoked" in capsys.readouterr().err


def test_a_logout_revokes_and_forgets_the_token(fake, run, capsys):
    """The secret is forgotten only when asked."""
    answer(fake, 201, MADE)
    answer(fake, 201, TOKEN)
    run("login")
    answer(fake, 200, {})

    assert run("logout") == 0
    assert fake.requests[-1]["path"] == "/oauth/revoke"
    assert fake.requests[-1]["form"]["token"] == ["t0ken"]
    assert run("logout") == 0
    assert "had no token" in capsys.readouterr().err
    assert run("logout", "--forget") == 0
    assert CredentialsFile().identities(f"{fake.http}/oauth/token") == []


def test_a_refused_registration_ends_with_1(fake, run, capsys):
    """With the broker's words."""
    answer(fake, 401, {"error": "not_authorized_identity", "error_description": "not listed"})

    assert run("register") == 1
    assert "not listed" in capsys.readouterr().err


def test_credentials_that_others_can_read_end_with_1(fake, run, capsys):
    """And what to do."""
    answer(fake, 201, MADE)
    run("register")
    CredentialsFile().path.chmod(0o644)

    assert run("login") == 1
    assert "chmod 600" in capsys.readouterr().err
