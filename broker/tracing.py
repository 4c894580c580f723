"""The course of one write, for traces: what was done when, as plain data.

Whoever takes part in it says so when a step is done (`Course.done`), on whatever thread it is; spans are made of it in the
end (`trace_export`).  Without tracing there is no course, and nothing of OpenTelemetry is imported: it costs a look at a
variable.  The steps of one write follow one another, so a step lasts from the end of the one before it.
"""

from __future__ import annotations

import time
from contextvars import ContextVar
from typing import NamedTuple, TypeAlias

Attribute: TypeAlias = str | int | float | bool


class Step(NamedTuple):
    """One step; times are nanoseconds since 1970, as OpenTelemetry has them."""

    name: str
    began_ns: int
    ended_ns: int
    attributes: dict[str, Attribute]


class Course:
    """What one write has come through; `most` steps are kept, as an update can have any number of notifications."""

    def __init__(self, most: int, traceparent: str = "") -> None:
        """`traceparent` is what another broker is told (W3C Trace Context, 3.2)."""
        self.traceparent = traceparent
        self.steps: list[Step] = []
        self.left_out = 0
        self._most = most
        self._at = time.time_ns()

    @property
    def trace_id(self) -> str:
        """32 hexadecimal digits, "" where there are none."""
        return self.traceparent[3:35]

    def go_on(self) -> None:
        """What comes next begins now: what was since the last step is no step."""
        self._at = time.time_ns()

    def done(self, name: str, **attributes: Attribute) -> None:
        """A step ends now."""
        now = time.time_ns()
        if len(self.steps) < self._most:
            # A clock may be set back
            self.steps.append(Step(name, min(self._at, now), now, attributes))
        else:
            self.left_out += 1
        self._at = now


# That of the request which the present task serves.
COURSE: ContextVar[Course | None] = ContextVar("triplewire.course", default=None)


def parent_headers() -> dict[str, str]:
    """What a request made for the present one bears, so that its spans are of the same trace."""
    course = COURSE.get()
    return {"traceparent": course.traceparent} if course is not None and course.traceparent else {}
