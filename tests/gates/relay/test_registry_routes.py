"""What any tracker tells of a stream's trackers."""

from __future__ import annotations

import httpx
import pytest

from triplewire.broker.config import Config
from triplewire.broker.errors import Unauthorized
from triplewire.broker.rights import Access, Rights, Scope
from triplewire.broker.security.authority import Nobody
from triplewire.gates.quotas import Quotas
from triplewire.gates.relay.registered import Registered
from triplewire.gates.relay.tracker import Tracker
from triplewire.gates.relay.tracker_access import TrackerAccess
from triplewire.gates.relay.tracker_key import TrackerKey
from triplewire.gates.relay.tracking import Tracking

AT = ("http://one.example", "http://two.example")


class Registry:
    """One stream."""

    known = True

    def of(self, stream):
        return Registered("traffic", "Traffic", None, AT, 6) if stream == "traffic" else None

    def trackers(self, stream):
        return AT if stream == "traffic" else ()

    def degree(self, stream):
        return 6 if stream == "traffic" else 0


class Guards:
    """An authority for which `follower` is a token."""

    def known(self, _):
        return None

    async def access(self, token):
        if token != "follower":
            raise Unauthorized("no", challenge="Bearer")
        return Access("a", frozenset({Scope.SUBSCRIBE}), Rights(follow=frozenset({"traffic"})))


@pytest.fixture
def client():
    """A client of a tracker with these parts."""

    def of(authority):
        config, key, access = Config(), TrackerKey.open(None), TrackerAccess(authority, Registry())
        tracker = Tracker(
            config,
            Tracking(config.tracker, key, now=0.0, judge=access),
            key=key,
            access=access,
            registry=Registry(),
            quotas=Quotas(config.limits),
        )
        return httpx.AsyncClient(transport=httpx.ASGITransport(tracker.app), base_url="http://tracker")

    return of


async def test_the_trackers_of_a_stream(client):
    """In order, with what else is registered; of one that is not, that."""
    async with client(Nobody()) as http:
        assert (await http.get("/streams/traffic")).json() == {
            "stream": "traffic",
            "registered": True,
            "title": "Traffic",
            "trackers": [*AT],
            "degree": 6,
        }
        other = (await http.get("/streams/other")).json()
        assert (other["stream"], other["registered"], other["trackers"]) == ("other", False, [])
        assert (await http.get("/streams/a%20b")).status_code == 400
        assert (await http.head("/streams/traffic")).status_code == 200


async def test_a_registry_that_was_not_read_yet_tells_nothing(client, monkeypatch):
    """503, as who took that for none would be in an overlay of its own."""
    monkeypatch.setattr(Registry, "known", False)
    async with client(Nobody()) as http:
        answer = await http.get("/streams/traffic")
        assert (answer.status_code, answer.json()["error"]) == (503, "overloaded")
        assert answer.headers["retry-after"]


async def test_those_who_may_not_follow_it_are_not_told(client):
    """401 without a token, 403 without the right."""
    async with client(Guards()) as http:
        answer = await http.get("/streams/traffic")
        assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
        assert set(answer.json()) == {"error", "status_code", "error_description"}
        headers = {"Authorization": "Bearer follower"}
        assert (await http.get("/streams/traffic", headers=headers)).status_code == 200
        assert (await http.get("/streams/secret", headers=headers)).status_code == 403
