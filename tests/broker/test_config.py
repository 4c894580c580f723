"""The settings: their defaults, their layers, and what is refused."""

from __future__ import annotations

import re
import tomllib
from dataclasses import asdict
from pathlib import Path

import pytest

from triplewire.broker.config import Config, load
from triplewire.broker.errors import ConfigError

ROOT = Path(__file__).parents[2]
SHIPPED = ROOT / "conf" / "broker.toml"


def listed(value):
    if isinstance(value, dict):
        return {key: listed(part) for key, part in value.items()}
    return list(value) if isinstance(value, tuple) else value


def test_the_shipped_file_is_every_setting_with_its_default():
    """conf/broker.toml is complete and true."""
    assert tomllib.loads(SHIPPED.read_text(encoding="utf-8")) == listed(asdict(Config()))


def test_every_setting_is_used():
    """A setting that nothing reads is a promise that is not kept."""
    code = "\n".join(
        path.read_text(encoding="utf-8")
        for folder in ("broker", "gates", "spu")
        for path in (ROOT / folder).rglob("*.py")
        if path.name not in {"config.py", "jpar.py"}
    )
    sections = asdict(Config())
    sections["streams"] = sections["streams"]["events"]
    for section, settings in sections.items():
        for name in settings:
            assert re.search(rf"\.{name}\b", code), f"{section}.{name} is read nowhere"


def test_the_layers_in_their_order(tmp_path):
    """Defaults, then the file, then the environment, then the command line."""
    path = tmp_path / "broker.toml"
    path.write_text("[http]\nport = 1\nkeep_alive_s = 7\n[scheduler]\nqueue_size = 5\n")
    environment = {"TRIPLEWIRE_HTTP__PORT": "2", "TRIPLEWIRE_SCHEDULER__QUEUE_SIZE": "6", "HOME": "/"}
    config = load(path, environment=environment, overrides=["http.port=3"])
    assert (config.http.keep_alive_s, config.http.port, config.scheduler.queue_size) == (7, 3, 6)
    assert config.websocket.port == 9000


def test_declared_prefixes_add_to_the_default_ones(tmp_path):
    """Nobody means to lose rdf: by declaring ex:."""
    path = tmp_path / "broker.toml"
    path.write_text("[sparql.prefixes]\nex = 'http://example.org/'\n")
    prefixes = load(path, environment={}).sparql.prefixes
    assert prefixes["ex"] == "http://example.org/"
    assert "rdf" in prefixes


@pytest.mark.parametrize(
    ("override", "value"),
    [
        ("sparql.service_hosts=a.org, b.org", ("a.org", "b.org")),
        ("websocket.compression=false", False),
        ("limits.query_s=2", 2.0),
        ("store.data=x", "x"),
    ],
)
def test_texts_become_the_setting_s_kind(override, value):
    """The environment and the command line have texts only."""
    path = override.partition("=")[0].split(".")
    config = load(environment={}, overrides=[override])
    assert getattr(getattr(config, path[0]), path[1]) == value


@pytest.mark.parametrize(
    ("overrides", "told"),
    [
        (["scheduler.queue=1"], "scheduler.queue is not a setting; there are bulk_wait_s, queue_size"),
        (["schedule.queue_size=1"], "schedule is not a setting"),
        (["scheduler.queue_size=many"], "scheduler.queue_size must be a whole number"),
        (["scheduler.queue_size=0"], "scheduler.queue_size must be at least 1"),
        (["limits.query_s=-1"], "limits.query_s must not be negative"),
        (["websocket.compression=perhaps"], "websocket.compression must be true or false"),
        (["paths.query=query"], "paths.query must start with /"),
        (["nonsense"], "expected section.key=value"),
        (["store.query_method=PUT"], "store.query_method must be one of"),
        (["store.query_endpoint=http://x"], "belong together"),
        (
            ["store.data=x", "store.query_endpoint=http://x", "store.update_endpoint=http://x"],
            "exclude each other",
        ),
        (["log.level=LOUD"], "log.level must be one of"),
    ],
)
def test_a_wrong_setting_is_refused_by_its_path(overrides, told):
    """The start stops with the path of what is wrong."""
    with pytest.raises(ConfigError, match=re.escape(told)):
        load(environment={}, overrides=overrides)


def test_an_unknown_environment_setting_is_refused():
    """A typing error in the environment is as wrong as one in the file."""
    with pytest.raises(ConfigError, match=r"http\.prot is not a setting"):
        load(environment={"TRIPLEWIRE_HTTP__PROT": "1"})


@pytest.mark.parametrize("text", ["[http", "http = 1", "[http]\nport = '1x'", "[http]\nport = true"])
def test_a_broken_file_is_refused(tmp_path, text):
    """Syntax and kinds are checked before anything starts."""
    path = tmp_path / "broker.toml"
    path.write_text(text)
    with pytest.raises(ConfigError):
        load(path, environment={})


def test_a_missing_file_is_refused(tmp_path):
    """--config names a file that must be there."""
    with pytest.raises(ConfigError, match=r"absent\.toml"):
        load(tmp_path / "absent.toml", environment={})
