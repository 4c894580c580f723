"""The server: requests of the protocol become calls of tools and readings of subscriptions, each as its caller."""

from __future__ import annotations

import logging
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

import anyio
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp.types import (
    INVALID_PARAMS,
    CallToolResult,
    EmptyResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextContent,
    TextResourceContents,
)

from .callers import Callers
from .errors import ToolRefused, told
from .followed import SCHEME
from .listening import Listening
from .tools import Tools, as_text

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mcp.server.context import ServerRequestContext
    from mcp.types import (
        CallToolRequestParams,
        PaginatedRequestParams,
        ReadResourceRequestParams,
        SubscribeRequestParams,
        SubscriptionsListenRequestParams,
        SubscriptionsListenResult,
        UnsubscribeRequestParams,
    )

    from triplewire.clients.authorization import Authorization
    from triplewire.clients.settings import ClientSettings

    from .addressing import Addressing
    from .callers import Caller
    from .limits import Limits

    Context = ServerRequestContext[Any]

logger = logging.getLogger("triplewire.clients.mcp")

INSTRUCTIONS = (
    "A SPARQL event broker: an RDF dataset that is asked with `query`, changed with `update`, and followed with "
    "`subscribe`, which tells exactly which rows of an answer were added and removed by each change. Look at what "
    "there is before you write a query, and use LIMIT."
)
_JSON = "application/json"


class BrokerServer:
    """One broker as an MCP server."""

    def __init__(
        self,
        addressing: Addressing,
        settings: ClientSettings,
        authorization: Authorization | None,
        limits: Limits,
        *,
        read_only: bool = False,
    ) -> None:
        self.limits = limits
        self.has_credentials = authorization is not None  # for callers that bring no token
        self.tools = Tools(addressing, limits, read_only=read_only)
        self._listening = Listening(limits)
        self._callers = Callers(settings, authorization, limits, self._listening.publish)
        self.server: Server[None] = Server(
            "triplewire",
            version=version("triplewire"),
            title="Triplewire",
            instructions=INSTRUCTIONS,
            lifespan=self._lifespan,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
            on_read_resource=self._read_resource,
            on_subscribe_resource=self._subscribe_resource,
            on_unsubscribe_resource=self._unsubscribe_resource,
            on_subscriptions_listen=self._listen,
        )

    def goodbye(self) -> None:
        """End the streams of updates, so that clients hear of it."""
        self._listening.close()

    async def close(self) -> None:
        """End the streams of updates, every subscription and every connection."""
        self.goodbye()
        await self._callers.close()

    @asynccontextmanager
    async def _lifespan(self, _: Server[None]) -> AsyncIterator[None]:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._callers.tidy)
            try:
                yield
            finally:
                tasks.cancel_scope.cancel()
                with anyio.move_on_after(5, shield=True):
                    await self.close()

    async def _list_tools(self, _: Context, __: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=self.tools.listed)

    async def _call_tool(self, ctx: Context, params: CallToolRequestParams) -> CallToolResult:
        try:
            caller = self._caller(ctx)
            caller.calls += 1
            try:
                document = await self.tools.call(caller, params.name, params.arguments or {})
            finally:
                caller.calls -= 1
        except Exception as error:  # noqa: BLE001 - told as the protocol has it, ours without details
            return CallToolResult(content=[TextContent(text=_words(error))], is_error=True)
        return CallToolResult(content=[TextContent(text=as_text(document))], structured_content=document)

    async def _list_resources(self, ctx: Context, _: PaginatedRequestParams | None) -> ListResourcesResult:
        return ListResourcesResult(
            resources=[
                Resource(
                    uri=followed.uri,
                    name=followed.name,
                    title="The answer to a followed query",
                    description=followed.sparql[:1000],
                    mime_type=_JSON,
                )
                for followed in self._known(ctx).followed
            ]
        )

    async def _list_templates(
        self, _: Context, __: PaginatedRequestParams | None
    ) -> ListResourceTemplatesResult:
        template = ResourceTemplate(
            uri_template=f"{SCHEME}{{subscription}}{{?since}}",
            name="subscription",
            title="The answer to a followed query",
            description="What has changed since the last reading, or behind change `since`, and the present answer.",
            mime_type=_JSON,
        )
        return ListResourceTemplatesResult(resource_templates=[template])

    async def _read_resource(self, ctx: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        try:
            name, since = _subscription(params.uri)
            document = self._known(ctx).find(name).read(since, self.limits.rows)
        except ToolRefused as error:
            raise MCPError(INVALID_PARAMS, str(error), {"uri": params.uri}) from error
        contents = TextResourceContents(uri=params.uri, mime_type=_JSON, text=as_text(document))
        return ReadResourceResult(contents=[contents])

    async def _subscribe_resource(self, ctx: Context, params: SubscribeRequestParams) -> EmptyResult:
        caller = self._known(ctx)
        try:
            followed = caller.find(params.uri)
        except ToolRefused as error:
            raise MCPError(INVALID_PARAMS, str(error), {"uri": params.uri}) from error
        self._listening.add(followed.uri, ctx.session)
        if ctx.request is None:
            # It listens as long as it is there.  Over HTTP nothing tells when a session of these revisions is gone.
            caller.keep(followed.name)
        return EmptyResult()

    async def _unsubscribe_resource(self, ctx: Context, params: UnsubscribeRequestParams) -> EmptyResult:
        if any(followed.uri == params.uri for followed in self._known(ctx).followed):
            self._listening.remove(params.uri)
        return EmptyResult()

    async def _listen(
        self, ctx: Context, params: SubscriptionsListenRequestParams
    ) -> SubscriptionsListenResult:
        return await self._listening.listen(ctx, params, self._known(ctx))

    def _known(self, ctx: Context) -> Caller:
        try:
            return self._caller(ctx)
        except ToolRefused as error:
            raise MCPError(INVALID_PARAMS, str(error)) from error

    def _caller(self, ctx: Context) -> Caller:
        header = None if ctx.request is None else ctx.request.headers.get("authorization")
        return self._callers.of(None if header is None else _bearer(header))


def _bearer(header: str) -> str:
    """The token of an Authorization header (RFC 6750, 2.1)."""
    scheme, _, token = header.partition(" ")
    token = token.strip()
    if (
        scheme.lower() != "bearer"
        or not token
        or not (token.isascii() and token.isprintable())
        or " " in token
    ):
        raise ToolRefused("the Authorization header must be `Bearer` and a token of the broker")
    return token


def _subscription(uri: str) -> tuple[str, int | None]:
    """The id in a resource's URI, and its `since`."""
    parts = urlsplit(uri)
    name = uri.partition("?")[0]
    if not name.startswith(SCHEME):
        raise ToolRefused(f"expected a URI like {SCHEME}ID, not {uri[:200]!r}")
    since = dict(parse_qsl(parts.query)).get("since")
    if since is None:
        return name, None
    if not (since.isascii() and since.isdigit() and len(since) < 16):
        raise ToolRefused(f"since: expected a number, not {since[:50]!r}")
    return name, int(since)


def _words(error: Exception) -> str:
    words = told(error)
    if words is None:
        logger.error("! a tool failed", exc_info=error)
        return "The server failed; its log says why."
    return words
