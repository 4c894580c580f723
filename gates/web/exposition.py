"""Figures in the Prometheus text format, those of the process among them: what all our pages of metrics have in common."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import choose_encoder

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prometheus_client.core import Metric
    from prometheus_client.registry import Collector


class Exposition:
    """What these collectors tell, and what is known of every process."""

    def __init__(self, collector: Collector, meters: Iterable[Collector] = ()) -> None:
        """`meters` come first, `collector` last."""
        self._registry = CollectorRegistry()
        for meter in meters:
            self._registry.register(meter)
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)
        GCCollector(registry=self._registry)
        self._registry.register(collector)

    def page(self, accept: str) -> tuple[bytes, str]:
        """The text that suits an Accept header, and its media type."""
        encode, content_type = choose_encoder(accept)
        return encode(self._registry), content_type


def build_info(prefix: str) -> Metric:
    """Which release runs."""
    info = GaugeMetricFamily(f"{prefix}build_info", "Always 1; which release runs", labels=["version"])
    info.add_metric([version("triplewire")], 1.0)
    return info


def figure(name: str, meaning: str, value: float, *, grows: bool) -> Metric:
    """One number without labels; the name of what only `grows` ends in `_total`."""
    family = CounterMetricFamily if grows else GaugeMetricFamily
    return family(name.removesuffix("_total"), meaning, value=float(value))
