"""A stream of what changes in the answer to a SPARQL query: a subscription like any other, whose notifications are items.

SELECT and ASK: one item a notification, Syntax application/sparql-results+json, its body the notification as WebSocket
and event streams carry it, so that one decoder reads all three.

CONSTRUCT and DESCRIBE: an item with the triples that came in Turtle and, before it, one with those that went, if any
went.  A Turtle body can't say which of its triples are gone, and an item of its own, told apart by its Event-Type, can be
filtered out by those who only collect; whoever keeps the graph takes away first and adds then.

Event-Type is `first`, `added`, `removed`, or `changed` where both are in one item.  Event-Id is the subscription's id, `#`
and the notification's number, with `-removed` where there are two.  A subscription that ends is made again.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

import pyoxigraph
from pyoxigraph import BlankNode, NamedNode, RdfFormat, Triple

from triplewire.broker.errors import BrokerError, ConfigError, ProfileError
from triplewire.broker.model import Notification, Query, Subscribe
from triplewire.broker.texts import query_form
from triplewire.broker.wire.items import Item
from triplewire.gates.outbox import Outbox, SlowSubscriber
from triplewire.jsap.profile import Profile

from .joined_source import published

if TYPE_CHECKING:
    from collections.abc import Iterable

    from triplewire.broker.config import LimitsConfig, StreamConfig
    from triplewire.broker.model import Row
    from triplewire.broker.scheduler import Scheduler
    from triplewire.gates.outbox import Batch

    from .feed import Feed

log = logging.getLogger("triplewire.gates.stream")

RESULTS = "application/sparql-results+json"
_TURTLE = "text/turtle"
_AGAIN_FIRST_S = 0.2
_AGAIN_LONGEST_S = 30.0


def query_of(name: str, config: StreamConfig) -> Query:
    """The query of a stream's settings.

    Raises:
        ConfigError: the profile can't be read, or has no such query.
    """
    if not config.jsap:
        return Query(config.query, config.default_graphs, config.named_graphs)
    try:
        found = Profile.load(config.jsap).query(config.id, config.bindings)
    except ProfileError as error:
        raise ConfigError(f"streams.{name}.jsap = {config.jsap!r}: {error}") from error
    return Query(
        found.sparql, config.default_graphs or found.default_graphs, config.named_graphs or found.named_graphs
    )


class SparqlSource:
    """Feeds `into` by `query`."""

    def __init__(self, into: Feed, query: Query, scheduler: Scheduler, limits: LimitsConfig) -> None:
        self.subscriptions = 0  # that were made
        self.trouble = ""  # what the last one ended by
        self._into = into
        self._query = query
        self._scheduler = scheduler
        self._limits = limits
        form = query_form(query.sparql)
        self._is_graph = form is not None and form.is_graph

    async def run(self) -> None:
        """Until the stream ends."""
        wait_s = _AGAIN_FIRST_S
        while not self._into.closed:
            held = self.subscriptions
            try:
                await self._subscribed()
            except (BrokerError, SlowSubscriber) as error:
                self.trouble = str(error)
                log.warning("! the subscription of %s has ended: %.300s", self._into.name, error)
            wait_s = _AGAIN_FIRST_S if self.subscriptions > held else min(2 * wait_s, _AGAIN_LONGEST_S)
            await asyncio.sleep(wait_s)

    async def _subscribed(self) -> None:
        outbox = Outbox(self._limits)
        subscriber = self._scheduler.join(outbox)
        try:
            await self._scheduler.submit(Subscribe(self._query, subscriber))
            self.subscriptions += 1
            self.trouble = ""
            await outbox.run(self._send)
        finally:
            self._scheduler.leave(subscriber)

    async def _send(self, batch: Batch) -> None:
        items: list[Item] = []
        failure = ""
        for message, text in batch:
            if isinstance(message, Notification):
                items += self._items(message, text)
            else:
                failure = str(getattr(message, "description", "it has ended"))
        if items:
            await published(self._into, items, f"the subscription of {self._into.name}")
        if failure:
            raise BrokerError(failure)

    def _items(self, told: Notification, text: bytes) -> list[Item]:
        place = f"{told.spuid}#{told.sequence}"
        if not self._is_graph:
            return [Item(place, self._into.source_id, RESULTS, text, event_type=_type(told))]
        items: list[Item] = []
        if told.delta.removed:
            body = _turtle(told.delta.removed)
            items.append(Item(f"{place}-removed", self._into.source_id, _TURTLE, body, event_type="removed"))
        if told.delta.added or not told.sequence:
            body = _turtle(told.delta.added)
            kind = "added" if told.sequence else "first"
            items.append(Item(place, self._into.source_id, _TURTLE, body, event_type=kind))
        return items


def _type(told: Notification) -> str:
    if not told.sequence:
        return "first"
    if told.delta.added and told.delta.removed:
        return "changed"
    return "added" if told.delta.added else "removed"


def _turtle(rows: Iterable[Row]) -> bytes:
    triples = [
        Triple(subject, predicate, object_)
        for subject, predicate, object_ in rows
        if isinstance(subject, NamedNode | BlankNode)
        and isinstance(predicate, NamedNode)
        and object_ is not None
    ]
    return pyoxigraph.serialize(triples, format=RdfFormat.TURTLE) or b""
