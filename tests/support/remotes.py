"""A core over a remote endpoint, as the broker makes it."""

from __future__ import annotations

from functools import partial

from triplewire.broker.config import LimitsConfig, SparqlConfig
from triplewire.broker.core import Core
from triplewire.broker.subscriptions import Subscriptions
from triplewire.spu.analysis.foreign import analyse_foreign

from .stores import remote


def remote_core(query, update, **settings):
    """The store behind the endpoint, and its core."""
    store = remote(query, update, **settings)
    sparql = SparqlConfig()
    apart = settings.get("endpoint_graphs_apart", False)
    known = partial(analyse_foreign, base_iri=sparql.base_iri, prefixes=sparql.prefixes, graphs_apart=apart)
    subscriptions = Subscriptions(LimitsConfig(subscriptions_per_socket=10**6), analyse=known, exact=False)
    store.routed_by(subscriptions.touched)
    return store, Core(store, subscriptions)


def meets(pattern, quad):
    """Whether a quad is one of a pattern; a blank node stands for any."""
    pairs = zip(pattern, (quad.subject, quad.predicate, quad.object, quad.graph_name), strict=True)
    return all(
        known is None or known == term or (type(known) is type(term) and str(known).startswith("_:"))
        for known, term in pairs
    )


def contains(candidates, delta):
    """Whether all of a change is among what it could be at most."""
    if not all(
        any(meets(one, quad) for one in candidates.patterns) for quad in delta.inserted | delta.deleted
    ):
        return False
    named = {one.graph for one in candidates.patterns if one[:3] == (None, None, None)}
    return None in named or delta.created | delta.dropped <= candidates.graphs | named
