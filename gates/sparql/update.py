"""The update operation (SPARQL 1.1 Protocol, 2.2): form POST and direct POST; answered by 200 and JSON, as SEPA's."""

from __future__ import annotations

import json
import logging
import time
from typing import TYPE_CHECKING, Protocol

from triplewire.broker.errors import MalformedRequest, MethodNotAllowed, UnsupportedMediaType
from triplewire.broker.model import Update
from triplewire.broker.rights import Scope
from triplewire.broker.wire.quads import encode_quad_delta
from triplewire.gates.http.request import FORM
from triplewire.gates.http.response import JSON_TYPE, SEQUENCE, HttpResponse

if TYPE_CHECKING:
    from triplewire.broker.model import QuadDelta, Request, Updated
    from triplewire.broker.rights import Access, Graphs
    from triplewire.gates.http.request import HttpRequest, Parameters

log = logging.getLogger("triplewire.gates.sparql")

SPARQL_UPDATE = "application/sparql-update"
METHODS = ("POST", "OPTIONS")


class Writes(Protocol):
    """Who carries out what writes: the scheduler, or a leader elsewhere."""

    async def submit(self, request: Request, *, bulk: bool = False) -> Updated | None:
        """Carry it out; raises BrokerError, and then nothing has changed."""
        ...


class UpdateGate:
    """Serves the update path."""

    def __init__(self, writes: Writes) -> None:
        self._writes = writes

    async def serve(self, request: HttpRequest, response: HttpResponse) -> None:
        """Carry out an update; answered when every subscription has been looked at.

        Raises:
            BrokerError: nothing has changed.
        """
        await self._carry_out(await read_update(request), request, response)

    async def form(self, form: Parameters, request: HttpRequest, response: HttpResponse) -> None:
        """Carry out the update that a form names; see `serve`."""
        await self._carry_out(update_of(form, request.access), request, response)

    async def _carry_out(self, update: Update, request: HttpRequest, response: HttpResponse) -> None:
        request.access.need(Scope.UPDATE)
        started = time.perf_counter()
        updated = await self._writes.submit(update, bulk=request.is_bulk)
        assert updated is not None
        milliseconds = (time.perf_counter() - started) * 1e3
        change = _change(updated.delta)
        log.info("update ok %.1fms %s, %d notifications", milliseconds, change, updated.notified)
        readable = request.access.rights.read
        # How many others heard of it would tell of what the sender may not read
        told = "" if readable is not None else f", {updated.notified} notifications"
        # isJson as SEPA's engine spells it; its clients look at the status alone
        body = json.dumps({"response": {"body": f"Update done{told}", "isJson": False}})
        headers = sequence_header(updated, readable)
        if wants_quads(request) and updated.delta is not None:
            body = f'{body[:-1]}, "quads": {encode_quad_delta(updated.delta.seen_by(readable))}}}'
            headers.append(("Preference-Applied", "return=representation"))
        await response.send(200, JSON_TYPE, body.encode(), headers)


def sequence_header(updated: Updated, readable: Graphs) -> list[tuple[str, str]]:
    """Which record of the journal an update is, for those who follow it.

    There is one where the update changed something: whether it did is told to those only who may read every graph.
    """
    if updated.sequence is None or readable is not None:
        return []
    return [(SEQUENCE, str(updated.sequence))]


def wants_quads(request: HttpRequest) -> bool:
    """Whether the answer shall carry the quads: `?quads` in the URL, or RFC 7240's `Prefer: return=representation`."""
    prefer = (request.header("prefer") or "").replace(" ", "").lower()
    return "return=representation" in prefer or "quads" in request.parameters()


def _change(delta: QuadDelta | None) -> str:
    return "quads unknown" if delta is None else f"+{len(delta.inserted)} -{len(delta.deleted)} quads"


async def read_update(request: HttpRequest) -> Update:
    """The update of a request.

    Raises:
        MethodNotAllowed, UnsupportedMediaType, MalformedRequest: as the protocol has it.
    """
    if request.method != "POST":
        raise MethodNotAllowed(f"{request.method} is not a way to update; POST is", allow=METHODS)
    if request.media_type == SPARQL_UPDATE:
        return _dataset(await request.text(), request.parameters(), request.access)
    if request.media_type == FORM:
        return update_of(await request.form(), request.access)
    raise UnsupportedMediaType(
        f"an update is posted as {SPARQL_UPDATE} or {FORM}, not as {request.media_type or 'nothing'!s:.100}"
    )


def update_of(form: Parameters, access: Access) -> Update:
    """The update that a form names, for whoever has this access.

    Raises:
        MalformedRequest: there is none, or more than one.
    """
    sparql = form.one("update")
    if sparql is None:
        wrong = "; query belongs on the query path" if "query" in form else ""
        raise MalformedRequest(f"the parameter update is missing{wrong}")
    return _dataset(sparql, form, access)


def _dataset(sparql: str, graphs: Parameters, access: Access) -> Update:
    using, using_named = graphs.all("using-graph-uri"), graphs.all("using-named-graph-uri")
    return Update(sparql, using, using_named, access.rights)
