"""A tracker's figures in the Prometheus text format: what its state tells, read when somebody asks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prometheus_client.core import CounterMetricFamily

from triplewire.gates.web.exposition import Exposition, build_info, figure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from prometheus_client import Metric

# Where it is in the state, its name, whether it only grows, and what it is.
_FIGURES = (
    ("nodes", "nodes", False, "Nodes that are alive"),
    ("listeners", "listeners", False, "Nodes that listen for instructions"),
    ("streams", "streams", False, "Streams that have nodes"),
    ("members", "members", False, "Nodes in streams, counted in each"),
    ("links", "links", False, "Pairs of nodes that are neighbours in some stream"),
    ("collecting", "collecting", False, "Streams whose nodes only tell what they have, as after a start"),
    ("statuses", "statuses_total", True, "Statuses that were taken"),
    ("late", "late_statuses_total", True, "Statuses that came after a newer one, and changed nothing"),
    ("joins", "joins_total", True, "Times a node came into a stream"),
    ("leaves", "leaves_total", True, "Times a node left a stream"),
    (
        "put_off",
        "joins_put_off_total",
        True,
        "Times a node would come into a stream too often, and was not let in yet",
    ),
    ("gone", "gone_total", True, "Nodes that fell silent"),
    ("changes", "changes_total", True, "Times that a node's neighbours in a stream became others"),
    ("instructed", "instructions_total", True, "Instructions that nodes were given"),
    ("signed", "signed_total", True, "Tickets and certificates that were signed"),
    ("proofs", "proofs_total", True, "Proofs of publishing nodes that were verified"),
    ("unproven", "unproven_total", True, "Certificates refused, as the node did not prove to have the key"),
    ("refused_pairs", "refused_pairs_total", True, "Neighbours that got others, as they had no link"),
    ("improvements", "improvements_total", True, "Exchanges of links for better ones"),
    ("sent", "redirects_total", True, "Consumers that were sent to a node"),
    ("not_sent", "redirects_failed_total", True, "Consumers for whom there was no node"),
)


class TrackerMetrics:
    """All of them as text; `state` is what /health tells administrators."""

    def __init__(self, state: Callable[[], dict[str, Any]]) -> None:
        self._state = state
        self.page = Exposition(self).page

    def collect(self) -> Iterator[Metric]:
        """The figures of this moment (the interface of a Prometheus collector)."""
        state = self._state()
        yield build_info("triplewire_tracker_")
        for place, name, grows, meaning in _FIGURES:
            yield figure(f"triplewire_tracker_{name}", meaning, state[place], grows=grows)
        refused = CounterMetricFamily(
            "triplewire_tracker_refused", "Requests that were answered by an error", labels=["code"]
        )
        for code, count in state["refused"].items():
            refused.add_metric([code], float(count))
        yield refused
