"""An update that touches one of very many standing queries of one shape : the same with that one alone.

Prints ratios; asserts only that the right ones were told.
"""

from __future__ import annotations

import os
import statistics
import time
from functools import partial
from pathlib import Path

from support.stores import embedded

from triplewire.broker.config import LimitsConfig, SparqlConfig
from triplewire.broker.core import Core
from triplewire.broker.model import Query, Subscribe, Update
from triplewire.broker.subscriptions import Subscriptions
from triplewire.spu.analysis.analysis import analyse

COUNTS = [int(count) for count in os.environ.get("TRIPLEWIRE_STANDING", "1,1000,100000").split(",")]
SENT = """PREFIX s: <https://schema.org/> SELECT ?message ?sender ?text ?time WHERE {{
  ?message a s:Message ; s:text ?text ; s:sender ?sender ; s:toRecipient <http://example.org/{receiver}> ; s:dateSent ?time }}"""
SEND = """PREFIX s: <https://schema.org/> INSERT DATA {{ <http://example.org/m{number}> a s:Message ; s:text 'x' ;
  s:sender <http://example.org/a> ; s:toRecipient <http://example.org/{receiver}> ; s:dateSent {number} }}"""


def resident_mb() -> float:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * 4 / 1024


def test_standing_queries():
    """The median of 50 updates, each to one receiver."""
    alone = None
    for count in COUNTS:
        limits, sparql = LimitsConfig(subscriptions_per_socket=10**7), SparqlConfig()
        known = partial(analyse, base_iri=sparql.base_iri, prefixes=sparql.prefixes)
        core = Core(embedded(), Subscriptions(limits, analyse=known))
        before, began = resident_mb(), time.perf_counter()
        for receiver in range(count):
            core.handle(Subscribe(Query(SENT.format(receiver=receiver)), 1))
        made = (time.perf_counter() - began) / count
        size = (resident_mb() - before) / count * 1024
        took = []
        for number in range(50):
            began = time.perf_counter()
            outcome = core.handle(Update(SEND.format(number=number, receiver=count // 2)))
            took.append(time.perf_counter() - began)
            assert len(outcome.messages) == 1
        median = statistics.median(took) * 1e6
        alone = alone or median
        print(
            f"\n{count} standing: {median:.0f} us an update, ratio {median / alone:.2f}; {made * 1e6:.0f} us and "
            f"{size:.1f} KB to hold one"
        )
