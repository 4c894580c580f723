"""What a run made of its sources, as JSON and as a text."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_MOST_SHOWN: Final = 20


@dataclass(frozen=True, slots=True)
class Coverage:
    """What there is of one sensor: how many observations, and when the first and the last was (UTC)."""

    sensor: str
    observations: int
    first: str | None
    last: str | None


@dataclass(frozen=True, slots=True)
class Report:
    """Numbers of one run.

    `rejected` are rows, `reasons` how many rows have each (a row may have several); `duplicates` are quads that were made
    more than once; `observations` are subjects of type sosa:Observation.  `sensors` are those with most observations, at most
    `quality.MOST_SENSORS`; `sensor_count` is how many there are.
    """

    rows: int
    quads: int
    observations: int
    rejected: int
    duplicates: int
    reasons: Mapping[str, int] = field(default_factory=dict)
    first: str | None = None
    last: str | None = None
    sensor_count: int = 0
    sensors: tuple[Coverage, ...] = ()
    quarantine: str | None = None
    parts: int = 0
    bytes: int = 0

    def document(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)

    def json(self) -> str:
        """As a JSON text."""
        return json.dumps(self.document(), ensure_ascii=False, indent=1)

    def text(self) -> str:
        """For people."""
        lines = [
            f"rows in        {self.rows:>14,}",
            f"quads out      {self.quads:>14,}",
            f"observations   {self.observations:>14,}",
            f"duplicates     {self.duplicates:>14,}",
            f"rejected rows  {self.rejected:>14,}",
            *[f"  {reason:<21}{count:>6,}" for reason, count in self.reasons.items()],
        ]
        if self.quarantine is not None:
            lines.append(f"quarantine     {self.quarantine}")
        if self.first is not None:
            lines.append(f"time           {self.first} to {self.last}")
        if self.sensors:
            lines.append(f"sensors        {self.sensor_count:>14,}")
            lines += [
                f"  {one.observations:>10,}  {one.first or '-'} to {one.last or '-'}  {one.sensor}"
                for one in self.sensors[:_MOST_SHOWN]
            ]
            if self.sensor_count > _MOST_SHOWN:
                lines.append(f"  and {self.sensor_count - _MOST_SHOWN:,} more")
        return "\n".join(lines)
