"""By how much the meters of this process rise."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def counting(**meters: Any) -> Iterator[dict[str, float]]:
    """For a `with`: at its end, by name, how much each has counted within it."""

    def now() -> dict[str, float]:
        return {
            name: sum(
                sample.value
                for sample in meter.collect()[0].samples
                if sample.name.endswith(("_total", "_count"))
            )
            for name, meter in meters.items()
        }

    before = now()
    found: dict[str, float] = {}
    yield found
    found.update({name: value - before[name] for name, value in now().items()})
