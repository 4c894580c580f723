"""A real MQTT broker in a process of its own, and profiles of the example applications for brokers of a test."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import socket
import subprocess
import time
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import aiomqtt

from triplewire.conf.brokers import endpoint, overrides
from triplewire.jsap import Profile

CONF = Path(__file__).parents[2] / "conf"
CHAT, MONITORING = CONF / "chat" / "chat.jsap", CONF / "monitoring" / "monitoring.jsap"

MOSQUITTO = shutil.which("mosquitto", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")


class Mosquitto:
    """`mosquitto` on a port of its own, which keeps sessions in files, so that it can be stopped and started again."""

    def __init__(self, folder: Path, *settings: str) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self._config = folder / "mosquitto.conf"
        self.log = folder / "mosquitto.log"
        lines = [
            *(f"listener {self.port} 127.0.0.1", "allow_anonymous true", "max_queued_messages 0"),
            *(
                "persistence true",
                f"persistence_location {folder}/",
                f"log_dest file {self.log}",
                "log_type all",
            ),
            *(["user root"] if os.geteuid() == 0 else []),
            *settings,
        ]
        self._config.write_text("\n".join(lines) + "\n", encoding="utf-8")
        self.start()

    def start(self) -> None:
        self._process = subprocess.Popen(
            [str(MOSQUITTO), "-c", str(self._config)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        deadline = time.monotonic() + 15
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
            except OSError:
                assert self._process.poll() is None, "mosquitto ended"
                assert time.monotonic() < deadline, "mosquitto does not listen"
                time.sleep(0.02)
            else:
                return

    def stop(self) -> None:
        """SIGTERM: sessions are saved."""
        for _ in range(15):
            self._process.terminate()
            # One that comes just before mosquitto begins to wait is noticed with the next event: another signal is one.
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(1)
                return
        self._process.kill()
        raise AssertionError("mosquitto does not end")

    @asynccontextmanager
    async def publisher(self, tls=None):
        """Publishes with `await publish(topic, payload)`, QoS 1, so it returns when mosquitto has it."""
        async with aiomqtt.Client("127.0.0.1", self.port, tls_context=tls) as client:
            client.pending_calls_threshold = 1000  # it would warn of more

            async def publish(
                topic: str, payload: str | bytes, qos: int = 1, *, retain: bool = False
            ) -> None:
                await client.publish(topic, payload, qos, retain)

            yield publish


def chat_profile(broker, **more) -> Profile:
    """The chat's profile, at a broker of the test."""
    return Profile.load(CHAT, overrides={**overrides(broker.http, broker.ws), **more})


def monitoring_profile(
    broker, mqtt_port: int = 1, store_url: str = "http://127.0.0.1:1/update", **more
) -> Profile:
    """The monitoring's profile, at brokers of the test."""
    members = {
        **overrides(broker.http, broker.ws),
        "extended.mqtt": {"host": "127.0.0.1", "port": mqtt_port},
        "updates.STORE_OBSERVATION.sparql11protocol": endpoint(store_url, "update"),
    }
    return Profile.load(MONITORING, overrides={**members, **more})


@asynccontextmanager
async def running(work):
    """A service that works while the test does, and is stopped after it; its own error is the test's."""
    task = asyncio.create_task(work)
    try:
        yield task
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def until(condition, timeout_s: float = 30.0) -> None:
    """Wait for something that other tasks or processes bring about."""

    async def asked():
        return bool(condition())

    await until_async(asked, True, timeout_s)


async def until_async(question, expected, timeout_s: float = 30.0) -> None:
    """Ask again and again until the answer is the expected one."""
    deadline = time.monotonic() + timeout_s
    answer = await question()
    while answer != expected and time.monotonic() < deadline:
        await asyncio.sleep(0.01)
        answer = await question()
    assert answer == expected, "it did not come about in time"
