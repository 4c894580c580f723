"""What the settings of streams must be."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from triplewire.broker.config import Config, StreamConfig, load
from triplewire.broker.errors import ConfigError

STORED = ("streams.a.overlay=true", "streams.a.store_graph=urn:g", "relay.trackers=http://t")


@pytest.mark.parametrize("name", ["a", "a-b_c.d", "9", "events.v2", "publish", "stream"])
def test_names_are_segments_of_paths(name):
    """Whatever of these characters they are made of."""
    overrides = [f"streams.{name}.title=T"]
    assert load(environment={}, overrides=overrides).streams[name] == StreamConfig(title="T")


def test_the_default_is_one_stream():
    """Others add to it, and it can be left out."""
    assert Config().streams == {"events": StreamConfig()}
    both = load(
        environment={}, overrides=["streams.events.window_s=0.5", "streams.more.kind=publish"]
    ).streams
    assert both == {"events": StreamConfig(window_s=0.5), "more": StreamConfig()}
    assert load(environment={}, overrides=["streams.events.kind=none"]).streams["events"].kind == "none"


def test_the_environment_can_name_streams():
    """TRIPLEWIRE_STREAMS__NAME__KEY."""
    streams = load(environment={"TRIPLEWIRE_STREAMS__EVENTS__HISTORY_ITEMS": "7"}).streams
    assert streams["events"].history_items == 7


def test_a_table_and_a_text_in_one_place_are_refused():
    """By the environment, where both could be said."""
    environment = {"TRIPLEWIRE_SPARQL__PREFIXES": "a=urn:a", "TRIPLEWIRE_SPARQL__PREFIXES__B": "urn:b"}
    with pytest.raises(ConfigError, match=r"sparql\.prefixes\.b can't be set beside sparql\.prefixes"):
        load(environment=environment)
    del environment["TRIPLEWIRE_SPARQL__PREFIXES"]
    assert load(environment=environment).sparql.prefixes["b"] == "urn:b"


def test_a_file_has_tables(tmp_path):
    """With lists and bindings."""
    path = tmp_path / "broker.toml"
    path.write_text(
        '[streams.alarms]\nkind = "filter"\nof = ["events"]\nonly = ["event-type=alarm"]\n'
        '[streams.temperatures]\nkind = "subscription"\njsap = "x.jsap"\nid = "T"\nbindings = { room = "urn:1" }\n'
    )
    streams = load(path, environment={}).streams
    assert streams["alarms"].only == ("event-type=alarm",)
    assert streams["temperatures"].bindings == {"room": "urn:1"}
    assert set(streams) == {"events", "alarms", "temperatures"}


@pytest.mark.parametrize(
    ("overrides", "told"),
    [
        (["streams.a/b.kind=publish"], "streams.a/b: the name is part of URLs"),
        (["streams.streams.kind=publish"], "streams.streams: the name is part of URLs"),
        (["streams.secure.kind=publish"], "streams.secure: the name"),
        (["streams.a.kind=topic"], "streams.a.kind must be one of publish, none, subscription"),
        (["streams.a.colour=red"], "streams.a.colour is not a setting"),
        (["streams.a=publish"], "streams.a must be a table"),
        (["streams.a.window_s=-1"], "streams.a.window_s must not be negative"),
        (["streams.a.window_s=2", "streams.a.window_most_s=1"], "streams.a.window_s must not be more than"),
        (["streams.a.level=0"], "streams.a.level must be 1 to 9"),
        (["streams.a.level=10"], "streams.a.level must be 1 to 9"),
        (["streams.a.history_items=-1"], "streams.a.history_items must not be negative"),
        (["streams.a.history_bytes=0"], "streams.a.history_bytes must be at least 1"),
        (["streams.a.keep=true"], "streams.a.keep needs a directory: store.data"),
        (["streams.a.store_graph=graph"], "streams.a.store_graph must be an absolute IRI"),
        (["streams.a.store_graph=urn:a b"], "streams.a.store_graph must be an absolute IRI"),
        (
            ["streams.a.store_graph=urn:a", "follow.url=http://x", "follow.updates=refuse"],
            "streams.a.store_graph and follow.updates",
        ),
        (
            [*STORED, "store.data=d"],
            "streams.a.overlay and store_graph need keep where there is store.data",
        ),
        (["streams.a.kind=subscription"], "streams.a: a subscription needs query or jsap"),
        (
            ["streams.a.kind=subscription", "streams.a.jsap=x"],
            "streams.a.jsap and streams.a.id belong together",
        ),
        (
            ["streams.a.kind=subscription", "streams.a.query=x", "streams.a.jsap=x", "streams.a.id=y"],
            "streams.a.query and streams.a.jsap exclude each other",
        ),
        (["streams.a.kind=join"], "streams.a: a join needs of"),
        (["streams.a.kind=filter", "streams.a.of=events"], "streams.a: a filter needs only or python"),
        (["streams.a.kind=filter", "streams.a.only=source=x"], "streams.a: a filter needs of"),
        (["streams.a.kind=relay"], "streams.a: a relay needs url"),
        (
            ["streams.a.kind=relay", "streams.a.url=http://x/y", "streams.a.identity=i"],
            "streams.a.login and streams.a.identity belong together",
        ),
        (["streams.a.url=http://x/y"], "streams.a.url means nothing to a stream of the kind publish"),
        (
            ["streams.a.kind=join", "streams.a.of=events", "streams.a.query=x"],
            "streams.a.query means nothing",
        ),
        (["streams.a.kind=join", "streams.a.of=b"], "streams.a.of: there is no stream 'b'"),
        (
            ["streams.events.kind=none", "streams.a.kind=join", "streams.a.of=events"],
            "streams.a.of: there is no stream 'events'",
        ),
        (["streams.a.kind=join", "streams.a.of=a"], "streams.a.of: the stream would be made of itself"),
        (
            [
                "streams.a.kind=join",
                "streams.a.of=b",
                "streams.b.kind=join",
                "streams.b.of=c,events",
                "streams.c.kind=join",
                "streams.c.of=a",
            ],
            "of: the stream would be made of itself",
        ),
        (["stream.streams=0"], "streams: there are 1, and stream.streams = 0"),
        (["stream.unread=forget"], "stream.unread must be one of skip, close"),
        (["stream.consumers=0"], "stream.consumers must be at least 1"),
        (["stream.host=0.0.0.0"], "stream.host = '0.0.0.0' opens the broker to the network"),
    ],
)
def test_what_is_wrong_is_told_with_its_path(overrides, told):
    """The start stops."""
    with pytest.raises(ConfigError, match=re.escape(told)):
        load(environment={}, overrides=overrides)


@pytest.mark.parametrize(
    "others",
    [
        (),
        ("store.data=d", "streams.a.keep=true"),
        ("store.query_endpoint=http://s", "store.update_endpoint=http://s"),
    ],
)
def test_what_others_publish_is_stored_where_that_is_known_after_a_restart(others):
    """Or where nothing is, or nobody can say."""
    assert load(environment={}, overrides=[*STORED, *others]).streams["a"].overlay


def test_how_many_items_are_kept_is_known_by_itself():
    """0 is more for streams that other relays have."""
    streams = load(environment={}, overrides=[*STORED, "streams.b.history_items=5"]).streams
    assert [streams[name].kept_items for name in ("a", "b", "events")] == [32_768, 5, 2_048]


def test_a_diamond_is_no_circle():
    """Two ways from one stream to another."""
    overrides = [
        "streams.a.kind=join",
        "streams.a.of=events",
        "streams.b.kind=join",
        "streams.b.of=events",
        "streams.c.kind=join",
        "streams.c.of=a,b",
    ]
    assert set(load(environment={}, overrides=overrides).streams) == {"events", "a", "b", "c"}


def test_the_examples_in_the_shipped_file_are_right(tmp_path):
    """Without the comment signs before them they are settings."""
    shipped = (Path(__file__).parents[2] / "conf" / "broker.toml").read_text(encoding="utf-8")
    examples = shipped.partition("# Others are made of")[2].partition("[log]")[0]
    path = tmp_path / "broker.toml"
    path.write_text("\n".join(line.removeprefix("# ") for line in examples.splitlines()[1:] if line != "#"))
    assert set(load(path, environment={}).streams) == {"events", "hot", "alarms", "plant"}
