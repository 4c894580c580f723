"""Small stores with a few triples in three graphs, and ways to ask them."""

from __future__ import annotations

from io import BytesIO

from triplewire.broker.app import open_readers
from triplewire.broker.config import JournalConfig, LimitsConfig, SchedulerConfig, SparqlConfig, StoreConfig
from triplewire.broker.dataset.opening import open_dataset
from triplewire.broker.endpoint import EndpointStore
from triplewire.broker.model import Query, Update
from triplewire.broker.store import EmbeddedStore

EX = "http://example.org/"
PROLOGUE = f"PREFIX : <{EX}> "
DATA = ":a :p 0 GRAPH :g { :a :p 1 . :b :p 1 } GRAPH :h { :a :p 2 }"


def embedded(*, data="", engine="memory", limits=None, journal=None, isolation="thread", **sparql):
    """An embedded store with settings of its own."""
    limits = limits or LimitsConfig()
    dataset = open_dataset(StoreConfig(data=data, engine=engine), journal or JournalConfig())
    readers = open_readers(dataset, SchedulerConfig(reader_isolation=isolation), limits)
    return EmbeddedStore(dataset, SparqlConfig(**sparql), limits, readers)


def remote(query, update, **settings):
    """A store behind an endpoint."""
    config = StoreConfig(query_endpoint=query, update_endpoint=update, **settings)
    return EndpointStore(config, SparqlConfig(), LimitsConfig())


def fill(store):
    """The three graphs and nothing else."""
    store.apply(Update(f"{PROLOGUE} DROP ALL ; INSERT DATA {{ {DATA} }}"))
    return store


def ask(store, text, **graphs):
    """The rows of an answer, each as a text, sorted."""
    found = store.evaluate(Query(PROLOGUE + text, **graphs)).rows
    return sorted(" ".join(getattr(term, "value", "-") for term in row) for row in found)


class File(BytesIO):
    """A sink in memory that always wants more."""

    def check(self):
        """Go on."""

    form = None
    format = None

    def start(self, form, format_):
        self.form, self.format = form, format_


def written(store, text, format_):
    """An answer in a format."""
    sink = File()
    store.answer(Query(PROLOGUE + text), lambda _: format_, sink)
    return sink
