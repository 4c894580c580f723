"""A follower has its leader's dataset, hears what it hears, and comes back from everything."""

from __future__ import annotations

import os
import random
import threading
import time
from pathlib import Path

import httpx
import pytest
from support.following import caught_up, dataset, following, rows, update
from support.running import RunningBroker

from triplewire.clients.subscriber import Subscriber

# 10,000 take some minutes.
RANDOM_UPDATES = int(os.environ.get("TRIPLEWIRE_RANDOM_UPDATES", "400"))


def test_it_begins_with_what_there_is(pair):
    """Graphs without a quad and blank nodes too, and goes on with what comes."""
    update(pair.leader, "INSERT DATA { :a :p [ :q 1 ] . GRAPH :g { :b :p 'x'@en } } ; CREATE GRAPH :empty")
    follower = pair.follow()
    assert dataset(follower) == dataset(pair.leader)
    update(pair.leader, "DELETE WHERE { GRAPH :g { ?s ?p ?o } } ; INSERT { ?b :seen true } WHERE { ?b :q 1 }")
    caught_up(pair.leader, follower)
    assert dataset(follower) == dataset(pair.leader)
    assert following(follower)["snapshots"] == 1


def test_what_is_written_to_it_is_there_when_it_answers(pair):
    """The leader has it first; the answer tells what changed, as the leader's own would."""
    follower = pair.follow()
    for number in range(20):
        said = update(follower, f"DELETE WHERE {{ :a :p ?o }} ; INSERT DATA {{ :a :p {number} }}", quads="")
        assert rows(follower, "SELECT ?o { :a :p ?o }") == [str(number)]
        assert rows(pair.leader, "SELECT ?o { :a :p ?o }") == [str(number)]
        assert said.json()["quads"]["added"][0]["object"]["value"] == str(number)
    assert update(follower, "DELETE DATA { :nobody :is :there }").status_code == 200
    graph = f"{follower.http}/rdf-graph-store?graph=http://example.org/g"
    turtle = {"Content-Type": "text/turtle"}
    assert httpx.put(graph, content="<urn:s> <urn:p> <urn:o> .", headers=turtle).status_code == 201
    assert httpx.put(graph, content="<urn:s> <urn:p> <urn:n> .", headers=turtle).status_code == 204
    assert "urn:n" in httpx.get(graph).text
    assert httpx.delete(graph).status_code == 204
    assert httpx.get(graph).status_code == 404
    assert dataset(follower) == dataset(pair.leader)


def test_what_the_leader_refuses_is_refused(pair):
    """With its words and its status."""
    follower = pair.follow()
    wrong = {"content": "INSERT DATA { oops", "headers": {"Content-Type": "application/sparql-update"}}
    here, there = (httpx.post(f"{broker.http}/update", **wrong) for broker in (follower, pair.leader))
    assert (here.status_code, here.json()) == (there.status_code, there.json())
    gone = httpx.delete(f"{follower.http}/rdf-graph-store?graph=urn:nowhere")
    assert gone.status_code == 404


def test_updates_may_be_refused(pair):
    """By setting; it says where they go."""
    follower = pair.follow("--set=follow.updates=refuse")
    response = httpx.post(f"{follower.http}/update", data={"update": "INSERT DATA { <a:a> <a:b> 1 }"})
    assert response.status_code == 400
    assert pair.leader.http in response.json()["error_description"]


def test_its_subscribers_hear_what_the_leaders_hear(pair):
    """Change for change, over random updates."""
    rng = random.Random(5)
    follower = pair.follow()
    heard = {}
    query = "PREFIX : <http://example.org/> SELECT ?s ?o { ?s :p ?o OPTIONAL { ?o :q ?x } FILTER NOT EXISTS { ?s :no ?o } }"
    subscribers = []
    for name, broker in (("leader", pair.leader), ("follower", follower)):
        deltas = heard[name] = []
        subscriber = Subscriber(broker.ws)
        subscriber.subscribe(query, on_notification=deltas.append)
        subscribers.append(subscriber)
    for number in range(RANDOM_UPDATES):
        update(pair.leader, _random_update(rng, number))
    update(pair.leader, "DROP ALL ; INSERT DATA { :end :p :end }")
    caught_up(pair.leader, follower)
    deadline = time.monotonic() + 20
    while len(heard["follower"]) != len(heard["leader"]) and time.monotonic() < deadline:
        time.sleep(0.05)
    for subscriber in subscribers:
        subscriber.close()
    shown = {name: [_shown(told.delta) for told in notifications] for name, notifications in heard.items()}
    assert shown["follower"] == shown["leader"]
    assert len(shown["leader"]) > RANDOM_UPDATES / 8
    print(f"{RANDOM_UPDATES} updates, {len(shown['leader'])} notifications each")


def _random_update(rng, number):
    s, o, n = (rng.choice("abcd") for _ in range(3))
    return rng.choice(
        [
            f"INSERT DATA {{ :{s} :p :{o}, {number % 7} }}",
            f"DELETE WHERE {{ :{s} :p ?o }}",
            f"DELETE {{ :{s} :p ?o }} INSERT {{ :{s} :p :{n} . ?o :q [] }} WHERE {{ :{s} :p ?o }}",
            f"INSERT {{ ?s :no ?o }} WHERE {{ ?s :p ?o FILTER(?s = :{s}) }} ; DELETE DATA {{ :{s} :no :{o} }}",
            f"COPY DEFAULT TO :{n}",
            f"ADD :{n} TO DEFAULT",
            "CLEAR NAMED",
        ]
    )


def _shown(delta):
    def side(rows):
        return sorted(" ".join(map(str, row)) for row in rows)

    return side(delta.added.elements()), side(delta.removed.elements())


def test_the_leader_dies_and_comes_back(pair):
    """The follower answers meanwhile, and goes on from where it was."""
    follower = pair.follow("--set=follow.silence_s=2")
    update(pair.leader, "INSERT DATA { :a :p 1 }")
    caught_up(pair.leader, follower)
    port = int(pair.leader.http.rsplit(":", 1)[1])
    pair.leader.kill()
    assert rows(follower, "SELECT ?o { :a :p ?o }") == ["1"]
    refused = httpx.post(f"{follower.http}/update", data={"update": "INSERT DATA { <a:a> <a:b> 1 }"})
    assert refused.status_code == 502
    assert "can't be reached" in refused.json()["error_description"]
    leader = pair.lead(port=port)
    update(leader, "INSERT DATA { :a :p 2 }")
    caught_up(leader, follower)
    assert dataset(follower) == dataset(leader)
    found = following(follower)
    assert found["snapshots"] == 1
    assert found["connections"] == 2


def test_a_leader_that_lost_its_end_is_believed(pair):
    """The follower knew more; it leaps back, and its subscribers hear of it."""
    follower = pair.follow()
    update(pair.leader, "INSERT DATA { :a :p 1 }")
    kept = {path: path.read_bytes() for path in (pair.directory / "journal").iterdir()}
    update(pair.leader, "INSERT DATA { :a :p 2 }")
    caught_up(pair.leader, follower)
    heard = []
    subscriber = Subscriber(follower.ws)
    subscriber.subscribe("SELECT ?o { ?s ?p ?o }", on_notification=heard.append)
    port = int(pair.leader.http.rsplit(":", 1)[1])
    pair.leader.kill()
    for path, content in kept.items():
        path.write_bytes(content)
    leader = pair.lead(port=port)
    update(leader, "INSERT DATA { :a :p 3 }")
    deadline = time.monotonic() + 20
    while following(follower)["snapshots"] < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    caught_up(leader, follower)
    assert rows(follower, "SELECT ?o { :a :p ?o }") == ["1", "3"]
    while not heard and time.monotonic() < deadline:
        time.sleep(0.05)
    subscriber.close()
    assert sum(told.delta.removed.total() for told in heard) == 1


def test_what_is_not_kept_any_more_is_leapt_over(pair):
    """Cut off for so long that the journal has gone on without it."""
    pair.leader.stop()
    small = [
        "--set=journal.segment_bytes=2000",
        "--set=journal.keep_bytes=0",
        "--set=journal.snapshot_bytes=4000",
    ]
    leader = pair.lead(*small)
    follower = pair.follow("--set=follow.silence_s=1", url=leader.http)
    update(leader, "INSERT DATA { :a :p 0 }")
    caught_up(leader, follower)
    port = int(leader.http.rsplit(":", 1)[1])
    leader.stop()
    elsewhere = pair.lead(*small)
    for number in range(200):
        update(elsewhere, f"DELETE WHERE {{ :a :p ?o }} ; INSERT DATA {{ :a :p {number} ; :q {number} }}")
        if number % 50 == 0:
            time.sleep(0.5)
    time.sleep(1)
    elsewhere.stop()
    leader = pair.lead(*small, port=port)
    deadline = time.monotonic() + 20
    while following(follower)["snapshots"] < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    caught_up(leader, follower)
    assert dataset(follower) == dataset(leader)


def test_a_follower_that_is_killed_begins_anew(pair):
    """Under load, several times; it converges each time."""
    stop = threading.Event()

    def write():
        number = 0
        while not stop.is_set():
            update(
                pair.leader,
                f"DELETE WHERE {{ :a :p ?o }} ; INSERT DATA {{ :a :p {number} . :n{number} :p 1 }}",
            )
            number += 1

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(3):
            follower = pair.follow()
            time.sleep(0.3)
            follower.kill()
        follower = pair.follow()
        time.sleep(0.3)
    finally:
        stop.set()
        writer.join()
    caught_up(pair.leader, follower)
    assert dataset(follower) == dataset(pair.leader)


def test_nothing_to_follow_is_told():
    """A leader that keeps nothing, or is not there."""
    leader = RunningBroker.start()
    try:
        with pytest.raises(RuntimeError, match="start with --data"):
            RunningBroker.start("--follow", leader.http, memory=False)
    finally:
        leader.stop()
    with pytest.raises(RuntimeError, match="can't be followed"):
        RunningBroker.start("--follow", "http://127.0.0.1:9", memory=False)


def test_followers_are_bounded(pair):
    """The one too many is told, and the others go on."""
    pair.leader.stop()
    leader = pair.lead("--set=journal.followers=1")
    follower = pair.follow(url=leader.http)
    with pytest.raises(RuntimeError, match=r"journal\.followers"):
        pair.follow(url=leader.http)
    update(leader, "INSERT DATA { :a :p 1 }")
    caught_up(leader, follower)


@pytest.mark.parametrize(
    ("parameters", "status"),
    [({}, 400), ({"after": "x"}, 400), ({"after": "0"}, 410), ({"after": "0", "epoch": "unknown"}, 410)],
)
def test_bad_requests_for_the_journal(pair, parameters, status):
    """Are told what is wrong."""
    response = httpx.get(f"{pair.leader.http}/journal", params=parameters)
    assert response.status_code == status
    assert response.json()["error_description"]


def test_a_follower_keeps_nothing(tmp_path):
    """It is told by the settings."""
    with pytest.raises(RuntimeError, match=r"follow\.url excludes"):
        RunningBroker.start("--follow", "http://127.0.0.1:9", "--data", str(tmp_path), memory=False)
    assert not list(Path(tmp_path).iterdir())
