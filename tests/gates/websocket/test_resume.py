"""Connections that are lost, and clients that come back to their subscriptions, over real sockets."""

from __future__ import annotations

import pytest
from support.sparql import Sparql
from support.subscriber import Subscriber, values

pytestmark = pytest.mark.xdist_group("gates-websocket-resume")

ALL = "SELECT ?s ?o { ?s <p> ?o }"
OTHER = "SELECT ?o { ?s <p> ?o }"


@pytest.fixture(scope="module")
def hasty(broker_with):
    """A broker that waits for no client longer than half a second."""
    return broker_with("limits.resume_s=0.5")


def cut(client):
    """No goodbye, as where a cable is pulled and the system notices."""
    client.socket.socket.close()
    client.close()


def objects(results):
    return sorted(row["o"] for row in values(results))


def test_a_client_that_comes_back_is_told_what_it_missed(subscriber, sparql, url):
    """One notification: its spuid, the next number, the alias of now, all changes as one."""
    lost = Subscriber(url)
    spuid = lost.subscribe(ALL, alias="then", resume={})["spuid"]
    sparql.update("INSERT DATA { <a> <p> 1 }")
    lost.notification()
    cut(lost)
    sparql.wait_for_health(sockets=1, subscriptions=0, away=1)
    sparql.update("INSERT DATA { <a> <p> 2, 3 }")
    sparql.update("DELETE DATA { <a> <p> 1, 3 }")

    heard = subscriber.subscribe(ALL, alias="now", resume={"spuid": spuid, "sequence": 1})
    assert (heard["spuid"], heard["alias"], heard["sequence"]) == (spuid, "now", 2)
    assert (objects(heard["addedResults"]), objects(heard["removedResults"])) == (["2"], ["1"])
    sparql.update("INSERT DATA { <a> <p> 4 }")
    heard = subscriber.notification()
    assert (heard["spuid"], heard["alias"], heard["sequence"]) == (spuid, "now", 3)
    assert sparql.health()["away"] == 0


def test_what_was_lost_on_the_way_is_told_again(subscriber, sparql, url):
    """The client says what it saw last, whatever was sent."""
    lost = Subscriber(url)
    spuid = lost.subscribe(ALL, resume={})["spuid"]
    for number in range(5):
        sparql.update(f"INSERT DATA {{ <a> <p> {number} }}")
    lost.all_so_far()
    cut(lost)

    heard = subscriber.subscribe(ALL, resume={"spuid": spuid, "sequence": 2})
    assert heard["sequence"] == 3
    assert objects(heard["addedResults"]) == ["2", "3", "4"]


def test_a_client_that_missed_nothing_is_answered(subscriber, sparql, url):
    """Both sides in full shape, and empty."""
    lost = Subscriber(url)
    spuid = lost.subscribe(ALL, resume={})["spuid"]
    cut(lost)
    heard = subscriber.subscribe(ALL, resume={"spuid": spuid, "sequence": 0})

    empty = {"head": {"vars": ["s", "o"]}, "results": {"bindings": []}}
    assert heard == {"spuid": spuid, "sequence": 1, "addedResults": empty, "removedResults": empty}


def test_a_client_that_is_back_first_takes_over(subscriber, sparql, url):
    """The broker has not noticed that the old connection is dead: it cuts it."""
    with Subscriber(url) as half_open:
        spuid = half_open.subscribe(ALL, resume={})["spuid"]
        heard = subscriber.subscribe(ALL, resume={"spuid": spuid, "sequence": 0})
        assert (heard["spuid"], heard["sequence"]) == (spuid, 1)
        sparql.wait_for_health(sockets=1, subscriptions=1, away=0)
        sparql.update("INSERT DATA { <a> <p> 1 }")
        assert subscriber.notification()["sequence"] == 2


@pytest.mark.parametrize("resume", [None, True])
def test_a_client_of_sepa_is_gone_at_once(subscriber, sparql, url, resume):
    """It never said that it can resume."""
    lost = Subscriber(url)
    spuid = lost.subscribe(ALL, resume=resume)["spuid"]
    cut(lost)
    sparql.wait_for_health(within_s=2, sockets=1, subscriptions=0, away=0, units=0)
    heard = subscriber.subscribe(ALL, resume={"spuid": spuid, "sequence": 0})
    assert (heard["sequence"], heard["spuid"] == spuid) == (0, False)


def test_a_goodbye_ends_subscriptions_at_once(subscriber, sparql, url):
    """1000, normal closure."""
    with Subscriber(url) as client:
        spuid = client.subscribe(ALL, resume={})["spuid"]
    sparql.wait_for_health(within_s=2, sockets=1, subscriptions=0, away=0, units=0)
    assert subscriber.subscribe(ALL, resume={"spuid": spuid, "sequence": 0})["sequence"] == 0


def test_another_query_begins_anew(subscriber, sparql, url):
    """And the old subscription is no more."""
    lost = Subscriber(url)
    spuid = lost.subscribe(ALL, resume={})["spuid"]
    cut(lost)
    heard = subscriber.subscribe(OTHER, resume={"spuid": spuid, "sequence": 0})
    assert (heard["sequence"], heard["spuid"] == spuid) == (0, False)
    sparql.wait_for_health(subscriptions=1, away=0)


@pytest.mark.parametrize("sequence", [-1, 1, 10**30])
def test_a_number_that_was_never_sent_begins_anew(subscriber, sparql, url, sequence):
    """Nothing is guessed."""
    lost = Subscriber(url)
    spuid = lost.subscribe(ALL, resume={})["spuid"]
    cut(lost)
    heard = subscriber.subscribe(ALL, resume={"spuid": spuid, "sequence": sequence})
    assert (heard["sequence"], heard["spuid"] == spuid) == (0, False)
    sparql.wait_for_health(subscriptions=1, away=0)


def test_only_those_that_asked_for_it_are_kept(subscriber, sparql, url):
    """On one connection, side by side."""
    lost = Subscriber(url)
    spuids = [lost.subscribe(ALL, **extra)["spuid"] for extra in ({"resume": {}}, {})]
    cut(lost)
    sparql.wait_for_health(sockets=1, subscriptions=0, away=1)
    heard = [subscriber.subscribe(ALL, resume={"spuid": spuid, "sequence": 0}) for spuid in spuids]
    assert [one["sequence"] for one in heard] == [1, 0]


def test_who_does_not_come_back_in_time_begins_anew(hasty):
    """limits.resume_s; then nothing of it is left."""
    with Sparql(hasty.http) as sparql:
        lost = Subscriber(hasty.ws)
        spuid = lost.subscribe(ALL, resume={})["spuid"]
        cut(lost)
        sparql.wait_for_health(within_s=3, subscriptions=0, away=1)
        sparql.wait_for_health(within_s=3, subscriptions=0, away=0, units=0)
        sparql.update("INSERT DATA { <a> <p> 1 }")
        with Subscriber(hasty.ws) as client:
            heard = client.subscribe(ALL, resume={"spuid": spuid, "sequence": 0})
            assert (heard["sequence"], objects(heard["addedResults"])) == (0, ["1"])


def test_a_broker_that_has_been_told_not_to_keeps_nothing(broker_with):
    """limits.resume_s = 0: clients that can resume are served as all others."""
    running = broker_with("limits.resume_s=0")
    with Sparql(running.http) as sparql:
        lost = Subscriber(running.ws)
        lost.subscribe(ALL, resume={})
        cut(lost)
        sparql.wait_for_health(subscriptions=0, away=0, units=0)
