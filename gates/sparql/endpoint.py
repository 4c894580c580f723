"""The path that takes both operations: what it is asked for tells which."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triplewire.broker.errors import MalformedRequest
from triplewire.broker.rights import Scope
from triplewire.gates.http.request import FORM

from .description import asks_for_description, describe
from .query import QueryGate, query_of
from .update import SPARQL_UPDATE, UpdateGate

if TYPE_CHECKING:
    from triplewire.gates.http.request import HttpRequest
    from triplewire.gates.http.response import HttpResponse

METHODS = ("GET", "HEAD", "POST", "OPTIONS")


class EndpointGate:
    """Serves the path of both."""

    def __init__(self, query: QueryGate, update: UpdateGate) -> None:
        self._query = query
        self._update = update

    async def serve(self, request: HttpRequest, response: HttpResponse) -> None:
        """Query or update; each asks for its own scope.

        Raises:
            BrokerError: before anything was sent.
        """
        if request.method == "POST" and request.media_type == SPARQL_UPDATE:
            await self._update.serve(request, response)
        elif request.method == "POST" and request.media_type == FORM:
            await self._form(request, response)
        elif asks_for_description(request):
            request.access.need(Scope.QUERY)
            await describe(request, response, updates=True)
        elif "update" in request.parameters():
            raise MalformedRequest("an update is posted, not put into the URL (SPARQL 1.1 Protocol 2.2)")
        else:
            await self._query.serve(request, response)

    async def _form(self, request: HttpRequest, response: HttpResponse) -> None:
        form = await request.form()
        if "update" in form and "query" in form:
            raise MalformedRequest("the form has both query and update; one is right")
        if "update" in form:
            await self._update.form(form, request, response)
        else:
            await self._query.answer(request, response, query_of(form, request.access))
