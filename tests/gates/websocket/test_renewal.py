"""Tokens that run out in the middle of subscriptions, over real sockets."""

from __future__ import annotations

import threading
import time

import httpx
import pytest
from support.secured import SecuredBroker
from support.subscriber import values
from websockets.exceptions import ConnectionClosed

pytestmark = pytest.mark.xdist_group("gates-websocket-renewal")

QUERY = "SELECT ?o { ?s <p> ?o }"
LIFE_S = 1.0


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    """Tokens of one second, and subscriptions that wait for two."""
    with SecuredBroker(
        tmp_path_factory.mktemp("secured"), f"security.token_s={LIFE_S}", "security.renew_s=2"
    ) as secured:
        yield secured


@pytest.fixture
def client(broker):
    """A connection to an empty broker."""
    assert broker.update("DROP ALL").status_code == 200
    with broker.subscriber() as connection:
        yield connection


def added(notification):
    return sorted(row["o"] for row in values(notification["addedResults"]))


def subscribe(client, broker, **members):
    token = broker.token(members.pop("identity", "all"))
    return client.subscribe(QUERY, authorization=f"Bearer {token}", **members)


def test_nothing_is_heard_without_a_token(client, broker):
    """401 with the alias, for each kind of message, and the socket stays usable."""
    for message in (
        {"subscribe": {"sparql": QUERY, "alias": "a"}},
        {"unsubscribe": {"spuid": "sepa://subscription/1", "alias": "a"}},
        {"renew": {"alias": "a"}},
    ):
        heard = client.exchange(message)
        assert (heard["error"], heard["status_code"], heard["alias"]) == ("invalid_request", 401, "a")
    for wrong in ("x", "Bearer x.y.z", broker.token()[:-8] + "AAAAAAAA", 7, ""):
        heard = client.exchange({"subscribe": {"sparql": QUERY, "alias": "a", "authorization": wrong}})
        assert (heard["status_code"], heard["alias"]) == (401, "a")
        assert heard["error"] in {"invalid_grant", "invalid_request"}
    assert subscribe(client, broker)["sequence"] == 0


def test_a_token_beside_the_request_does_as_well(client, broker):
    """As sepy sends it: raw, at the top."""
    heard = client.exchange({"subscribe": {"sparql": QUERY}, "authorization": broker.token()})

    assert heard["notification"]["sequence"] == 0


def test_a_scope_is_needed(client, broker):
    """403 for a token that is good for something else."""
    heard = client.exchange(
        {"subscribe": {"sparql": QUERY, "alias": "a", "authorization": broker.token("reader")}}
    )

    assert (heard["error"], heard["status_code"], heard["alias"]) == ("insufficient_scope", 403, "a")


def test_what_happens_without_a_token_is_told_after_the_renewal(client, broker):
    """Silence meanwhile, then one change with the next number."""
    spuid = subscribe(client, broker, alias="mine")["spuid"]
    broker.update("INSERT DATA { <a> <p> 1 }")
    assert added(client.notification()) == ["1"]
    heard = client.hear(5)
    assert (heard["error"], heard["status_code"]) == ("invalid_grant", 401)
    assert (heard["alias"], heard["spuid"]) == ("mine", spuid)
    for number in (2, 3, 4):
        broker.update(f"INSERT DATA {{ <a> <p> {number} }}")
    broker.update("DELETE DATA { <a> <p> 3 }")
    with pytest.raises(TimeoutError):
        client.hear(0.2)

    heard = client.exchange({"renew": {"authorization": f"Bearer {broker.token()}", "alias": "r"}})
    assert set(heard) == {"renewed"}
    assert heard["renewed"]["alias"] == "r"
    assert 0 <= heard["renewed"]["expires_in"] <= LIFE_S
    notification = client.notification()
    assert (notification["spuid"], notification["sequence"]) == (spuid, 2)
    assert added(notification) == ["2", "4"]


def test_a_token_that_comes_in_time_is_never_noticed(client, broker):
    """Three lives long."""
    subscribe(client, broker)
    for number in range(6):
        time.sleep(LIFE_S / 2)
        assert "renewed" in client.exchange({"renew": {"authorization": broker.token()}})
        broker.update(f"INSERT DATA {{ <a> <p> {number} }}")
        assert client.notification()["sequence"] == number + 1


def test_a_subscribe_renews_what_there_is(client, broker):
    """And an unsubscribe does, too."""
    one = subscribe(client, broker, alias="one")["spuid"]
    assert client.hear(5)["spuid"] == one
    broker.update("INSERT DATA { <a> <p> 1 }")
    client.say({"subscribe": {"sparql": "ASK {}", "alias": "two", "authorization": broker.token()}})
    told = {
        message["notification"]["alias"]: message["notification"]
        for message in (client.hear(), client.hear())
    }
    assert (told["one"]["spuid"], told["one"]["sequence"]) == (one, 1)
    assert client.hear(5)["status_code"] == client.hear(5)["status_code"] == 401
    broker.update("INSERT DATA { <a> <p> 2 }")
    client.say({"unsubscribe": {"spuid": told["two"]["spuid"], "authorization": broker.token()}})
    assert added(client.notification()) == ["2"]
    assert client.hear() == {"unsubscribed": {"spuid": told["two"]["spuid"]}}


def test_subscribing_again_begins_anew(client, broker):
    """The same alias and query, as sepa-js does on a 401: another spuid, sequence 0, and the old one is gone."""
    old = subscribe(client, broker, alias="mine")["spuid"]
    assert client.hear(5)["spuid"] == old
    broker.update("INSERT DATA { <a> <p> 1 }")
    first = subscribe(client, broker, alias="mine")
    assert (first["sequence"], added(first)) == (0, ["1"])
    assert first["spuid"] != old
    broker.update("INSERT DATA { <a> <p> 2 }")

    assert [client.notification()["spuid"]] == [first["spuid"]]
    heard = client.exchange({"unsubscribe": {"spuid": old, "authorization": broker.token()}})
    assert heard["error"] == "sid_not_found"


def test_without_another_token_it_ends(client, broker):
    """After security.renew_s: told, and gone from the core."""
    health = {"headers": broker.headers("admin")}
    subscribe(client, broker, alias="mine")
    assert broker.http.get("/health", **health).json()["subscriptions"] == 1
    assert client.hear(5)["error"] == "invalid_grant"
    heard = client.hear(5)
    assert (heard["error"], heard["status_code"], heard["alias"]) == ("subscription_failed", 401, "mine")
    broker.wait(
        lambda: broker.http.get("/health", headers=broker.headers("admin")).json()["subscriptions"] == 0
    )
    with pytest.raises(TimeoutError):
        client.hear(0.2)


def test_a_stranger_can_not_unsubscribe(client, broker):
    """On the same connection, with a token of its own."""
    spuid = subscribe(client, broker)["spuid"]
    heard = client.exchange({"unsubscribe": {"spuid": spuid, "authorization": broker.token("admin")}})
    assert heard["error"] == "sid_not_found"
    heard = client.exchange({"unsubscribe": {"spuid": spuid, "authorization": broker.token()}})

    assert heard == {"unsubscribed": {"spuid": spuid}}


def test_a_lost_connection_is_resumed_by_its_own_client_only(client, broker):
    """With a good token; what it missed while its old one had run out is told."""
    with broker.subscriber() as lost:
        spuid = subscribe(lost, broker, resume={})["spuid"]
        lost.hear(5)
        broker.update("INSERT DATA { <a> <p> 1 }")
        lost.cut()
    heard = client.exchange({"subscribe": {"sparql": QUERY, "resume": {"spuid": spuid, "sequence": 0}}})
    assert heard["status_code"] == 401
    heard = subscribe(client, broker, resume={"spuid": spuid, "sequence": 0})

    assert (heard["spuid"], heard["sequence"], added(heard)) == (spuid, 1, ["1"])


def write(broker, stop, written):
    """One update after the other, each with a good token."""
    text = "DELETE {{ <a> <p> ?o }} INSERT {{ <a> <p> {} }} WHERE {{ OPTIONAL {{ <a> <p> ?o }} }}"
    headers, renewed = {"Content-Type": "application/sparql-update"}, 0.0
    with httpx.Client(base_url=broker.running.https, verify=broker.authority.context()) as http:
        while not stop.is_set():
            if time.time() > renewed:
                headers |= broker.headers()
                renewed = time.time() + LIFE_S / 2
            answer = http.post("/update", content=text.format(len(written)), headers=headers)
            assert answer.status_code == 200, answer.text
            written.append(answer)
            time.sleep(0.004)


def test_no_row_after_its_token_s_end(client, broker):
    """200 updates a second, tokens of one second, renewed now and then a bit late: by the clock of both sides."""
    stop, written = threading.Event(), []
    token, began = broker.token(), time.time()
    ends = began + LIFE_S  # it was issued before, so this is late rather than early
    notification = client.subscribe(QUERY, authorization=token)
    writer = threading.Thread(target=write, args=(broker, stop, written))
    writer.start()
    late, heard, sequence, lapses = [], 0, notification["sequence"], 0
    try:
        until = time.time() + 6
        while time.time() < until:
            message = client.hear(5)
            now = time.time()
            if "notification" in message:
                heard += 1
                assert message["notification"]["sequence"] == sequence + 1
                sequence += 1
                if now > ends:
                    late.append(now - ends)
            elif "error" in message:
                lapses += 1
                assert message["error"] == "invalid_grant"
                assert now >= ends - 0.1
                time.sleep(0.2)
                token, began = broker.token(), time.time()
                client.say({"renew": {"authorization": token}})
                assert "renewed" in client.hear()
                ends = began + LIFE_S
    finally:
        stop.set()
        writer.join()

    print(f"{len(written)} updates, {heard} notifications, {lapses} lapses, late {late}")
    assert len(written) > 300
    assert lapses >= 4
    assert heard > 200
    assert max(late, default=0) < 0.1  # on its way when the token ran out, or this process was held up


def test_who_shows_no_token_has_to_go(tmp_path):
    """After a while, be it silent or refused again and again; who has shown one stays."""
    with (
        SecuredBroker(tmp_path, "security.stranger_s=0.5") as closed,
        closed.subscriber() as known,
        closed.subscriber() as silent,
        closed.subscriber() as refused,
    ):
        known.subscribe("ASK {}", authorization=f"Bearer {closed.token()}")
        for number in range(5):
            assert refused.exchange({"subscribe": {"sparql": "ASK {}"}})["status_code"] == 401, number
        for stranger in (silent, refused):
            with pytest.raises(ConnectionClosed) as went:
                stranger.hear()
            assert went.value.rcvd.code == 1008
        assert known.subscribe("ASK {}", authorization=f"Bearer {closed.token()}")["sequence"] == 0
