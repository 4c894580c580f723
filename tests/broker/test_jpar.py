"""SEPA's configuration files, of both of its eras."""

from __future__ import annotations

import json

import pytest

from triplewire.broker.config import Config, load
from triplewire.broker.errors import ConfigError

ENGINE = {
    "scheduler": {"queueSize": 100, "timeout": 3000},
    "processor": {
        "updateTimeout": 5000,
        "queryTimeout": 30000,
        "maxConcurrentRequests": 5,
        "reliableUpdate": True,
    },
    "spu": {"timeout": 5000},
    "gates": {
        "security": {"enabled": False, "type": "local", "tls": False},
        "paths": {
            "query": "/q",
            "update": "/u",
            "subscribe": "/s",
            "unsubscribe": "/unsubscribe",
            "register": "/oauth/register",
            "tokenRequest": "/oauth/token",
            "extensions": {"/echo": "a.Class"},
        },
        "ports": {"http": 8001, "ws": 9001},
    },
    "acl": {"enabled": False, "type": "dataset"},
}
ENDPOINT = {
    "host": "localhost",
    "sparql11protocol": {
        "protocol": "http",
        "port": 3030,
        "query": {"path": "/ds/query", "method": "POST", "format": "JSON"},
        "update": {"path": "ds/update ", "method": "URL_ENCODED_POST", "format": "JSON"},
    },
}


def write(tmp_path, document):
    path = tmp_path / "file.jpar"
    path.write_text(json.dumps(document))
    return path


@pytest.mark.parametrize("document", [ENGINE, {"parameters": ENGINE}], ids=["unwrapped", "wrapped"])
def test_an_engine_s_settings_are_read(tmp_path, document):
    """Milliseconds become seconds, paths and ports are taken over."""
    config = load(engine_jpar=write(tmp_path, document), environment={})
    assert (config.scheduler.queue_size, config.scheduler.timeout_s, config.scheduler.readers) == (
        100,
        3.0,
        5,
    )
    assert config.limits.query_s == 30.0
    assert (config.paths.query, config.paths.update, config.paths.subscribe) == ("/q", "/u", "/s")
    assert (config.http.port, config.websocket.port) == (8001, 9001)


@pytest.mark.parametrize("document", [ENDPOINT, {"parameters": ENDPOINT}], ids=["unwrapped", "wrapped"])
def test_an_endpoint_s_settings_are_read(tmp_path, document):
    """The two URLs and methods of a remote endpoint."""
    store = load(endpoint_jpar=write(tmp_path, document), environment={}).store
    assert store.query_endpoint == "http://localhost:3030/ds/query"
    assert store.update_endpoint == "http://localhost:3030/ds/update"
    assert (store.query_method, store.update_method) == ("POST", "URL_ENCODED_POST")


@pytest.mark.parametrize("protocol", ["jena-api", "jena_api"])
def test_an_in_memory_endpoint_is_the_embedded_store(tmp_path, protocol):
    """SEPA's default endpoint needs no remote one."""
    document = {"host": "in-memory", "sparql11protocol": {"protocol": protocol}}
    assert load(endpoint_jpar=write(tmp_path, document), environment={}) == Config()


def test_the_command_line_is_above_sepa_s_files(tmp_path):
    """What is said on the command line holds."""
    assert load(engine_jpar=write(tmp_path, ENGINE), environment={}, overrides=["http.port=7"]).http.port == 7


@pytest.mark.parametrize(
    "security",
    [
        {"gates": {"security": {"enabled": True}}},
        {"gates": {"security": {"tls": "true"}}},
        {"acl": {"enabled": True}},
    ],
)
def test_security_that_is_not_there_is_refused(tmp_path, security):
    """A broker that was told to be secure must not start open."""
    with pytest.raises(ConfigError, match="is true, and this broker has no such protection"):
        load(engine_jpar=write(tmp_path, security), environment={})


def test_an_unknown_member_is_passed_over_with_a_warning(tmp_path, caplog):
    """SEPA's files have members of many versions."""
    load(engine_jpar=write(tmp_path, {"scheduler": {"tokens": 3}}), environment={})
    assert "scheduler.tokens is not a setting of SEPA's" in caplog.text


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ([], "must be a JSON object"),
        ({"scheduler": {"timeout": "soon"}}, "scheduler.timeout must be a number"),
        ({"scheduler": {"queueSize": 0}}, "queue_size must be at least 1"),
    ],
)
def test_a_wrong_engine_file_is_refused(tmp_path, document, told):
    """With the place of what is wrong."""
    with pytest.raises(ConfigError, match=told):
        load(engine_jpar=write(tmp_path, document), environment={})


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ({}, "sparql11protocol must be an object"),
        ({"host": "h", "sparql11protocol": {"protocol": "ftp"}}, "must be http or https"),
        ({"host": "h", "sparql11protocol": {"protocol": "http", "query": {}}}, "query.path must be a text"),
    ],
)
def test_a_wrong_endpoint_file_is_refused(tmp_path, document, told):
    """With the place of what is wrong."""
    with pytest.raises(ConfigError, match=told):
        load(endpoint_jpar=write(tmp_path, document), environment={})
