"""A broker's /metrics, read again and again: figures, what is counted each second, and quantiles between two readings."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from triplewire.broker.errors import BrokerMisbehaved

from .addresses import Addresses
from .exchange import HttpDriver
from .flows import Call, Flow, Flows
from .settings import ClientSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .authorization import Authorization

Labels: TypeAlias = "frozenset[tuple[str, str]]"


@dataclass(frozen=True, slots=True)
class Reading:
    """All samples of one moment, by name and labels; `at` is on a clock that only goes on, in seconds."""

    samples: Mapping[str, Mapping[Labels, float]]
    at: float

    @classmethod
    def of(cls, text: str, at: float) -> Reading:
        """The samples of a metrics page.

        Raises:
            BrokerMisbehaved: it is not one, or not a broker's.
        """
        # Here, so that the other commands do not load it.
        from prometheus_client.parser import text_string_to_metric_families  # noqa: PLC0415

        samples: dict[str, dict[Labels, float]] = {}
        try:
            for family in text_string_to_metric_families(text):
                for sample in family.samples:
                    samples.setdefault(sample.name, {})[frozenset(sample.labels.items())] = sample.value
        except (ValueError, KeyError, IndexError) as error:
            raise BrokerMisbehaved(f"what came is no page of metrics: {error!s:.200}") from error
        if "triplewire_healthy" not in samples:
            raise BrokerMisbehaved("the metrics there are not those of a Triplewire broker")
        return cls(samples, at)

    def value(self, name: str, **labels: str) -> float | None:
        """The sum of a figure's samples that have these labels; None where there is none."""
        wanted = labels.items()
        found = [value for has, value in self.samples.get(name, {}).items() if wanted <= has]
        return sum(found) if found else None

    def by(self, name: str, *labels: str) -> dict[tuple[str, ...], float]:
        """A figure by the values of some of its labels."""
        found: dict[tuple[str, ...], float] = {}
        for has, value in self.samples.get(name, {}).items():
            known = dict(has)
            key = tuple(known.get(label, "") for label in labels)
            found[key] = found.get(key, 0.0) + value
        return found


@dataclass(frozen=True, slots=True)
class Between:
    """What happened from one reading to the next."""

    before: Reading
    now: Reading

    @property
    def seconds(self) -> float:
        """How long that is."""
        return self.now.at - self.before.at

    def rate(self, name: str, **labels: str) -> float | None:
        """A counter each second; None where it is not there, or the broker has begun anew."""
        before, now = self.before.value(name, **labels), self.now.value(name, **labels)
        if before is None or now is None or now < before or self.seconds <= 0:
            return None
        return (now - before) / self.seconds

    def rates(self, name: str, label: str) -> dict[str, float]:
        """A counter each second by one of its labels, where it has risen."""
        before = self.before.by(name, label)
        risen = {key: value - before.get(key, 0.0) for key, value in self.now.by(name, label).items()}
        return {key[0]: more / self.seconds for key, more in risen.items() if more > 0}

    def quantile(self, part: float, name: str) -> float | None:
        """Below which so much of what a histogram counted meanwhile lies, in its unit; None where that is nothing.

        As Prometheus does it: evenly spread within a bucket, and at most the highest limit that there is.
        """
        before, now = self.before.by(f"{name}_bucket", "le"), self.now.by(f"{name}_bucket", "le")
        counts = sorted((float(key[0]), value - before.get(key, 0.0)) for key, value in now.items())
        if not counts or counts[-1][1] <= 0 or any(count < 0 for _, count in counts):
            return None
        rank = part * counts[-1][1]
        low, below = 0.0, 0.0
        for high, count in counts:
            if count >= rank:
                if math.isinf(high):
                    return low
                return high if count == below else low + (high - low) * (rank - below) / (count - below)
            low, below = high, count
        raise AssertionError("the last bucket holds all")


class MetricsClient:
    """Reads the metrics of one broker."""

    def __init__(
        self,
        url: str,
        *,
        settings: ClientSettings | None = None,
        authorization: Authorization | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        settings = settings or ClientSettings()
        self._flows = _MetricsFlows(settings, authorization)
        self._url = f"{Addresses.of(url).graph_store.removesuffix('/rdf-graph-store')}/metrics"
        self._driver = HttpDriver(settings)
        self._clock = clock

    def read(self) -> Reading:
        """The figures of this moment.

        Raises:
            ConnectionLost: the broker can't be reached.
            BrokerRefused: it shows them to administrators only, or has none.
            BrokerMisbehaved: what came is not a broker's metrics.
        """
        text = self._driver.run(self._flows.page(self._url))
        return Reading.of(text, self._clock())

    def close(self) -> None:
        """Let go of the connection."""
        self._driver.close()


class _MetricsFlows(Flows):
    def page(self, url: str) -> Flow[str]:
        reply = yield from self._exchange(Call("GET", url, safe=True), "text/plain; version=0.0.4")
        return reply.body.decode("utf-8", "replace")
