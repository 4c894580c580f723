"""The limits on clients where they are felt: requests with tokens, subscriptions and sockets of one client."""

from __future__ import annotations

import pytest
from support.secured import SecuredBroker

pytestmark = pytest.mark.xdist_group("gates-quotas")


@pytest.fixture(scope="module")
def secured(tmp_path_factory):
    """A broker with few of each; twenty requests at once, then one in two seconds."""
    settings = ("client_requests_s=0.5", "client_burst=20", "client_subscriptions=2", "client_sockets=1")
    directory = tmp_path_factory.mktemp("quotas")
    with SecuredBroker(directory, *(f"limits.{setting}" for setting in settings)) as broker:
        yield broker


def test_a_client_that_asks_too_often_is_told_when_to_come_back(secured):
    """429 with Retry-After and the setting; others, at the same address, are answered."""
    reader, other = secured.headers("reader"), secured.headers("all")
    answers = [secured.http.get("/query", params={"query": "ASK {}"}, headers=reader) for _ in range(25)]
    refused = [answer for answer in answers if answer.status_code != 200]

    assert 3 <= len(refused) <= 5
    assert refused[0].status_code == 429
    assert refused[0].headers["retry-after"] in {"1", "2"}
    assert refused[0].json()["error"] == "too_many_requests"
    assert "0.5 requests a second (limits.client_requests_s)" in refused[0].json()["error_description"]
    assert secured.http.get("/query", params={"query": "ASK {}"}, headers=other).status_code == 200
    assert secured.http.get("/health").status_code == 200


def test_a_client_s_subscriptions_and_sockets_are_counted_over_its_connections(secured):
    """What ends makes room; what fails takes none; a message that is refused leaves the socket as it is."""
    token = f"Bearer {secured.token('some')}"

    def subscribe(client, sparql="SELECT * { ?s ?p ?o }", **members):
        return client.exchange({"subscribe": {"sparql": sparql, "authorization": token} | members})

    with secured.subscriber() as client:
        assert subscribe(client, "no query")["status_code"] == 400
        spuid = subscribe(client)["notification"]["spuid"]
        assert "notification" in subscribe(client)
        refused = subscribe(client, alias="third")
        assert (refused["error"], refused["alias"]) == ("too_many_requests", "third")
        assert "has 2 subscriptions open" in refused["error_description"]
        ended = client.exchange({"unsubscribe": {"spuid": spuid, "authorization": token}})
        assert ended == {"unsubscribed": {"spuid": spuid}}
        assert "notification" in subscribe(client)
        with secured.subscriber() as second:
            refused = subscribe(second, alias="other")
            assert "limits.client_sockets" in refused["error_description"]
    secured.wait(lambda: secured.http.get("/health", headers=secured.headers("admin")).json()["sockets"] == 0)
    with secured.subscriber() as client:
        assert "notification" in subscribe(client)
        assert "notification" in subscribe(client)
