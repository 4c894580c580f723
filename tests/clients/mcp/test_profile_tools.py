"""A profile's operations as tools: names, types, what is destroyed; and used against a real broker."""

from __future__ import annotations

import json
from urllib.parse import urlsplit

import pytest

from tests.support.agents import over_stdio
from tests.support.running import RunningBroker
from triplewire.clients.mcp.limits import Limits
from triplewire.clients.mcp.profile_tools import profile_tools
from triplewire.jsap.profile import Profile

DOCUMENT = {
    "host": "127.0.0.1",
    "namespaces": {"ex": "http://example.org/"},
    "updates": {
        "MEASURE": {
            "sparql": "INSERT DATA { ?sensor ex:value ?value ; ex:good ?good }",
            "forcedBindings": {
                "sensor": {"type": "uri", "value": "ex:one"},
                "value": {"type": "literal", "datatype": "xsd:decimal"},
                "good": {"type": "literal", "datatype": "xsd:boolean", "value": "true"},
            },
        },
        "FORGET": {
            "sparql": "# INSERT\nDELETE WHERE { ?sensor ?p ?o }",
            "forcedBindings": {"sensor": {"type": "uri"}},
        },
    },
    "queries": {
        "VALUES of": {
            "sparql": "SELECT ?value { ?sensor ex:value ?value FILTER(?value >= ?least) }",
            "forcedBindings": {
                "sensor": {"type": "uri", "value": "ex:one"},
                "least": {"type": "literal", "datatype": "xsd:integer", "value": 0},
            },
        },
        "limited": {
            "sparql": "SELECT ?limit { ?s ex:limit ?limit }",
            "forcedBindings": {"limit": {"type": "literal", "language": "en", "value": "much"}},
        },
    },
}


def made(*, taken=(), read_only=False):
    profile = Profile.of(DOCUMENT)
    return {each.tool.name: each for each in profile_tools(profile, Limits(), taken, read_only=read_only)}


def test_each_query_is_asked_and_followed_and_each_update_made():
    """Names have no characters that clients refuse, and no name is there twice."""
    assert set(made()) == {
        "query_VALUES_of",
        "subscribe_VALUES_of",
        "query_limited",
        "subscribe_limited",
        "update_MEASURE",
        "update_FORGET",
    }
    assert "query_limited_2" in made(taken=["query_limited"])
    assert not any(name.startswith("update") for name in made(read_only=True))


def test_a_name_is_never_too_long():
    """Longer ones are cut, and stay different."""
    document = {"queries": {f"{'q' * 100}{end}": {"sparql": "ASK {}"} for end in "ab"}}
    names = [each.tool.name for each in profile_tools(Profile.of(document), Limits(), (), read_only=False)]
    assert len(set(names)) == 4
    assert max(map(len, names)) == 64


def test_forced_bindings_are_typed_arguments():
    """Datatypes become JSON's types; what has a default is not required."""
    schema = made()["update_MEASURE"].tool.input_schema
    types = {name: argument["type"] for name, argument in schema["properties"].items()}
    assert types == {"sensor": "string", "value": "number", "good": "boolean"}
    assert schema["required"] == ["value"]
    assert schema["properties"]["sensor"]["default"] == "ex:one"
    assert "ex:" in schema["properties"]["sensor"]["description"]
    assert "default" not in schema["properties"]["good"]  # "true" is a text, and no boolean of JSON
    least = made()["query_VALUES_of"].tool.input_schema["properties"]["least"]
    assert (least["type"], least["default"]) == ("integer", 0)


def test_a_variable_called_limit_is_the_profiles():
    """It is not the number of rows."""
    limit = made()["query_limited"].tool.input_schema["properties"]["limit"]
    assert limit["description"] == "A text in the language en."


def test_only_updates_that_remove_are_destructive():
    """What a comment says does not count."""
    tools = made()
    assert not tools["update_MEASURE"].tool.annotations.destructive_hint
    assert tools["update_FORGET"].tool.annotations.destructive_hint
    assert tools["query_limited"].tool.annotations.read_only_hint


@pytest.fixture(scope="module")
def broker():
    running = RunningBroker.start()
    yield running
    running.stop()


async def test_an_agent_uses_the_applications_tools(broker, tmp_path):
    """With the profile's own addresses: make, ask, follow, and be told what is wrong with a value."""
    file = tmp_path / "sensors.jsap"
    document = DOCUMENT | {
        "sparql11protocol": {
            "protocol": "http",
            "port": urlsplit(broker.http).port,
            "query": {"path": "/query", "method": "POST", "format": "JSON"},
            "update": {"path": "/update", "method": "URL_ENCODED_POST", "format": "JSON"},
        },
        "sparql11seprotocol": {
            "protocol": "ws",
            "availableProtocols": {"ws": {"port": urlsplit(broker.ws).port, "path": "/subscribe"}},
        },
    }
    file.write_text(json.dumps(document))
    async with over_stdio("--jsap", str(file)) as agent:
        first = await agent.call("subscribe_VALUES_of", least=5)
        assert first["rows"] == []
        for value in (1.5, 7.25):
            await agent.call("update_MEASURE", value=value)
        read = await agent.call("read_subscription", subscription=first["subscription"], wait_s=5)
        assert [change["added"] for change in read["changes"]] == [[["7.25"]]]
        assert (await agent.call("query_VALUES_of"))["count"] == 2
        assert (await agent.call("query", sparql="ASK { ex:one ex:value 1.5 }"))["boolean"]
        assert "value: 'x' is not of type 'number'" in await agent.refused("update_MEASURE", value="x")
        said = await agent.refused("update_MEASURE", value=1, sensor="no iri")
        assert "The profile does not allow that: updates.MEASURE.forcedBindings.sensor" in said
        await agent.call("update_FORGET", sensor="ex:one")
        assert (await agent.call("query_VALUES_of"))["count"] == 0
