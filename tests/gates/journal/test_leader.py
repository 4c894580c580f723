import httpx
import pytest

from triplewire.broker.config import FollowConfig, PathsConfig
from triplewire.broker.errors import BrokerRefused
from triplewire.clients.authorization import Token
from triplewire.gates.journal.leader import LeaderAuth, leader_auth, leader_client


class Tokens:
    def __init__(self, *texts):
        self.texts = list(texts)
        self.refused = []

    async def token_async(self, refused=None):
        self.refused.append(refused)
        if not self.texts:
            raise BrokerRefused("invalid_client", 401, "revoked")
        return Token(self.texts.pop(0))


async def asked(tokens, *statuses):
    answers, seen = iter(statuses), []

    def leader(request):
        seen.append(request.headers["Authorization"])
        return httpx.Response(next(answers))

    async with httpx.AsyncClient(transport=httpx.MockTransport(leader), auth=LeaderAuth(tokens)) as http:
        response = await http.post("https://leader/update", content=b"CLEAR ALL")
    return response.status_code, seen


async def test_a_token_goes_with_each_request():
    """One is enough where it is taken."""
    assert await asked(Tokens("one"), 200) == (200, ["Bearer one"])


async def test_another_token_is_tried_once():
    """Then the leader's answer stands."""
    tokens = Tokens("one", "two")

    assert await asked(tokens, 401, 401) == (401, ["Bearer one", "Bearer two"])
    assert tokens.refused == [None, "one"]


async def test_without_a_token_nothing_is_sent():
    """The reason is raised."""
    with pytest.raises(BrokerRefused, match="revoked"):
        await asked(Tokens())


def test_the_identity_is_a_setting(tmp_path):
    """Without it, no tokens are sent."""
    assert leader_auth(FollowConfig(url="http://leader:8000"), PathsConfig()) is None

    config = FollowConfig(url="https://leader:8443/", identity="me", credentials=str(tmp_path / "c.json"))
    auth = leader_auth(config, PathsConfig())

    assert (auth._tokens.identity, auth._tokens.at) == ("me", "https://leader:8443/oauth/token")


async def test_a_client_has_the_settings_times():
    """And no token where there is no identity."""
    async with leader_client(FollowConfig(url="http://leader"), httpx.Timeout(3), None) as http:
        assert (http.timeout.read, http.auth) == (3, None)
