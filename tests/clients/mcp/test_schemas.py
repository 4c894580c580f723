"""The schemas of the tools' arguments."""

from __future__ import annotations

import jsonschema
import pytest

from triplewire.clients.mcp.limits import Limits
from triplewire.clients.mcp.schemas import base_tools


@pytest.mark.parametrize("tool", base_tools(Limits(), read_only=False), ids=lambda tool: tool.name)
def test_schemas_are_valid_and_closed(tool):
    """By JSON Schema 2020-12; an argument that nobody knows is a mistake."""
    jsonschema.Draft202012Validator.check_schema(tool.input_schema)
    assert tool.input_schema["additionalProperties"] is False
    assert set(tool.input_schema["required"]) <= set(tool.input_schema["properties"])
    assert tool.title
    assert tool.annotations.open_world_hint is False


def test_limits_stand_in_the_schemas():
    """So that a model knows them before it asks."""
    tools = {
        tool.name: tool.input_schema["properties"]
        for tool in base_tools(Limits(rows=7, items=3), read_only=True)
    }
    assert tools["query"]["limit"]["maximum"] == tools["subscribe"]["limit"]["maximum"] == 7
    assert (tools["read_stream"]["limit"]["maximum"], tools["read_stream"]["limit"]["default"]) == (3, 3)
    assert tools["read_subscription"]["wait_s"]["maximum"] == Limits().wait_s
    assert "update" not in tools
