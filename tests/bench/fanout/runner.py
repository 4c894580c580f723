"""One measurement: a peer with so many consumers, told so many items at such a rate; and what came of it as one record.

All join; when the server is quiet, one item warms it up (what a first item costs each connection is no part of what is
measured), and for compressed streams some more, until the compressor knows what posts are like, as it does in a stream
that has run for a minute. Then come the items that count. Processor time is what the server's processes used from then
on until the last of them was delivered.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import psutil

from .histogram import Delays
from .processes import BUILD, Program, cpu_s, resident_kb, use_all_files

if TYPE_CHECKING:
    from .peers.peer import Address, Mode, Peer

RESULTS = BUILD / "fanout.jsonl"
MOST_A_PROCESS = 19_000  # of the 20,000 files that a process may have open where hard limits are low
JOIN_RATE = 1500.0
_WARMING = 40  # items for compressed streams: 40 kB, more than zlib's window of 32 KiB
_QUIET_CPU = 0.06  # s a second
_SETTLE_S = 60.0
_DRAIN_S = 60.0


@dataclass(frozen=True)
class Plan:
    """What to measure."""

    peer: type[Peer]
    mode: Mode
    consumers: int
    rate: float
    items: int
    processes: int = 1

    @property
    def join_s(self) -> float:
        """How long joining may take."""
        return 60 + 3 * self.consumers / JOIN_RATE


class Crowds:
    """The generators of one run, each with its source address and its share of the consumers."""

    def __init__(self, address: Address, plan: Plan) -> None:
        count = -(-plan.consumers // MOST_A_PROCESS)
        self._programs = [
            Program(
                "generator",
                host=address.host,
                port=address.port,
                protocol=address.protocol,
                path=address.path,
                source=f"127.0.0.{2 + place}",
                consumers=plan.consumers // count + (place < plan.consumers % count),
                rate=JOIN_RATE / count,
                join_s=plan.join_s,
            )
            for place in range(count)
        ]
        self._join_s = plan.join_s
        self.joined = 0
        self.refused: list[str] = []

    def join(self) -> None:
        """Wait until all have joined, or were refused, or their time is up."""
        for program in self._programs:
            answer = program.answer(self._join_s + 10)
            self.joined += answer["joined"]
            self.refused += answer["refused"]

    def counts(self) -> dict[str, float]:
        """Items delivered, bytes, consumers and processor time, in all."""
        answers = [program.ask(count=True) for program in self._programs]
        return {name: sum(answer[name] for answer in answers) for name in answers[0]}

    def wait(self, items: int, timeout_s: float) -> dict[str, float]:
        """The counts when so many items are there, or the time is up."""
        until = time.monotonic() + timeout_s
        while (counts := self.counts())["items"] < items and time.monotonic() < until:
            time.sleep(0.1)
        return counts

    def report(self, items: int) -> tuple[dict[str, int], Delays]:
        """What was lost and so on, and the delays."""
        found, delays = {"lost": 0, "twice": 0, "reordered": 0, "cut": 0, "deliveries": 0}, Delays()
        for program in self._programs:
            answer = program.ask(report=items)
            delays.merge(Delays.decode(answer["delays"]))
            found = {name: count + answer[name] for name, count in found.items()}
        return found, delays

    def stop(self) -> None:
        """End them."""
        for program in self._programs:
            program.stop()


def measure(plan: Plan) -> dict[str, Any]:
    """The record of one measurement; it is also a line of RESULTS.

    Raises:
        RuntimeError, TimeoutError: the peer does not start, or a process ended early or says nothing.
    """
    use_all_files()
    BUILD.mkdir(parents=True, exist_ok=True)
    peer = plan.peer(plan.mode, plan.processes)
    try:
        record = _record(plan, peer.start())
    finally:
        peer.stop()
    with RESULTS.open("a", encoding="utf-8") as results:
        results.write(json.dumps(record) + "\n")
    return record


def _record(plan: Plan, address: Address) -> dict[str, Any]:
    idle = _settle(address.pids)
    alone_kb, alone_cpu = resident_kb(address.pids), cpu_s(address.pids)
    crowds = Crowds(address, plan)
    try:
        crowds.join()
        _settle(address.pids)
        joined_kb, joined_cpu = resident_kb(address.pids), cpu_s(address.pids)
        publisher = Program(
            "publisher",
            sink=address.sink,
            host=address.host,
            port=address.publish_port or address.port,
            path=address.publish_path,
            rate=plan.rate,
            seed=1,
        )
        try:
            found = _publish(plan, address, crowds, publisher)
        finally:
            publisher.stop()
        missing, delays = crowds.report(plan.items)
    finally:
        crowds.stop()
    told = max(1, missing["deliveries"])
    return {
        "peer": plan.peer.name,
        "mode": str(plan.mode),
        "window_s": plan.mode.window_s,
        "deflate": plan.mode.deflate,
        "consumers": plan.consumers,
        "rate": plan.rate,
        "items": plan.items,
        "processes": plan.processes,
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "joined": crowds.joined,
        "refused": crowds.refused,
        **missing,
        **found,
        "us_a_delivery": found["server_cpu_s"] / told * 1e6,
        "bytes_a_delivery": found["bytes"] / told,
        **{f"p{share}_ms": delays.quantile_ms(share / 100) for share in (50, 95, 99, 100)},
        "kb_a_consumer": (joined_kb - alone_kb) / max(1, crowds.joined),
        "join_us_a_consumer": (joined_cpu - alone_cpu) / max(1, crowds.joined) * 1e6,
        "idle_ms_a_s": idle * 1000,
        "load": os.getloadavg()[0],
    }


def _publish(plan: Plan, address: Address, crowds: Crowds, publisher: Program) -> dict[str, Any]:
    """Warm up, publish, and wait until all is delivered: what that cost."""
    warming = 0
    for count in (1, _WARMING if plan.mode.deflate else 0):
        if count:
            publisher.tell(warm=count)
            warming += count
            crowds.wait(crowds.joined * warming, 30)
    _settle(address.pids)
    before, cpu_before, busy_before, begun = crowds.counts(), cpu_s(address.pids), _busy_s(), time.monotonic()
    mine = time.process_time()
    publisher.tell(go=plan.items)
    sent = publisher.answer(2 * plan.items / plan.rate + 60)
    after = crowds.wait(crowds.joined * (warming + plan.items), _DRAIN_S)
    server_cpu_s, busy_s = cpu_s(address.pids) - cpu_before, _busy_s() - busy_before
    crowd_cpu_s = after["cpu_s"] - before["cpu_s"]
    return {
        "server_cpu_s": server_cpu_s,
        "generator_cpu_s": crowd_cpu_s,
        "others_cpu_s": busy_s - server_cpu_s - crowd_cpu_s - (time.process_time() - mine),
        "wall_s": time.monotonic() - begun,
        "bytes": after["bytes"] - before["bytes"],
        "sent_s": sent["sent_s"],
        "publisher": publisher.answer(90),
    }


def _settle(pids: list[int]) -> float:
    """Wait until a server does little, so that what is measured next is not what was asked before; what it then uses.

    That is in seconds of processor time a second.
    """
    until = time.monotonic() + _SETTLE_S
    while True:
        begun, before = time.monotonic(), cpu_s(pids)
        time.sleep(0.5)
        used = (cpu_s(pids) - before) / (time.monotonic() - begun)
        if used < _QUIET_CPU or begun > until:
            return used


def _busy_s() -> float:
    """Processor seconds of everything on this machine, but not of interrupts, which are nobody's."""
    times = psutil.cpu_times()
    return float(times.user + times.nice + times.system)
