"""Old results of roll-ups go, in a real store, and nothing else."""

from __future__ import annotations

import pytest
from pyoxigraph import Literal, NamedNode, Quad, Store

from triplewire.clients.historic.outdated import outdated_updates, take_away
from triplewire.clients.historic.slices import SOSA

RESULT = NamedNode(f"{SOSA}hasSimpleResult")


def name(number):
    return NamedNode(f"http://example.org/{number}")


@pytest.mark.parametrize("graph", [None, "http://example.org/g"])
def test_other_results_go(graph):
    """Of the observations that are named, in that graph; in bounded updates."""
    at = [] if graph is None else [NamedNode(graph)]
    store = Store()
    kept = {Quad(name(number), RESULT, Literal(number / 4), *at) for number in range(1200)}
    kept |= {
        Quad(name("other"), RESULT, Literal(5), *at),
        Quad(name(1), RESULT, Literal(5), NamedNode("http://example.org/elsewhere")),
        Quad(name(1), NamedNode(f"{SOSA}madeBySensor"), Literal(5), *at),
    }
    store.extend(kept)
    store.extend([Quad(name(number), RESULT, Literal(99.5), *at) for number in (0, 700, 1199)])
    updates = list(outdated_updates([(str(name(number)), number / 4) for number in range(1200)], graph))
    assert len(updates) == 3
    for update in updates:
        store.update(update)
    assert set(store) == kept


def test_the_client_is_told_each():
    """In order; nothing for nothing."""

    class Client:
        def __init__(self):
            self.updates = []

        def update(self, text):
            self.updates.append(text)

    client = Client()
    take_away(client, [], None)
    assert client.updates == []
    results = [("<http://example.org/1>", 1.0)]
    take_away(client, results, None)
    assert client.updates == list(outdated_updates(results, None))


def test_numbers_of_any_size():
    """1e300 and 1e-7 are doubles of SPARQL, too."""
    store = Store()
    numbers = [1e300, 1e-7, -3.0, 0.1, 123456789.123]
    store.extend([Quad(name(at), RESULT, Literal(number)) for at, number in enumerate(numbers)])
    before = set(store)
    for update in outdated_updates([(str(name(at)), number) for at, number in enumerate(numbers)], None):
        store.update(update)
    assert set(store) == before
