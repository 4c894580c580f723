"""What a client hears is what the core did, in the core's order, whatever happens at the same time."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor

import pytest
from support.sparql import Sparql
from support.subscriber import Subscriber, bag, fold, values

pytestmark = pytest.mark.xdist_group("gates-websocket-order")

ALL = "SELECT ?s ?n { ?s <n> ?n }"


def count_to(number):
    return f"DELETE {{ <c> <n> ?o }} INSERT {{ <c> <n> {number} }} WHERE {{ OPTIONAL {{ <c> <n> ?o }} }}"


def notifications(messages):
    """The notifications among the messages, by spuid."""
    told = {}
    for message in messages:
        if "notification" in message:
            told.setdefault(message["notification"]["spuid"], []).append(message["notification"])
    return told


def test_each_update_is_one_notification_in_its_order(subscriber, sparql):
    """Nothing is put together: SEPA's reference tests count exactly."""
    subscriber.subscribe(ALL)
    for number in range(100):
        sparql.update(count_to(number))

    told = [message["notification"] for message in subscriber.all_so_far()]
    assert [notification["sequence"] for notification in told] == list(range(1, 101))
    assert [values(notification["addedResults"])[0]["n"] for notification in told] == list(
        map(str, range(100))
    )


def test_an_update_is_answered_when_its_notifications_are_on_their_way(subscriber, sparql):
    """A publisher that then asks a subscriber finds it informed."""
    subscriber.subscribe(ALL)
    response = sparql.try_update(count_to(1))

    assert response.json()["response"]["body"] == "Update done, 1 notifications"
    assert len(subscriber.all_so_far()) == 1


def test_pipelined_messages_are_answered_in_their_order(subscriber):
    """Good and bad ones, without waiting for any."""
    for number in range(50):
        text = ALL if number % 3 else "nonsense"
        subscriber.say({"subscribe": {"sparql": text, "alias": str(number)}})
    heard = [subscriber.hear() for _ in range(50)]

    assert [message.get("notification", message)["alias"] for message in heard] == [str(n) for n in range(50)]
    assert ["error" in message for message in heard] == [number % 3 == 0 for number in range(50)]


def test_subscriptions_that_come_between_updates_miss_nothing(broker, subscriber, sparql, url):
    """First results and later ones add up to the answer, for each of 40 subscriptions during 200 updates."""
    others = [Sparql(broker.http) for _ in range(4)]

    def publish(publisher):
        for number in range(50):
            others[publisher].update(f"INSERT DATA {{ <s{publisher}> <n> {number} }}")
            others[publisher].update(f"DELETE DATA {{ <s{publisher}> <n> {number - 3} }}")

    with ThreadPoolExecutor(4) as pool, Subscriber(url) as second:
        publishing = [pool.submit(publish, publisher) for publisher in range(4)]
        for _ in range(20):
            subscriber.say({"subscribe": {"sparql": ALL}})
            second.say({"subscribe": {"sparql": ALL}})
        for future in publishing:
            future.result()
        heard = [notifications(client.all_so_far()) for client in (subscriber, second)]
    for client in others:
        client.http.close()

    expected = bag(sparql.query(ALL).json())
    assert sum(expected.values()) == 12
    assert [len(told) for told in heard] == [20, 20]
    for told in (*heard[0].values(), *heard[1].values()):
        assert fold(told) == expected


def test_subscriptions_of_one_socket_hear_an_update_before_the_next(broker, subscriber, sparql):
    """Over all of them the numbers only grow."""
    queries = [ALL, "SELECT ?n { ?s <n> ?n }", "SELECT ?n { ?s <n> ?n FILTER(?n >= 0) }"]
    for query in queries:
        subscriber.subscribe(query)
    with ThreadPoolExecutor(2) as pool:
        updating = pool.submit(lambda: [sparql.update(count_to(number)) for number in range(60)])
        for number in range(20):
            subscriber.say({"subscribe": {"sparql": queries[number % 3]}})
        updating.result()

    seen = [
        int(row["n"])
        for message in subscriber.all_so_far()
        for row in values(message["notification"]["addedResults"])
    ]
    assert seen == sorted(seen)
    assert seen.count(59) == 23


def test_nothing_is_heard_of_a_subscription_after_its_end(broker, subscriber, sparql):
    """Between `unsubscribed` and its request all is in order, also while updates pour in."""
    rng = random.Random(7)
    with ThreadPoolExecutor(1) as pool:
        updating = pool.submit(lambda: [sparql.update(count_to(number)) for number in range(100)])
        held, heard = [], []
        while not updating.done() or held:
            if held and (updating.done() or rng.random() < 0.5):
                subscriber.say({"unsubscribe": {"spuid": held.pop(rng.randrange(len(held)))}})
            else:
                subscriber.say({"subscribe": {"sparql": ALL, "alias": "x"}})
            while True:
                message = subscriber.hear()
                heard.append(message)
                notification = message.get("notification")
                if notification is None or notification["sequence"] == 0:
                    held += [notification["spuid"]] if notification else []
                    break
        heard += subscriber.all_so_far()

    ended = set()
    for message in heard:
        if "unsubscribed" in message:
            ended.add(message["unsubscribed"]["spuid"])
        else:
            assert message["notification"]["spuid"] not in ended
    assert len(ended) == len(notifications(heard)) > 5


def test_a_socket_that_closes_takes_its_subscriptions_with_it(url, sparql):
    """Said goodbye or not; the others hear on."""
    clients = [Subscriber(url) for _ in range(4)]
    for client in clients:
        client.subscribe(ALL)
    sparql.wait_for_health(subscriptions=4)

    clients[0].close()
    clients[1].socket.socket.close()
    clients[1].close()
    sparql.wait_for_health(within_s=2, subscriptions=2)
    sparql.update("DROP ALL")
    sparql.update(count_to(1))
    assert [client.notification()["sequence"] for client in clients[2:]] == [1, 1]
    for client in clients[2:]:
        client.close()
    sparql.wait_for_health(within_s=2, subscriptions=0, units=0, sockets=0)
