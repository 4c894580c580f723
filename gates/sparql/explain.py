"""How the answer to a query would be followed, in words: GET or POST of a query, as the query operation takes it."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from .query import read_query

if TYPE_CHECKING:
    from collections.abc import Callable

    from triplewire.broker.model import Query
    from triplewire.gates.http.request import HttpRequest
    from triplewire.gates.http.response import HttpResponse

PATH = "/explain"
METHODS = ("GET", "HEAD", "POST", "OPTIONS")


class ExplainGate:
    """Serves `PATH`; `explain` gives a JSON object for a query, on any thread."""

    def __init__(self, explain: Callable[[Query], dict[str, Any]]) -> None:
        self._explain = explain

    async def serve(self, request: HttpRequest, response: HttpResponse) -> None:
        """Answer `{"followed": words, "touched_by": [pattern, ...]}`; nothing is evaluated.

        Raises:
            BrokerError: it is no request for a query, or one that is too complex.
        """
        query = await read_query(request)
        with request.holding("queries"):
            told = await asyncio.to_thread(self._explain, query)
        await response.send(200, "application/json", json.dumps(told, ensure_ascii=False).encode())
