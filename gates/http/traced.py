"""A gate whose writes are traced: the trace of the request's headers goes on (W3C Trace Context)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from triplewire.broker.errors import BrokerError
from triplewire.broker.tracing import COURSE

from .request import ClientGone

if TYPE_CHECKING:
    from triplewire.broker.tracing import Course

    from .request import HttpRequest
    from .response import HttpResponse
    from .router import Gate


class Tracing(Protocol):
    """Makes courses and takes them; `triplewire.broker.trace_export.Tracer`."""

    def begin(self, traceparent: str | None, tracestate: str | None) -> Course | None:
        """The course of a request with these headers; None where it is not to be traced."""

    def end(self, course: Course, failure: tuple[str, int] | None = None) -> None:
        """It is over; the code and status of the error that it ended in."""


class TracedGate:
    """Stands before a gate."""

    def __init__(self, gate: Gate, tracing: Tracing) -> None:
        self._gate = gate
        self._tracing = tracing

    async def serve(self, request: HttpRequest, response: HttpResponse) -> None:
        """See `Gate`."""
        course = self._tracing.begin(request.header("traceparent"), request.header("tracestate"))
        if course is None:
            await self._gate.serve(request, response)
            return
        before = COURSE.set(course)
        failure: tuple[str, int] | None = None
        try:
            await self._gate.serve(request, response)
        except BrokerError as error:
            failure = error.code, error.status
            raise
        except ClientGone:
            raise
        except Exception as error:
            failure = type(error).__name__, 500
            raise
        finally:
            COURSE.reset(before)
            self._tracing.end(course, failure)
