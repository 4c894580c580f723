"""The streams of a broker."""

from __future__ import annotations

import asyncio

import pytest
from support.carriers import FakeCarrier
from support.scheduling import Running
from support.stepped import item
from support.streams import kept, until

from triplewire.broker.config import (
    Config,
    LimitsConfig,
    SecurityConfig,
    StoreConfig,
    StreamConfig,
    StreamGateConfig,
)
from triplewire.broker.errors import (
    ConfigError,
    Forbidden,
    MalformedRequest,
    NotFound,
    RequestError,
    ShuttingDown,
)
from triplewire.broker.model import Update
from triplewire.broker.overlay_config import RelayConfig
from triplewire.gates.stream.hub import Hub
from triplewire.gates.stream.stream import FOLDER


@pytest.fixture
async def broker():
    made = Running()
    yield made
    await made.scheduler.close()


@pytest.fixture
async def hub_of(broker):
    hubs = []

    def make(data="", security=False, most=1000, **streams):
        config = Config(
            streams=streams,
            store=StoreConfig(data=str(data)),
            stream=StreamGateConfig(streams=most),
            limits=LimitsConfig(),
            security=SecurityConfig(enabled=security),
        )
        hubs.append(Hub(config, broker.scheduler, broker.scheduler))
        hubs[-1].open()
        return hubs[-1]

    yield make
    for hub in hubs:
        await hub.close()


async def test_streams_of_every_kind(hub_of, broker):
    """In whatever order they are named; into those that have their items from elsewhere nobody publishes."""
    hub = hub_of(
        alarms=StreamConfig(kind="filter", of=("both",), only=("event-type=alarm",)),
        both=StreamConfig(kind="join", of=("events", "more")),
        events=StreamConfig(),
        more=StreamConfig(),
        answers=StreamConfig(kind="subscription", query="SELECT ?v { ?s <urn:v> ?v }"),
        elsewhere=StreamConfig(kind="relay", url="http://127.0.0.1:9/events"),
        off=StreamConfig(kind="none"),
    )
    assert set(hub.feeds) == {"alarms", "both", "events", "more", "answers", "elsewhere"}
    await asyncio.sleep(0)
    await hub.feeds["events"].publish([item("e1"), item("e2", event_type="alarm")], "us")
    await hub.feeds["more"].publish([item("m1", event_type="alarm")], "us")
    await until(lambda: len(hub.feeds["alarms"].history) == 2 and len(hub.feeds["answers"].history) == 1)
    assert sorted(kept(hub.feeds["both"])) == ["e1", "e2", "m1"]
    for name in ("alarms", "both", "answers", "elsewhere"):
        with pytest.raises(Forbidden, match="nobody publishes"):
            await hub.feeds[name].publish([item("x")], "us")
    await broker.scheduler.submit(Update("INSERT DATA { <urn:a> <urn:v> 1 }"))
    await until(lambda: len(hub.feeds["answers"].history) == 2)


async def test_a_stream_may_feed_the_store(hub_of, broker):
    """Whatever its kind; and a subscription may be fed by that."""
    hub = hub_of(
        events=StreamConfig(store_graph="urn:g"),
        alarms=StreamConfig(kind="filter", of=("events",), only=("event-type=alarm",), store_graph="urn:h"),
    )
    await asyncio.sleep(0)
    await hub.feeds["events"].publish(
        [item("e1", b"<urn:a> <urn:v> 1 ."), item("e2", b"<urn:a> <urn:v> 2 .", event_type="alarm")], "us"
    )
    await until(lambda: hub.health()["stored"] == 3)
    rows = await broker.whole("SELECT ?g ?o { GRAPH ?g { ?s <urn:v> ?o } }")
    assert sorted((graph.value, value.value) for graph, value in rows) == [
        ("urn:g", "1"),
        ("urn:g", "2"),
        ("urn:h", "2"),
    ]
    told = hub.health()["of"]
    assert (told["events"]["stored"], told["alarms"]["stored"], told["events"]["store_behind"]) == (2, 1, 0)


async def test_what_is_kept_is_there_after_a_restart(hub_of, tmp_path):
    """With the stream's own id; numbers go on."""
    settings = StreamConfig(keep=True)
    hub = hub_of(data=tmp_path, events=settings)
    await hub.feeds["events"].publish([item("e1"), item("e2")], "us")
    source_id = hub.feeds["events"].source_id
    await hub.close()
    assert (tmp_path / FOLDER).is_dir()
    again = hub_of(data=tmp_path, events=settings)
    assert kept(again.feeds["events"]) == ["e1", "e2"]
    assert again.feeds["events"].source_id == source_id
    assert (await again.feeds["events"].publish([item("e3")], "us")).last == 3


async def test_at_the_end_all_is_passed_on(hub_of, broker):
    """To streams that are made of others and to the store; then consumers are told."""
    hub = hub_of(events=StreamConfig(), copy=StreamConfig(kind="join", of=("events",), store_graph="urn:g"))
    copy = hub.feeds["copy"]
    ended = []
    copy.when_closed(lambda: ended.append(kept(copy)))
    await asyncio.sleep(0)
    await hub.feeds["events"].publish(
        [item(f"e{number}", b"<urn:a> <urn:v> %d ." % number) for number in range(300)], "us"
    )
    await hub.close()
    assert [len(each) for each in ended] == [300]
    assert hub.feeds == {}
    rows = await broker.whole("SELECT (COUNT(*) AS ?n) { GRAPH <urn:g> { ?s ?p ?o } }")
    assert rows[0][0].value == "300"
    with pytest.raises(ShuttingDown):
        hub.add("late", StreamConfig())


async def test_streams_come_and_go_at_run_time(hub_of):
    """Those who serve them are told."""
    hub = hub_of(events=StreamConfig())
    changes = []
    hub.when_changed(lambda: changes.append(set(hub.feeds)))
    hub.add("alarms", StreamConfig(kind="filter", of=("events",), only=("event-type=alarm",)))
    alarms = hub.feeds["alarms"]
    await asyncio.sleep(0)
    await hub.feeds["events"].publish([item("e1", event_type="alarm")], "us")
    await until(lambda: kept(alarms) == ["e1"])
    with pytest.raises(RequestError, match="alarms is made of events"):
        await hub.remove("events")
    await hub.remove("alarms")
    assert alarms.closed
    await hub.remove("events")
    with pytest.raises(NotFound):
        await hub.remove("events")
    assert changes == [{"events", "alarms"}, {"events"}, set()]


@pytest.mark.parametrize(
    ("name", "settings", "told"),
    [
        ("events", {}, "there is a stream events already"),
        ("a/b", {}, "the name is part of URLs"),
        ("streams", {}, "the name is part of URLs"),
        ("a", {"kind": "none"}, "streams.a"),
        ("a", {"kind": "join", "of": ("b",)}, "there is no stream 'b'"),
        ("a", {"keep": True}, "streams.a.keep"),
        ("a", {"kind": "filter", "of": ("events",), "python": "os:getcwd"}, "in the settings only"),
        ("a", {"kind": "subscription", "jsap": "/etc/passwd", "id": "x"}, "in the settings only"),
        ("a", {"kind": "relay", "url": "http://x/y", "ca": "/etc/passwd"}, "in the settings only"),
        ("a", {"kind": "relay", "url": "http://x/y"}, "nobody has to say who they are"),
        ("a", {"kind": "filter", "of": ("events",), "only": ("x",)}, "expected kind=value"),
    ],
)
async def test_what_can_t_be_made_is_refused(hub_of, name, settings, told):
    """As an error of the request's, and nothing is left of it."""
    hub = hub_of(events=StreamConfig())
    with pytest.raises(RequestError, match=told):
        hub.add(name, StreamConfig(**settings))
    assert set(hub.feeds) == {"events"}


async def test_where_clients_are_known_others_may_be_followed(hub_of):
    """By an administrator."""
    hub = hub_of(security=True, events=StreamConfig())
    hub.add("a", StreamConfig(kind="relay", url="http://127.0.0.1:9/y"))
    await until(lambda: hub.health()["of"]["a"]["trouble"])


async def test_there_are_so_many_at_most(hub_of):
    """stream.streams of them."""
    hub = hub_of(most=2, events=StreamConfig())
    hub.add("a", StreamConfig())
    with pytest.raises(MalformedRequest, match=r"stream\.streams"):
        hub.add("b", StreamConfig())


async def test_what_is_wrong_in_the_settings_stops_the_start(hub_of):
    """With its path."""
    with pytest.raises(ConfigError, match=r"streams\.a\.url"):
        hub_of(a=StreamConfig(kind="relay", url="nonsense"))


async def test_what_feeds_a_stream_is_begun_again(hub_of, monkeypatch):
    """Whatever happens to it; the log has it."""
    hub = hub_of(events=StreamConfig(), copy=StreamConfig(kind="join", of=("events",)))
    monkeypatch.setattr("triplewire.gates.stream.hub._AGAIN_S", 0.01)
    source = hub._held["copy"].source
    passes, failing = source._passes, [True]

    def fail_once(entry):
        if failing:
            raise ZeroDivisionError(failing.pop())
        return passes(entry)

    source._passes = fail_once
    await asyncio.sleep(0)
    await hub.feeds["events"].publish([item("e1")], "us")
    await until(lambda: not failing)
    await hub.feeds["events"].publish([item("e2")], "us")
    await until(lambda: kept(hub.feeds["copy"]) == ["e1", "e2"])


@pytest.fixture
async def carried(broker):
    """A hub whose streams `news` and `more` are carried, `more` into the store, and its carrier."""
    config = Config(
        relay=RelayConfig(trackers=("http://127.0.0.1:9",)),
        streams={
            "news": StreamConfig(overlay=True),
            "more": StreamConfig(overlay=True, store_graph="urn:g"),
            "alone": StreamConfig(),
        },
    )
    hub, carrier = Hub(config, broker.scheduler, broker.scheduler), FakeCarrier()
    hub.open(carrier)
    yield hub, carrier
    await hub.close()


async def test_a_stream_that_others_have_as_well(carried, broker):
    """What is published here is carried; what comes is stored as well; what is stored is always followed."""
    hub, carrier = carried
    assert set(carrier.sinks) == {"news", "more"}
    assert carrier.told == [("more", 1)]
    assert [hub.feeds[name].sign_of_life_s for name in ("news", "more", "alone")] == [11, 11, 301]
    await hub.feeds["more"].publish([item("mine")], "us")
    await hub.feeds["alone"].publish([item("alone")], "us")
    assert [each.event_id for each in carrier.carried] == ["mine"]
    await carrier.sinks["more"].take([item("theirs", b"<urn:a> <urn:b> <urn:c> .")], "them")
    await until(lambda: hub.health()["stored"] == 2)
    assert len(hub.feeds["more"].history) == 2
    told = hub.health()["of"]["more"]
    assert (told["followers"], told["carried"], told["came"], told["not_carried"]) == (1, 1, 1, 0)
    assert "carried" not in hub.health()["of"]["alone"]


@pytest.mark.parametrize("endpoint", ["", "http://127.0.0.1:9"])
async def test_what_a_remote_store_may_miss_is_said(broker, endpoint, caplog):
    """There is no place where the stream could keep how far it was."""
    config = Config(
        relay=RelayConfig(trackers=("http://127.0.0.1:9",)),
        store=StoreConfig(query_endpoint=endpoint, update_endpoint=endpoint),
        streams={"news": StreamConfig(overlay=True, store_graph="urn:g"), "more": StreamConfig(overlay=True)},
    )
    hub = Hub(config, broker.scheduler, broker.scheduler)
    hub.open(FakeCarrier())
    warned = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert [text.partition(":")[0] for text in warned] == (["! news"] if endpoint else [])
    await hub.close()


async def test_a_stream_that_has_lost_the_others_gives_no_sign_of_life(carried):
    """One that has no others does."""
    hub, carrier = carried
    carrier.there = False
    streams = {name: held.stream for name, held in hub._held.items()}
    assert {name: stream.is_there() for name, stream in streams.items()} == {
        "news": False,
        "more": False,
        "alone": True,
    }
    carrier.there = True
    assert streams["news"].is_there()
    assert streams["more"].is_there()


async def test_what_is_wrong_with_items_is_told(hub_of, tmp_path):
    """What differs from what has its id, what the store never saw, and a history that can't be written."""
    hub = hub_of(data=tmp_path, events=StreamConfig(keep=True, store_graph="urn:g"), more=StreamConfig())
    await hub.feeds["events"].publish([item("e1"), item("e1", b"")], "us")
    told = hub.health()
    assert (told["conflicts"], told["store_missed"], told["not_kept"]) == (1, 0, 0)
    assert (told["of"]["events"]["store_missed"], "not_kept" in told["of"]["events"]) == (0, False)
    hub._held["events"].stream.history._trouble = "the disk is full"
    told = hub.health()
    assert (told["not_kept"], told["of"]["events"]["not_kept"]) == (1, "the disk is full")


async def test_what_is_made_of_a_stream_follows_it(carried):
    """As long as it is there."""
    hub, carrier = carried
    hub.add("both", StreamConfig(kind="join", of=("news", "alone")))
    await until(lambda: ("news", 1) in carrier.told)
    await carrier.sinks["news"].take([item("theirs")], "them")
    await until(lambda: kept(hub.feeds["both"]) == ["theirs"])
    await hub.remove("both")
    assert carrier.told[-1] == ("news", 0)
    hub.add("late", StreamConfig(overlay=True))
    assert "late" in carrier.sinks
    await hub.remove("late")
    assert carrier.dropped == ["late"]


async def test_a_name_is_free_when_its_stream_has_ended(carried):
    """Not while the others are still told of it: one that is made anew meanwhile would not be carried."""
    hub, carrier = carried
    may_drop, drop = asyncio.Event(), carrier.drop

    async def slow(stream):
        await may_drop.wait()
        await drop(stream)

    carrier.drop = slow
    removing = asyncio.create_task(hub.remove("news"))
    await until(lambda: "news" not in hub.feeds)
    with pytest.raises(RequestError, match="already"):
        hub.add("news", StreamConfig(overlay=True))
    with pytest.raises(NotFound):
        await hub.remove("news")
    with pytest.raises(MalformedRequest, match="there is no stream"):
        hub.add("both", StreamConfig(kind="join", of=("news", "alone")))
    may_drop.set()
    await removing
    assert carrier.dropped == ["news"]
    hub.add("news", StreamConfig(overlay=True))
    assert "news" in hub.feeds


async def test_a_hub_that_leaves_the_others_goes_on_alone(carried):
    """Who follows is not sent away yet, who publishes is."""
    hub, carrier = carried
    await hub.leave()
    assert sorted(carrier.dropped) == ["more", "news"]
    with pytest.raises(ShuttingDown):
        await hub.feeds["news"].publish([item("x")], "us")
    assert not hub.feeds["news"].closed
    await hub.close()
    assert len(carrier.dropped) == 2
