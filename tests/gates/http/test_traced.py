"""A gate whose writes are traced."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from triplewire.broker.errors import MalformedRequest
from triplewire.broker.tracing import COURSE, Course
from triplewire.gates.http.request import ClientGone
from triplewire.gates.http.traced import TracedGate


class Tracing:
    """Writes down what it is told."""

    def __init__(self, *, samples=True):
        self.samples = samples
        self.begun, self.ended = [], []

    def begin(self, traceparent, tracestate):
        self.begun.append((traceparent, tracestate))
        return Course(10) if self.samples else None

    def end(self, course, failure=None):  # noqa: ARG002 - a protocol's
        self.ended.append(failure)


class Inner:
    """A gate that does as it is told."""

    def __init__(self, error=None):
        self.error = error
        self.courses = []

    async def serve(self, request, response):  # noqa: ARG002 - a protocol's
        self.courses.append(COURSE.get())
        if self.error is not None:
            raise self.error


REQUEST = SimpleNamespace(header={"traceparent": "00-a", "tracestate": None}.get)


async def test_the_gate_within_has_a_course():
    """And nobody after it."""
    tracing, inner = Tracing(), Inner()
    await TracedGate(inner, tracing).serve(REQUEST, None)
    assert [type(course) for course in inner.courses] == [Course]
    assert COURSE.get() is None
    assert tracing.begun == [("00-a", None)]
    assert tracing.ended == [None]


async def test_what_is_not_sampled_has_none():
    """And no end either."""
    tracing, inner = Tracing(samples=False), Inner()
    await TracedGate(inner, tracing).serve(REQUEST, None)
    assert inner.courses == [None]
    assert tracing.ended == []


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (MalformedRequest("no"), (MalformedRequest.code, 400)),
        (ClientGone(), None),
        (KeyError("x"), ("KeyError", 500)),
    ],
)
async def test_how_it_ended_is_told(error, told):
    """The error goes on to whoever answers it."""
    tracing = Tracing()
    with pytest.raises(type(error)):
        await TracedGate(Inner(error), tracing).serve(REQUEST, None)
    assert tracing.ended == [told]
    assert COURSE.get() is None
