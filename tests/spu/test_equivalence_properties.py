"""The law: the first results, and all changes since, are a fresh answer; after every update, whatever it was."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.sparql_strategies import GRAPHS, PROLOGUE, data_blocks, queries, updates
from support.stores import embedded

from triplewire.broker.config import LimitsConfig, SparqlConfig
from triplewire.broker.core import Core
from triplewire.broker.errors import BrokerError
from triplewire.broker.model import GraphEdit, GraphWrite, Notification, Query, Subscribe, Update
from triplewire.broker.subscriptions import Subscriptions
from triplewire.spu.analysis.analysis import analyse
from triplewire.spu.construct import StableConstruct

if TYPE_CHECKING:
    from triplewire.broker.store import EmbeddedStore

LIMITS, SPARQL = LimitsConfig(), SparqlConfig()
WRITES = st.builds(
    GraphWrite,
    st.sampled_from(GraphEdit),
    st.sampled_from([None, *(f"http://example.org/{graph[1:]}" for graph in GRAPHS)]),
    st.sampled_from(
        ["", "<http://example.org/a> <http://example.org/p> _:x .", '_:x <http://example.org/p> "1" .']
    ),
)
CHANGES = st.lists(st.one_of(updates.map(Update), updates.map(Update), WRITES), min_size=1, max_size=5)
RELAXED = settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


class Held:
    """A subscription as its client sees it: the bag that the notifications add up to."""

    def __init__(self, core: Core, query: Query, subscriber: int) -> None:
        self.query = query
        self.subscriber = subscriber
        ((_, first),) = core.handle(Subscribe(query, subscriber)).messages
        assert isinstance(first, Notification)
        assert not first.delta.removed
        self.spuid, self.sequence, self.bag = first.spuid, first.sequence, Counter(first.delta.added)

    def hear(self, told: Notification) -> None:
        assert told.sequence == self.sequence + 1, "sequences have no gaps"
        assert told.delta, "a notification tells of a change"
        assert not told.delta.added & told.delta.removed, "no row both comes and goes"
        assert not told.delta.removed - self.bag, "only what was there can go"
        self.sequence = told.sequence
        self.bag = told.delta.apply(self.bag)


ANALYSE = partial(analyse, base_iri=SPARQL.base_iri, prefixes=SPARQL.prefixes)


def fresh(store: EmbeddedStore, query: Query) -> Counter:
    construct = StableConstruct.of(query)
    return (store.evaluate(query) if construct is None else construct.evaluate(store)).bag()


def started(data: list[str]) -> tuple[EmbeddedStore, Core]:
    store = embedded(limits=LIMITS)
    core = Core(store, Subscriptions(LIMITS, analyse=ANALYSE))
    for block in data:
        core.handle(Update(f"{PROLOGUE} INSERT DATA {{ {block} }}"))
    return store, core


@RELAXED
@given(st.lists(data_blocks(), max_size=5), st.lists(queries, min_size=1, max_size=4), CHANGES)
def test_first_results_and_changes_add_up_to_a_fresh_answer(data, texts, changes):
    """For SELECT, ASK, CONSTRUCT and DESCRIBE, duplicates, unbound variables and blank nodes included."""
    store, core = started(data)
    held: dict[str, Held] = {}
    for number, text in enumerate(texts):
        try:
            one = Held(core, Query(text), number)
        except BrokerError:
            continue  # a random text that Oxigraph refuses
        held[one.spuid] = one
    for change in changes:
        try:
            outcome = core.handle(change)
        except BrokerError:
            pass  # refused or failed: nothing has changed, nobody is told, and the comparison below holds it to that
        else:
            assert len({message.spuid for _, message in outcome.messages}) == len(outcome.messages)
            for subscriber, told in outcome.messages:
                assert isinstance(told, Notification)
                assert held[told.spuid].subscriber == subscriber
                held[told.spuid].hear(told)
        for one in held.values():
            assert one.bag == fresh(store, one.query), one.query.sparql


@RELAXED
@given(st.lists(data_blocks(), min_size=1, max_size=5), queries, CHANGES)
def test_a_late_subscriber_and_an_early_one_agree(data, text, changes):
    """Whoever comes later shares the unit, and starts from the answer of that time."""
    _, core = started(data)
    query = Query(text)
    try:
        early = Held(core, query, 1)
    except BrokerError:
        return
    for number, change in enumerate(changes):
        try:
            messages = core.handle(change).messages
        except BrokerError:
            messages = ()
        for _, told in messages:
            if told.spuid == early.spuid:
                early.hear(told)
        assert Held(core, query, 10 + number).bag == early.bag
