"""The connection to a real MQTT broker: nothing that comes with QoS 1 is lost, and nothing comes twice."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from contextlib import asynccontextmanager

import pytest
from support.applications import running, until

from triplewire.clients import ClientSettings
from triplewire.conf.monitoring.mqtt_link import MqttLink
from triplewire.conf.monitoring.mqtt_settings import MqttSettings


@pytest.fixture
def link_to(mosquitto, quick):
    """A link that runs while the test uses it."""

    @asynccontextmanager
    async def start(**settings):
        link = MqttLink(MqttSettings(host="127.0.0.1", port=mosquitto.port, **settings), quick)
        async with running(link.run()):
            await asyncio.wait_for(link.connected.wait(), 10)
            yield link

    return start


async def takes(link: MqttLink, count: int) -> list[str]:
    """Deal with so many messages, and what they say."""
    payloads = []
    for _ in range(count):
        message = await asyncio.wait_for(link.inbox.get(), 20)
        payloads.append(message.payload.decode())
        link.done(message)
    return payloads


async def test_messages_come_in_order(mosquitto, link_to):
    """With their topics and payloads as they were published."""
    async with link_to() as link, mosquitto.publisher() as publish:
        await publish("a/b", "1")
        await publish("a/ü", b"\xff\x00")
        first, second = await link.inbox.get(), await link.inbox.get()
        assert (first.topic, first.payload, second.topic, second.payload) == ("a/b", b"1", "a/ü", b"\xff\x00")
        assert first.arrived <= second.arrived


async def test_only_the_chosen_topics_come(mosquitto, link_to):
    """By MQTT's own wildcards."""
    async with link_to(topics=("a/#", "b/+/c")) as link, mosquitto.publisher() as publish:
        for topic in ("a/x/y", "b/x/y", "c", "b/x/c"):
            await publish(topic, topic)
        assert await takes(link, 2) == ["a/x/y", "b/x/c"]
        assert link.inbox.empty()


async def test_the_broker_holds_back_what_we_have_no_time_for(mosquitto, link_to):
    """No more than `in_flight` messages are here at once; the others wait at the MQTT broker."""
    async with link_to(in_flight=5) as link, mosquitto.publisher() as publish:
        for number in range(50):
            await publish("a", str(number))
        await asyncio.sleep(0.3)
        assert link.inbox.qsize() == 5
        assert await takes(link, 50) == [str(number) for number in range(50)]


async def test_what_was_not_dealt_with_comes_to_the_next_run(mosquitto, link_to):
    """The session outlives the adapter."""
    async with mosquitto.publisher() as publish:
        async with link_to() as link:
            for number in range(6):
                await publish("a", str(number))
            assert await takes(link, 2) == ["0", "1"]
        await publish("a", "while we were away")
        async with link_to() as link:
            assert await takes(link, 5) == ["2", "3", "4", "5", "while we were away"]


async def test_a_broken_connection_loses_and_doubles_nothing(mosquitto, link_to):
    """Messages that wait here come again by the new connection, and are known."""
    async with link_to() as link, mosquitto.publisher() as publish:
        for _ in range(10):
            await publish("a", "the same")
        await until(lambda: link.inbox.qsize() == 10)
        held = await link.inbox.get()
        link._client._client._sock.shutdown(2)
        await until(lambda: not link.connected.is_set())
        link.done(held)  # its acknowledgement can't go out
        await until(link.connected.is_set)
        await until(lambda: link.repeated == 10)
        assert len(await takes(link, 9)) == 9
        await publish("a", "new")
        assert await takes(link, 1) == ["new"]
        assert link.inbox.empty()
    async with link_to() as link:
        await asyncio.sleep(0.3)
        assert link.inbox.empty()  # all acknowledged, `held` too


async def test_a_broker_that_restarts_loses_and_doubles_nothing(mosquitto, link_to):
    """It keeps its sessions; what it has forgotten is here still."""
    async with link_to() as link:
        async with mosquitto.publisher() as publish:
            for number in range(10):
                await publish("a", str(number))
        assert await takes(link, 3) == ["0", "1", "2"]
        mosquitto.stop()
        await until(lambda: not link.connected.is_set())
        mosquitto.start()
        await asyncio.wait_for(link.connected.wait(), 20)
        async with mosquitto.publisher() as publish:
            await publish("a", "10")
        assert await takes(link, 8) == [str(number) for number in range(3, 11)]
        await asyncio.sleep(0.3)
        assert link.inbox.empty()


async def test_a_broker_that_forgot_the_session_loses_nothing_that_is_here(mosquitto, link_to, tmp_path):
    """Packet identifiers begin anew, and an equal message under an old one is a message of its own."""
    async with link_to() as link:
        async with mosquitto.publisher() as publish:
            for _ in range(4):
                await publish("a", "x")
        await until(lambda: link.inbox.qsize() == 4)
        await takes(link, 1)
        mosquitto.stop()
        (tmp_path / "mosquitto.db").unlink()
        await until(lambda: not link.connected.is_set())
        mosquitto.start()
        await asyncio.wait_for(link.connected.wait(), 20)
        async with mosquitto.publisher() as publish:
            await publish("a", "x")
        assert await takes(link, 4) == ["x"] * 4
        assert link.repeated == 0


async def test_retained_messages_come_once(mosquitto, link_to):
    """When the subscription is new; not again at each connection."""
    async with mosquitto.publisher() as publish:
        await publish("a", "last known", retain=True)
        async with link_to() as link:
            assert await takes(link, 1) == ["last known"]
        async with link_to() as link:
            await publish("b", "next")
            assert await takes(link, 1) == ["next"]


async def test_too_much_of_qos_0_is_lost_and_counted(mosquitto, link_to):
    """It has no acknowledgements that could hold it back; QoS 1 is never lost for it."""
    async with link_to(queue=5) as link, mosquitto.publisher() as publish:
        for number in range(8):
            await publish("a", str(number), qos=0)
        await publish("a", "certain")
        await until(lambda: link.inbox.qsize() == 6)
        assert link.lost == 3
        assert await takes(link, 6) == ["0", "1", "2", "3", "4", "certain"]


async def test_an_absent_broker_is_waited_for(mosquitto, quick, caplog):
    """With a line for each attempt."""
    mosquitto.stop()
    link = MqttLink(MqttSettings(host="127.0.0.1", port=mosquitto.port), quick)
    async with running(link.run()):
        await until(lambda: "no connection to MQTT at 127.0.0.1" in caplog.text)
        mosquitto.start()
        await asyncio.wait_for(link.connected.wait(), 20)


async def test_a_broker_that_says_nothing_is_given_up(caplog):
    """And tried again; to be stopped meanwhile takes no longer than its time-out, and leaves nothing open."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        settings = MqttSettings(host="127.0.0.1", port=server.getsockname()[1])
        link = MqttLink(settings, ClientSettings(timeout_s=0.2, backoff_first_s=0.01, backoff_longest_s=0.02))
        async with asyncio.timeout(10), running(link.run()):
            await until(lambda: caplog.text.count("no connection to MQTT") == 2)


def test_without_its_library_the_adapter_says_what_to_install():
    """The other agents do not need it."""
    blocked = "import sys; sys.modules['aiomqtt'] = None; import triplewire.conf.monitoring"
    program = [sys.executable, "-P", "-c"]
    others = (
        f"{blocked}.__main__, triplewire.conf.monitoring.storing, triplewire.conf.monitoring.topics_manager"
    )
    subprocess.run([*program, others], check=True)
    done = subprocess.run([*program, f"{blocked}.adapter"], check=False, capture_output=True, text=True)
    assert "the MQTT adapter needs aiomqtt: pip install 'triplewire[mqtt]'" in done.stderr
