"""A tracker's figures in the Prometheus text format: what its state tells, read when somebody asks."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import choose_encoder

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
    ("refused_pairs", "refused_pairs_total", True, "Neighbours that got others, as they had no link"),
    ("improvements", "improvements_total", True, "Exchanges of links for better ones"),
    ("sent", "redirects_total", True, "Consumers that were sent to a node"),
    ("not_sent", "redirects_failed_total", True, "Consumers for whom there was no node"),
)


class TrackerMetrics:
    """All of them as text; `state` is what /health tells administrators."""

    def __init__(self, state: Callable[[], dict[str, Any]]) -> None:
        self._state = state
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)
        GCCollector(registry=self._registry)
        self._registry.register(self)

    def collect(self) -> Iterator[Metric]:
        """The figures of this moment (the interface of a Prometheus collector)."""
        state = self._state()
        info = GaugeMetricFamily(
            "triplewire_tracker_build_info", "Always 1; which release runs", labels=["version"]
        )
        info.add_metric([version("triplewire")], 1.0)
        yield info
        for place, name, grows, meaning in _FIGURES:
            family = CounterMetricFamily if grows else GaugeMetricFamily
            yield family(
                f"triplewire_tracker_{name.removesuffix('_total')}", meaning, value=float(state[place])
            )
        refused = CounterMetricFamily(
            "triplewire_tracker_refused", "Requests that were answered by an error", labels=["code"]
        )
        for code, count in state["refused"].items():
            refused.add_metric([code], float(count))
        yield refused

    def page(self, accept: str) -> tuple[bytes, str]:
        """The text that suits an Accept header, and its media type."""
        encode, content_type = choose_encoder(accept)
        return encode(self._registry), content_type
