"""Language models' programs, for tests: the official client of the Model Context Protocol, over both transports."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any

import httpx2
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

PROGRAM = ("-P", "-m", "triplewire.clients", "mcp")


class Agent:
    """Calls tools and reads resources as JSON."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """What a tool gives; it must not fail."""
        result = await self.client.call_tool(tool, arguments)
        assert not result.is_error, result.content
        assert json.loads(result.content[0].text) == result.structured_content
        return result.structured_content

    async def refused(self, tool: str, **arguments: Any) -> str:
        """The error of a tool, which must fail."""
        result = await self.client.call_tool(tool, arguments)
        assert result.is_error, result.content
        return result.content[0].text

    async def read(self, uri: str) -> dict[str, Any]:
        """A resource."""
        return json.loads((await self.client.read_resource(uri)).contents[0].text)


@asynccontextmanager
async def over_stdio(*arguments: str, **client: Any) -> AsyncIterator[Agent]:
    """An agent that started `triplewire mcp` itself."""
    program = StdioServerParameters(command=sys.executable, args=[*PROGRAM, *arguments])
    async with Client(stdio_client(program), **client) as connected:
        yield Agent(connected)


@contextmanager
def listening(*arguments: str) -> Iterator[str]:
    """The URL of `triplewire mcp` on a free port; it must end well."""
    command = [sys.executable, *PROGRAM, "--transport", "http", "--port", "0", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            url = process.stdout.readline().split()
            assert url, process.stderr.read()
            assert process.stdout.readline() == "ready\n"
            yield url[1]
        finally:
            process.send_signal(signal.SIGTERM)
            errors = process.communicate(timeout=20)[1]
        assert process.returncode == 0, errors
        assert "Traceback" not in errors


@asynccontextmanager
async def over_http(url: str, token: str | None = None, **client: Any) -> AsyncIterator[Agent]:
    """An agent that brings a token."""
    headers = {"Authorization": f"Bearer {token}"} if token is not None else {}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=20) as http,
        Client(streamable_http_client(url, http_client=http), **client) as connected,
    ):
        yield Agent(connected)
