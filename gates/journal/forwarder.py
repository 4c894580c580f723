"""Updates that come to a follower: sent to the leader, and answered when they are here, too."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import httpx

from triplewire.broker.errors import (
    BrokerError,
    ClientError,
    DeadlineExceeded,
    EndpointError,
    Forbidden,
    Overloaded,
    RequestError,
    UnsupportedOperation,
)
from triplewire.broker.model import GraphEdit, GraphWrite, Update, Updated
from triplewire.broker.rights import ALL
from triplewire.broker.tracing import COURSE, parent_headers
from triplewire.gates.http.response import SEQUENCE
from triplewire.gates.sparql.update import SPARQL_UPDATE

from .leader import leader_client

if TYPE_CHECKING:
    from triplewire.broker.config import FollowConfig, PathsConfig
    from triplewire.broker.model import Request

    from .follower import Follower


class Forwarder:
    """Takes the place of the scheduler for what writes; raises what the leader says."""

    def __init__(self, config: FollowConfig, paths: PathsConfig, follower: Follower) -> None:
        self._config = config
        self._follower = follower
        base = config.url.rstrip("/")
        self._update = f"{base}{paths.update}"
        self._graph_store = f"{base}{paths.graph_store}"
        self._http = leader_client(config, httpx.Timeout(config.timeout_s), follower.auth)

    async def submit(self, request: Request, *, bulk: bool = False) -> Updated | None:
        """Have a write carried out by the leader, and wait until it is here.

        Raises:
            UnsupportedOperation: follow.updates refuses it.
            Forbidden: whoever sent it may not write everything, and the leader would not know who that is.
            BrokerError: what the leader says; or it can't be reached; or the change did not come here in time.
        """
        if self._config.updates == "refuse":
            raise UnsupportedOperation(
                f"this broker follows {self._config.url}: updates go there (follow.updates)"
            )
        assert isinstance(request, Update | GraphWrite)
        if request.rights != ALL:
            raise Forbidden(
                f"this broker follows {self._config.url}, and only there can be judged what the rights to some "
                "graphs allow: send the update there"
            )
        try:
            response = await self._sent(request, parent_headers() | ({"Priority": "u=6"} if bulk else {}))
        except httpx.HTTPError as error:
            raise EndpointError(f"the leader can't be reached: {error!r:.200}") from error
        except ClientError as error:
            raise EndpointError(f"there is no token for the leader: {error}") from error
        course = COURSE.get()
        if course is not None:
            course.done("leader", status=response.status_code)
        if not response.is_success:
            raise _refusal(response)
        created = response.status_code == 201
        sequence = response.headers.get(SEQUENCE)
        if sequence is None:
            return Updated(0, created)
        try:
            done = await self._follower.carried_out(int(sequence), self._config.timeout_s)
        except TimeoutError:
            raise DeadlineExceeded(
                f"the leader has carried it out as record {sequence}, which has not come here in "
                f"{self._config.timeout_s} s"
            ) from None
        return Updated(0, created) if done is None else Updated(done.notified, created, done.delta)

    async def _sent(self, request: Update | GraphWrite, headers: dict[str, str]) -> httpx.Response:
        if isinstance(request, GraphWrite):
            return await self._written(request, headers)
        if not request.using_graphs and not request.using_named_graphs:
            headers |= {"Content-Type": f"{SPARQL_UPDATE}; charset=utf-8"}
            return await self._http.post(self._update, content=request.sparql.encode(), headers=headers)
        form = {
            "update": request.sparql,
            "using-graph-uri": list(request.using_graphs),
            "using-named-graph-uri": list(request.using_named_graphs),
        }
        return await self._http.post(self._update, data=form, headers=headers)

    async def _written(self, write: GraphWrite, headers: dict[str, str]) -> httpx.Response:
        parameters = {"default": ""} if write.graph is None else {"graph": write.graph}
        content = None if write.edit is GraphEdit.DROP else write.triples.encode()
        if content is not None:
            headers |= {"Content-Type": "application/n-triples"}
        return await self._http.request(
            write.edit.value, self._graph_store, params=parameters, content=content, headers=headers
        )

    async def close(self) -> None:
        """Let go of the connections."""
        await self._http.aclose()


def _refusal(response: httpx.Response) -> BrokerError:
    try:
        document = json.loads(response.content)
        code, description = str(document["error"]), str(document["error_description"])
    except (ValueError, KeyError, TypeError):
        return EndpointError(f"the leader answered {response.status_code} {response.text[:200]}")
    kind: type[BrokerError] = Overloaded if response.status_code in {429, 503, 504} else RequestError
    error = kind(description, code=code)
    error.status = response.status_code
    return error
