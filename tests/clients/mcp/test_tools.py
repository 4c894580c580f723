"""Calls of tools: arguments and time."""

from __future__ import annotations

import asyncio
import json

import pytest

from triplewire.clients.mcp.addressing import Addressing
from triplewire.clients.mcp.errors import ToolRefused
from triplewire.clients.mcp.limits import Limits
from triplewire.clients.mcp.tools import Tools, as_text


class SlowCaller:
    """Whose broker never answers."""

    def __init__(self):
        self.link = self

    async def query(self, *_):
        await asyncio.Event().wait()


def tools(**limits):
    return Tools(Addressing("http://b", None, "http://b"), Limits(**limits), read_only=False)


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("query", {}, "query: 'sparql' is a required property"),
        ("query", {"sparql": 1}, "query: sparql: 1 is not of type 'string'"),
        ("query", {"sparql": "ASK {}", "limit": 201}, "query: limit: 201 is greater than the maximum of 200"),
        ("query", {"sparql": "ASK {}", "rows": 1}, "query: Additional properties are not allowed"),
        ("read_stream", {"stream": ""}, "read_stream: stream: "),
        ("update", {"sparql": "é" * 60}, "update: sparql has 120 bytes, more than the 100 allowed"),
        ("nothing", {}, "there is no tool 'nothing'"),
    ],
)
async def test_wrong_arguments_are_named(name, arguments, expected):
    """Before anything is asked of the broker."""
    with pytest.raises(ToolRefused, match=f"^{expected}"):
        await tools(sparql_bytes=100).call(None, name, arguments)


async def test_no_call_takes_longer_than_is_allowed():
    """Whatever the broker does."""
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(tools(time_s=0.05).call(SlowCaller(), "query", {"sparql": "ASK {}"}), 5)


def test_texts_stay_as_they_are():
    """Letters of any language cost no escapes."""
    assert as_text({"rows": [["ü"]]}) == '{"rows":[["ü"]]}'
    assert json.loads(as_text({"a": None})) == {"a": None}
