"""Guessing, races, and what is told to the log."""

from __future__ import annotations

import asyncio
import logging
import threading

import pytest
from argon2 import PasswordHasher

from triplewire.broker.errors import EngineError, TooManyRequests, Unauthorized

from .office import JSON, basic, is_error, registration_of


@pytest.fixture
def trials(monkeypatch):
    """The hashes that secrets were tried against."""
    tried = []
    verify = PasswordHasher.verify
    monkeypatch.setattr(
        PasswordHasher, "verify", lambda self, *args: tried.append(args[0]) or verify(self, *args)
    )
    return tried


async def test_unknown_and_wrong_cost_the_same(office, trials):
    """One run of Argon2 of the same costs each: its time tells nobody who is registered."""
    await office.register("sensor")
    for name in ("sensor", "nobody", "x%20y", "sensor%20"):
        trials.clear()
        assert is_error(await office.token(name, "wrong"), 400, "unauthorized_client")
        assert [hashed.split("$")[1:4] for hashed in trials] == [["argon2id", "v=19", "m=64,t=1,p=1"]]


async def test_who_logs_in_again_is_not_tried_again(office, trials):
    """The secret was right a moment ago; a wrong one is tried each time."""
    secret = await office.register("sensor")
    for _ in range(3):
        assert (await office.token("sensor", secret)).status_code == 201
    assert len(trials) == 1
    for _ in range(2):
        assert is_error(await office.token("sensor", f"{secret}x"), 400, "unauthorized_client")
    assert len(trials) == 3


async def test_guessing_ends(offices):
    """429 and Retry-After, for a right secret, too; other addresses are not concerned."""
    office = offices(attempts=5)
    secret = await office.register("sensor")
    for _ in range(5):
        assert is_error(await office.token("sensor", "wrong"), 400, "unauthorized_client")
    for response in (
        await office.token("sensor", "wrong"),
        await office.token("sensor", secret),
        await office.form_token("nobody", "wrong"),
        await office.post("/oauth/register", json=registration_of("reader"), headers=JSON),
    ):
        assert is_error(response, 429, "too_many_requests")
        assert 0 < int(response.headers["retry-after"]) <= 60
    assert (await office.token("sensor", secret, address="192.0.2.2")).status_code == 201


async def test_a_hundred_guesses_at_once_are_no_more_than_one_after_the_other(offices, trials):
    """Those that wait for their turn are looked at again."""
    office = offices(attempts=5)
    await office.register("sensor")
    responses = await asyncio.gather(*(office.token("sensor", f"guess {number}") for number in range(100)))
    assert {response.status_code for response in responses} == {400, 429}
    assert len(trials) <= 6  # two are tried at a time


async def _full(workers):
    while workers._room:  # noqa: ASYNC110 - nobody tells
        await asyncio.sleep(0.01)


async def test_too_many_at_once(office, monkeypatch):
    """The queue has an end; who was in it is served."""
    go = threading.Event()
    monkeypatch.setattr(office.parts.secrets, "matches", lambda *_: go.wait(30))
    waiting = [asyncio.create_task(office.token("nobody", "x", address=f"10.0.0.{n}")) for n in range(102)]
    await asyncio.wait_for(_full(office.server._trials), 10)
    response = await office.token("nobody", "x")
    assert is_error(response, 429, "too_many_requests")
    assert response.headers["retry-after"] == "1"
    go.set()
    assert {response.status_code for response in await asyncio.gather(*waiting)} == {400}


async def test_a_client_that_was_right_is_not_locked_out(offices):
    """By a stranger behind the same proxy; but neither is the stranger let in."""
    office = offices(attempts=3)
    secret = await office.register("sensor")
    assert (await office.token("sensor", secret)).status_code == 201
    for _ in range(3):
        await office.token("sensor", "wrong")
    assert is_error(await office.token("sensor", "wrong"), 429, "too_many_requests")
    assert (await office.token("sensor", secret)).status_code == 201


async def test_guessing_identities_ends(offices):
    """Whether they are not listed or registered already."""
    office = offices(attempts=4)
    await office.register("sensor")
    for identity in ("a", "b", "sensor", "sensor"):
        response = await office.post("/oauth/register", json=registration_of(identity), headers=JSON)
        assert is_error(response, 401, "not_authorized_identity")
    response = await office.post("/oauth/register", json=registration_of("reader"), headers=JSON)
    assert is_error(response, 429, "too_many_requests")


async def test_guessing_the_test_client_ends(offices):
    """Though everybody knows it."""
    office = offices(attempts=3, test_identity=True)
    for _ in range(3):
        await office.token("SEPATest", "wrong")
    assert is_error(await office.token("SEPATest", "wrong"), 429, "too_many_requests")


async def test_successes_do_not_count(offices):
    """However many."""
    office = offices(attempts=2, reregistration=True)
    for _ in range(5):
        secret = await office.register("sensor")
        assert (await office.token("sensor", secret)).status_code == 201


async def test_no_token_for_a_client_that_was_revoked_while_it_logged_in(office, monkeypatch):
    """The secret was right, then the client was revoked, then a token was asked for."""
    secret = await office.register("sensor")
    login = await office.server.login([("sensor", secret)], "192.0.2.1")
    await office.server.revoke_client("sensor", readmit=False)
    with pytest.raises(Unauthorized, match="wrong"):
        await office.server.grant(login)
    assert is_error(await office.token("sensor", secret), 400, "unauthorized_client")


async def test_no_token_for_a_secret_that_was_replaced_while_it_logged_in(offices):
    """As with a revoked client."""
    office = offices(reregistration=True)
    login = await office.server.login([("sensor", await office.register("sensor"))], "192.0.2.1")
    await office.register("sensor")
    with pytest.raises(Unauthorized, match="wrong"):
        await office.server.grant(login)


async def test_an_old_secret_of_a_readmitted_client_is_not_recalled(office):
    """The name is the same, the client is not."""
    old = await office.register("sensor")
    assert (await office.token("sensor", old)).status_code == 201
    await office.server.revoke_client("sensor", readmit=True)
    new = await office.register("sensor")
    assert is_error(await office.token("sensor", old), 400, "unauthorized_client")
    assert (await office.token("sensor", new)).status_code == 201


async def test_what_can_not_be_stored(office, monkeypatch, caplog):
    """500 without details for the sender; the log has them."""

    def fail(*_, **__):
        cause = OSError("disk full at /secret/path")
        raise EngineError("the clients can't be stored", code="storing_credentials") from cause

    monkeypatch.setattr(office.clients, "add", fail)
    response = await office.post("/oauth/register", json=registration_of("sensor"), headers=JSON)
    assert is_error(response, 500, "storing_credentials")
    assert "/secret/path" not in response.text
    assert "/secret/path" in caplog.text


async def test_as_many_clients_as_may_be(offices):
    """One more is refused with 503, and nobody is blamed for it."""
    office = offices(registration="open", clients=2, attempts=1)
    await office.register("one")
    await office.register("two")
    for _ in range(3):
        response = await office.post("/oauth/register", json=registration_of("three"), headers=JSON)
        assert is_error(response, 503, "storing_credentials")


async def test_neither_secrets_nor_tokens_are_logged_or_stored(office, caplog, tmp_path):
    """Whatever is logged, and whatever was wrong; of a secret there is a hash, of a token nothing."""
    caplog.set_level(logging.DEBUG)
    secret = await office.register("sensor")
    token = (await office.token("sensor", secret)).json()["access_token"]
    headers = {"Authorization": basic("sensor", secret)}
    await office.form_token("sensor", secret)
    await office.form_token(secret, "sensor")
    await office.token(secret, secret)
    await office.form_token("sensor", secret, client_secret=secret)
    await office.form_token("sensor", secret, scope=secret)
    await office.post("/oauth/token", content=secret, headers=JSON)
    await office.post("/oauth/token", content=secret, headers={"Content-Type": "text/plain"})
    await office.post("/oauth/token", headers=JSON | {"Authorization": f"Basic {secret}"})
    await office.post("/oauth/revoke", data={"token": f"{token}x"}, headers=headers)
    await office.post("/oauth/revoke", data={"token": token}, headers=headers)
    await office.server.revoke_client("sensor", readmit=False)
    assert "client 'sensor' is registered" in caplog.text
    assert "client 'sensor' is revoked" in caplog.text
    files = b"".join(path.read_bytes() for path in (tmp_path / "security").iterdir() if path.is_file())
    assert b"argon2id" in files
    for hidden in (secret, token, token.split(".")[2], basic("sensor", secret).split()[1]):
        assert hidden not in caplog.text
        assert hidden.encode() not in files
    assert secret not in repr(await office.server.login([("sensor", secret)], "192.0.2.9"))


async def test_nothing_that_takes_time_is_on_the_loop(offices, monkeypatch):
    """Trials, hashes, the file and the signing of tokens have threads of their own."""
    office = offices(reregistration=True)
    threads = {}

    def watch(owner, name):
        work = getattr(owner, name)

        def watched(*args, **kwargs):
            threads.setdefault(name, set()).add(threading.current_thread().name)
            return work(*args, **kwargs)

        monkeypatch.setattr(owner, name, watched)

    for name in ("hash", "matches"):
        watch(office.parts.secrets, name)
    for name in ("add", "check", "find", "page", "revoke", "revoke_token"):
        watch(office.clients, name)
    watch(office.tokens, "issue")
    watch(office.keys, "rotate")
    boss = await office.bearer("boss")
    secret = await office.register("sensor")
    token = (await office.token("sensor", secret)).json()["access_token"]
    headers = {"Authorization": basic("sensor", secret)}
    await office.post("/oauth/revoke", data={"token": token}, headers=headers)
    await office.post("/oauth/jwks/rotate", headers=boss)
    await office.get("/oauth/clients", headers=boss)
    await office.delete("/oauth/clients/sensor", headers=boss)
    trials = {name: threads.pop(name) for name in ("hash", "matches")}
    assert all(name.startswith("triplewire-secrets") for names in trials.values() for name in names)
    assert set(threads) == {"add", "check", "find", "page", "revoke", "revoke_token", "issue", "rotate"}
    assert {name for names in threads.values() for name in names} == {"triplewire-clients_0"}


async def test_waiting_for_a_turn_is_no_failure(offices):
    """TooManyRequests of the queue does not count as an attempt."""
    office = offices(attempts=1)
    office.server._trials._room = 0
    with pytest.raises(TooManyRequests, match="log in or register at once"):
        await office.server.login([("nobody", "x")], "192.0.2.1")
    office.parts.attempts.check("192.0.2.1")
