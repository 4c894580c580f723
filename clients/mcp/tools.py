"""What the tools do, by name: checks the arguments, asks the broker as the caller, and gives a JSON object."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import jsonschema  # type: ignore[import-untyped]

from triplewire.broker.model import Query

from .errors import ToolRefused
from .explaining import explained
from .profile_tools import ProfileTool, profile_tools
from .schemas import base_tools

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from mcp.types import Tool

    from triplewire.broker.model import Update
    from triplewire.clients.application import Addressed

    from .addressing import Addressing
    from .callers import Caller
    from .limits import Limits

    Work = Callable[[Caller, dict[str, Any]], Awaitable[dict[str, Any]]]

_LONGEST_MISTAKE = 300


class Tools:
    """The tools of one broker, and of a profile where there is one."""

    def __init__(self, addressing: Addressing, limits: Limits, *, read_only: bool) -> None:
        self._addressing = addressing
        self._limits = limits
        base = base_tools(limits, read_only=read_only)
        profile = addressing.application.profile if addressing.application is not None else None
        names = [tool.name for tool in base]
        own = profile_tools(profile, limits, names, read_only=read_only) if profile is not None else []
        self.listed: list[Tool] = [*base, *(each.tool for each in own)]
        self._own = {each.tool.name: each for each in own}
        self._checks = {tool.name: jsonschema.Draft202012Validator(tool.input_schema) for tool in self.listed}
        self._work: dict[str, Work] = {
            "query": self._query,
            "update": self._update,
            "subscribe": self._subscribe,
            "read_subscription": self._read_subscription,
            "unsubscribe": self._unsubscribe,
            "explain": self._explain,
            "list_streams": self._list_streams,
            "read_stream": self._read_stream,
        }

    async def call(self, caller: Caller, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """What the tool gives.

        Raises:
            ToolRefused: there is no such tool, or the arguments are none of it.
            ClientError: the broker refused, or is not there.
            ProfileError: a value is none of its variable.
            TimeoutError: it took too long.
        """
        if name not in self._checks:
            raise ToolRefused(f"there is no tool {name[:100]!r}; there are {', '.join(self._checks)}")
        given = dict(arguments)
        self._check(name, given)
        # Waiting for a change is what was asked for, and no delay.
        async with asyncio.timeout(self._limits.time_s + given.get("wait_s", 0)):
            own = self._own.get(name)
            return await (
                self._work[name](caller, given) if own is None else self._profile(caller, own, given)
            )

    def _check(self, name: str, given: dict[str, Any]) -> None:
        mistake = jsonschema.exceptions.best_match(self._checks[name].iter_errors(given))
        if mistake is not None:
            where = ".".join(map(str, mistake.absolute_path))
            raise ToolRefused(f"{name}: {where and f'{where}: '}{mistake.message[:_LONGEST_MISTAKE]}")
        for argument, value in given.items():
            length = len(value.encode("utf-8", "replace")) if isinstance(value, str) else 0
            if length > self._limits.sparql_bytes:
                raise ToolRefused(
                    f"{name}: {argument} has {length} bytes, more than the {self._limits.sparql_bytes} allowed"
                )

    async def _query(self, caller: Caller, given: dict[str, Any]) -> dict[str, Any]:
        return await caller.link.query(self._addressing.query(given["sparql"]), self._rows(given))

    async def _update(self, caller: Caller, given: dict[str, Any]) -> dict[str, Any]:
        return await self._made(caller, self._addressing.update(given["sparql"]))

    async def _subscribe(self, caller: Caller, given: dict[str, Any]) -> dict[str, Any]:
        followed = await caller.subscribe(self._addressing.subscription(given["sparql"]))
        return followed.first(self._rows(given))

    async def _read_subscription(self, caller: Caller, given: dict[str, Any]) -> dict[str, Any]:
        followed = caller.find(given["subscription"])
        since = given.get("since")
        if given.get("wait_s"):
            caller.listens(followed.name, 1)
            try:
                await followed.wait(since, given["wait_s"])
            finally:
                caller.listens(followed.name, -1)
        return followed.read(since, self._rows(given))

    async def _unsubscribe(self, caller: Caller, given: dict[str, Any]) -> dict[str, Any]:
        await caller.unsubscribe(given["subscription"])
        return {"unsubscribed": True}

    async def _explain(self, _: Caller, given: dict[str, Any]) -> dict[str, Any]:
        # With the profile's prefixes, where there is a profile.
        query = self._addressing.query(given["sparql"]).operation
        return await asyncio.to_thread(explained, Query(query.sparql))

    async def _list_streams(self, caller: Caller, _: dict[str, Any]) -> dict[str, Any]:
        return {"streams": await caller.link.streams(self._addressing.streams)}

    async def _read_stream(self, caller: Caller, given: dict[str, Any]) -> dict[str, Any]:
        count = given.get("limit", min(10, self._limits.items))
        return await caller.link.items(
            self._addressing.streams, given["stream"], count, given.get("last_seen")
        )

    async def _profile(self, caller: Caller, own: ProfileTool, given: dict[str, Any]) -> dict[str, Any]:
        values = {name: given[name] for name in own.entry.forced_bindings if name in given}
        limit = self._limits.rows if "limit" in own.entry.forced_bindings else self._rows(given)
        match own.kind:
            case "query":
                return await caller.link.query(self._addressing.query(own.entry.id, values), limit)
            case "subscribe":
                to = self._addressing.subscription(own.entry.id, values)
                return (await caller.subscribe(to)).first(limit)
            case "update":
                return await self._made(caller, self._addressing.update(own.entry.id, values))

    async def _made(self, caller: Caller, to: Addressed[Update]) -> dict[str, Any]:
        await caller.link.update(to)
        return {"updated": True}

    def _rows(self, given: dict[str, Any]) -> int:
        rows: int = given.get("limit", self._limits.rows)
        return rows


def as_text(document: dict[str, Any]) -> str:
    """An object as JSON, as it is told beside itself to clients that know texts only."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))
