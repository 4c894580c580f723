"""A small token server without sockets, and a clock that the test moves."""

import asyncio
import json
import logging
import math
import threading
import time
from urllib.parse import parse_qs

import httpx
import pytest

from triplewire.broker.errors import BrokerRefused, ClientError, ConnectionLost
from triplewire.clients.client_credentials import ClientCredentials
from triplewire.clients.credentials import Credentials, CredentialsFile
from triplewire.clients.settings import ClientSettings

REGISTER, TOKEN, REVOKE = (f"https://broker/oauth/{name}" for name in ("register", "token", "revoke"))


class TokenServer:
    """Registers each identity once, and gives numbered tokens; keeps what it was asked."""

    def __init__(self):
        self.secrets = {}
        self.asked = []
        self.life = 100
        self.given = 0
        self.away = False
        self.policy = "new"
        self.delay_s = 0.0
        self.revoked = []

    def __call__(self, request):
        path = request.url.path
        self.asked.append(path.rpartition("/")[2])
        time.sleep(self.delay_s)
        if self.away:
            raise httpx.ConnectError("nobody there")
        if path.endswith("register"):
            identity = json.loads(request.content)["register"]["client_identity"]
            if identity in self.secrets:
                return self.refusal(401, "not_authorized_identity")
            self.secrets[identity] = f"s3cret-{len(self.secrets)}"
            made = {"client_id": identity, "client_secret": self.secrets[identity]}
            return httpx.Response(201, json={"credentials": made})
        if not any(
            httpx.BasicAuth(*pair)._auth_header == request.headers["authorization"]
            for pair in self.secrets.items()
        ):
            return self.refusal(400, "unauthorized_client")
        if path.endswith("revoke"):
            self.revoked.append(parse_qs(request.content.decode())["token"][0])
            return httpx.Response(200)
        if self.policy == "refuse":
            return self.refusal(400, "invalid_grant")
        self.given += self.policy == "new"
        return httpx.Response(201, json={"access_token": f"t0ken-{self.given}", "expires_in": self.life})

    def refusal(self, status, code):
        return httpx.Response(status, json={"error": code, "status_code": status, "error_description": "no"})

    @property
    def tokens(self):
        return self.asked.count("token")


class Times:
    def __init__(self):
        self.passed = 0.0

    def now(self):
        return 1000.0 + self.passed

    def clock(self):
        return 1.7e9 + self.passed


@pytest.fixture
def server():
    return TokenServer()


@pytest.fixture
def times():
    return Times()


@pytest.fixture
def ann(server, times, tmp_path):
    """Makes the credentials of Ann, as many as there are processes of hers."""

    def make(identity="Ann", **options):
        given = {"register_url": REGISTER, "token_url": TOKEN, "file": tmp_path / "credentials.json"}
        return ClientCredentials(
            identity,
            **given | options,
            settings=ClientSettings(retries=1, retry_after_max_s=0.0),
            transport=httpx.MockTransport(server),
            now=times.now,
            clock=times.clock,
        )

    return make


def test_the_first_token_registers_the_identity(ann, server):
    """And the next ones ask nobody."""
    credentials = ann()
    assert credentials.known() is None

    first = credentials.token()

    assert first.text == "t0ken-1"
    assert credentials.token() == credentials.known() == first
    assert server.asked == ["register", "token"]


@pytest.mark.parametrize(("life", "renewed_after"), [(100, 95), (10, 9), (5, 4.5), (3600, 3595)])
def test_a_token_is_renewed_before_its_end(ann, server, times, life, renewed_after):
    """At nine tenths of its life, or five seconds before its end where that is later."""
    server.life = life
    credentials = ann()
    credentials.token()

    times.passed = renewed_after - 0.01
    assert credentials.known().text == "t0ken-1"
    times.passed = renewed_after + 0.01
    assert credentials.known() is None
    assert credentials.token().text == "t0ken-2"


def test_a_refused_token_is_followed_by_another(ann, server):
    """Once: who comes later with the same refused one gets what is there."""
    credentials = ann()
    first = credentials.token().text

    second = credentials.token(first).text

    assert (second, credentials.token(first).text) == ("t0ken-2", "t0ken-2")
    assert credentials.known(first).text == "t0ken-2"
    assert server.tokens == 2


def test_many_threads_make_one_request(ann, server):
    """All get its token."""
    server.delay_s = 0.05
    credentials = ann()
    found = []
    threads = [threading.Thread(target=lambda: found.append(credentials.token().text)) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)

    assert found == ["t0ken-1"] * 20
    assert server.asked == ["register", "token"]


async def test_many_tasks_make_one_request(ann, server):
    """Together with threads; the loop goes on meanwhile, and who is cancelled harms nobody."""
    server.delay_s = 0.05
    credentials = ann()
    impatient = asyncio.create_task(credentials.token_async())
    tasks = [asyncio.create_task(credentials.token_async()) for _ in range(20)]
    thread = asyncio.create_task(asyncio.to_thread(credentials.token))
    await asyncio.sleep(0.01)
    impatient.cancel()

    began = time.monotonic()
    await asyncio.sleep(0)
    assert time.monotonic() - began < 0.04
    found = {token.text for token in await asyncio.gather(*tasks, thread)}

    assert found == {"t0ken-1"}
    assert server.asked == ["register", "token"]


def test_one_may_serve_several_loops(ann, server, times):
    """One after the other, and each with many tasks."""
    credentials = ann()

    async def many():
        return {token.text for token in await asyncio.gather(*(credentials.token_async() for _ in range(5)))}

    assert asyncio.run(many()) == {"t0ken-1"}
    times.passed = 99
    assert asyncio.run(many()) == {"t0ken-2"}


def test_the_next_process_begins_with_what_is_kept(ann, server, times):
    """The same token while it is good, and the secret for ever."""
    ann().token()

    again = ann()
    assert again.token().text == "t0ken-1"
    assert again.token().expires_at == pytest.approx(times.now() + 100, abs=0.01)
    times.passed = 200
    assert ann().token().text == "t0ken-2"
    assert server.asked == ["register", "token", "token"]


def test_what_another_process_fetched_is_used(ann, server, times):
    """Before anybody is asked."""
    one, other = ann(), ann()
    first = one.token().text
    assert other.token().text == first

    second = one.token(first).text

    assert other.token(first).text == second
    assert server.tokens == 2


def test_a_token_that_is_kept_and_was_refused_is_not_used_again(ann, server):
    """Another is fetched."""
    ann().token()

    assert ann().token("t0ken-1").text == "t0ken-2"


def test_without_remembering_nothing_is_kept(ann, tmp_path):
    """And nothing is read."""
    ann(remember=False).token()

    assert not (tmp_path / "credentials.json").exists()


def test_a_secret_that_is_given_is_not_kept(ann, server, tmp_path):
    """It is somebody else's to keep; nobody is registered."""
    server.secrets["client"] = "given"

    assert ann(client_id="client", client_secret="given").token().text == "t0ken-1"
    assert not (tmp_path / "credentials.json").exists()
    assert server.asked == ["token"]


def test_an_identity_that_is_registered_elsewhere_is_refused(ann, server):
    """With the broker's words, and who it is about."""
    server.secrets["Ann"] = "somebody else's"

    with pytest.raises(BrokerRefused, match="'Ann' can't register") as raised:
        ann().token()

    assert raised.value.code == "not_authorized_identity"


def test_two_processes_that_register_at_once_share_what_the_first_is_told(ann, server, tmp_path):
    """The second is refused, and looks again."""
    credentials = ann()
    real = credentials._known_credentials
    looks = iter([None])

    def late():
        return real() if server.asked else next(looks)

    server.secrets["Ann"] = "s3cret"
    CredentialsFile(tmp_path / "credentials.json").keep(TOKEN, Credentials("Ann", "Ann", "s3cret"))
    credentials._known_credentials = late

    assert credentials.token().text == "t0ken-1"
    assert server.asked == ["register", "token"]


def test_a_broker_that_has_lost_its_memory_is_registered_at_again(ann, server, times):
    """Once; the new secret is kept."""
    credentials = ann()
    credentials.token()
    server.secrets.clear()
    times.passed = 200

    assert credentials.token().text == "t0ken-2"
    assert ann().token().text == "t0ken-2"
    assert server.asked == ["register", "token", "token", "register", "token"]


def test_a_client_that_is_revoked_is_told_so(ann, server, times):
    """The reason is that of the token, not that it can't register again."""
    credentials = ann()
    credentials.token()
    server.secrets["Ann"] = "changed"
    times.passed = 200

    with pytest.raises(BrokerRefused, match="no token for 'Ann'") as raised:
        credentials.token()

    assert raised.value.code == "unauthorized_client"


def test_a_token_that_is_good_serves_to_its_end_where_renewing_fails(ann, server, times):
    """Then the reason is raised; a wait and another attempt come before that."""
    credentials = ann()
    first = credentials.token()
    server.away = True
    times.passed = 96

    assert credentials.token().text == first.text
    assert server.tokens == 3
    assert credentials.known().text == first.text
    times.passed = 99.9
    assert credentials.known().text == first.text
    times.passed = 100.1
    with pytest.raises(ConnectionLost, match="can't reach"):
        credentials.token()
    server.away = False
    assert credentials.token().text == "t0ken-2"


@pytest.mark.parametrize("policy", ["same", "refuse"])
def test_a_broker_that_gives_no_other_token_while_one_is_good_is_not_asked_in_a_loop(
    ann, server, times, policy
):
    """The one there is serves to its end."""
    credentials = ann()
    credentials.token()
    server.policy = policy
    server.life = 5
    times.passed = 95.5
    for _ in range(10):
        assert credentials.token().text == "t0ken-1"

    assert server.tokens == 2


def test_a_life_of_nothing_is_not_asked_for_in_a_loop(ann, server, times):
    """A second at least."""
    server.life = 0
    credentials = ann()
    credentials.token()

    times.passed = 0.5
    assert credentials.token().text == "t0ken-1"


def test_a_token_without_a_life_is_kept_until_it_is_refused(ann, server, times):
    """By the next process, too."""
    server.life = None
    assert ann().token().expires_at == math.inf
    times.passed = 1e6

    again = ann()
    assert again.token().text == "t0ken-1"
    assert again.token("t0ken-1").text == "t0ken-2"


def test_a_token_is_revoked_and_forgotten(ann, server):
    """The secret stays, so that another can be had."""
    credentials = ann()
    credentials.token()

    assert credentials.revoke(REVOKE)

    assert server.revoked == ["t0ken-1"]
    assert credentials.known() is None
    assert not ann().revoke(REVOKE)
    assert ann().token().text == "t0ken-2"
    assert server.asked.count("register") == 1


def test_a_token_that_can_not_be_revoked_is_not_forgotten(ann, server):
    """It can be tried again."""
    credentials = ann()
    credentials.token()
    server.away = True

    with pytest.raises(ConnectionLost):
        credentials.revoke(REVOKE)

    assert credentials.known().text == "t0ken-1"


def test_everything_can_be_forgotten(ann, server):
    """Without asking anybody."""
    ann().register()
    asked = list(server.asked)

    assert ann().forget()
    assert not ann().forget()
    assert server.asked == asked


def test_without_a_place_to_register_the_secret_must_be_known(ann):
    """And which identity it is about is told."""
    with pytest.raises(ClientError, match="nothing is known of 'Ann' at https://broker/oauth/token"):
        ann(register_url=None).token()


def test_where_tokens_come_from_must_be_said():
    """By a URL or an issuer."""
    with pytest.raises(ValueError, match="token_url"):
        ClientCredentials("Ann", REGISTER)


def test_a_provider_is_asked_by_a_form(times, tmp_path):
    """Found by its issuer's URL."""
    asked = []

    def provider(request):
        asked.append((request.url.path, request.content))
        if request.method == "GET":
            return httpx.Response(200, json={"issuer": "https://idp/r", "token_endpoint": "https://idp/r/t"})
        return httpx.Response(200, json={"access_token": "abc", "expires_in": 60})

    credentials = ClientCredentials(
        "client",
        issuer="https://idp/r",
        client_secret="s",
        transport=httpx.MockTransport(provider),
        now=times.now,
    )
    first = credentials.token()
    credentials.token(first.text)

    assert asked == [
        ("/r/.well-known/openid-configuration", b""),
        ("/r/t", b"grant_type=client_credentials"),
        ("/r/t", b"grant_type=client_credentials"),
    ]


def test_no_secret_and_no_token_is_in_the_log_or_a_repr(ann, server, times, caplog):
    """Whatever happens, at DEBUG."""
    caplog.set_level(logging.DEBUG)
    credentials = ann()
    token = credentials.token()
    server.away = True
    times.passed = 96
    credentials.token()
    server.away = False
    server.secrets["Ann"] = "changed"
    times.passed = 200
    with pytest.raises(BrokerRefused) as raised:
        credentials.token()

    shown = caplog.text + repr(credentials) + repr(token) + str(raised.value) + repr(vars(credentials))
    assert "no new token yet" in shown
    assert "s3cret" not in shown
    assert "t0ken" not in shown
