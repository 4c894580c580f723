"""First results and changes, added up and held against a fresh answer after each update."""

from __future__ import annotations

from collections import Counter

from triplewire.broker.config import LimitsConfig
from triplewire.broker.core import Core
from triplewire.broker.model import Query, Subscribe, Unsubscribe, Update
from triplewire.broker.subscriptions import Subscriptions

from .sparql_strategies import PROLOGUE
from .stores import embedded


def adds_up(analyse, data, texts, updates, alike=lambda bag: bag):
    """Holds the queries `texts` over a block of data while the updates are made; `analyse` is as the broker's.

    `alike` makes one of bags that need not be told apart, for answers that the store may give in more than one way;
    what is told must still take away only what was told before, and one who subscribes later must be told the same.
    """
    store = embedded()
    core = Core(store, Subscriptions(LimitsConfig(), analyse=analyse))
    core.handle(Update(f"{PROLOGUE} INSERT DATA {{ {data} }}"))
    bags, told = {}, {}
    for text in texts:
        ((_, first),) = core.handle(Subscribe(Query(text), 1)).messages
        bags[first.spuid], told[first.spuid] = Counter(first.delta.added), text
    for text in updates:
        for _, message in core.handle(Update(PROLOGUE + text)).messages:
            assert message.delta
            assert not message.delta.added & message.delta.removed
            assert not message.delta.removed - bags[message.spuid]
            bags[message.spuid] = message.delta.apply(bags[message.spuid])
        for spuid, bag in bags.items():
            assert alike(bag) == alike(store.evaluate(Query(told[spuid])).bag()), told[spuid]
            ((_, late),) = core.handle(Subscribe(Query(told[spuid]), 2)).messages
            assert Counter(late.delta.added) == bag, told[spuid]
            core.handle(Unsubscribe(late.spuid, 2))
