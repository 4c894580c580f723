"""A stream to thousands, beside the servers that people use for it, in the same run: the experiments of Ztreamy's paper.

What a delivered item costs the server, how late it is, what a consumer costs in memory, and what goes over the wire.
The peers are nginx with nchan, Faye, ZeroMQ and Mosquitto, each where it is installed, and the least that a Python process
could do, `nullgate.py`, where the load client's folder is beside the working tree (../shared/tools/loadclient).

All that is found is appended to build/bench/fanout.jsonl, and drawn like the paper's figures 3, 5 and 6 in the end.
What is measured is changed by

    TRIPLEWIRE_CONSUMERS   a list; 2000
    TRIPLEWIRE_ITEMS       of each measurement; 32
    TRIPLEWIRE_RATE        items a second, Poisson; 4
    TRIPLEWIRE_RATES       a list, for 500 consumers (figure 6), each for as long as the items above take; none
    TRIPLEWIRE_WORKERS     processes of a server that can be several; 0: as many as the consumers need files
    TRIPLEWIRE_PEERS       a list; all
    TRIPLEWIRE_MODES       a list of plain, window, deflate; all
"""

from __future__ import annotations

import os

import pytest
from bench.fanout import plots
from bench.fanout.peers import MODES, PEERS
from bench.fanout.runner import MOST_A_PROCESS, RESULTS, Plan, measure
from support.benchmarks import Table


def asked(name, default):
    """A list out of the environment."""
    return [each for each in os.environ.get(f"TRIPLEWIRE_{name}", default).split(",") if each]


CONSUMERS = [int(n) for n in asked("CONSUMERS", "2000")]
ITEMS = int(os.environ.get("TRIPLEWIRE_ITEMS", "32"))
RATE = float(os.environ.get("TRIPLEWIRE_RATE", "4"))
RATES = [float(rate) for rate in asked("RATES", "")]
WORKERS = int(os.environ.get("TRIPLEWIRE_WORKERS", "0"))
ASKED_PEERS = [PEERS[name] for name in asked("PEERS", ",".join(PEERS))]
ASKED_MODES = [MODES[name] for name in asked("MODES", ",".join(MODES))]
HEADINGS = (
    *("peer", "mode", "processes", "us/delivery", "to ours", "p50 ms", "p95 ms", "p99 ms", "KB each"),
    *(
        "B/delivery",
        "lost",
        "twice",
        "reordered",
        "generator us",
        "idle ms/s",
        "post p95 ms",
        "others' CPU s",
    ),
)

_JUDGED_FROM = 2000

# A measurement takes as long as its items and half a minute; the whole is bounded by whoever asks for so much.
pytestmark = pytest.mark.timeout(0)


def processes_for(consumers):
    """So that each has fewer than it may have files, also where the kernel does not deal them out evenly."""
    return WORKERS or (1 if consumers <= MOST_A_PROCESS else -(-consumers // (MOST_A_PROCESS - 2000)))


def plans(consumers, rate, items):
    """What can be measured here, ours first."""
    for peer in ASKED_PEERS:
        if why := peer.missing():
            print(f"\n   {peer.name}: {why}")
            continue
        processes = processes_for(consumers) if peer.several else 1
        if consumers > processes * MOST_A_PROCESS:
            print(f"\n   {peer.name}: one process, at most {MOST_A_PROCESS} consumers")
            continue
        for mode in ASKED_MODES:
            if mode in peer.modes:
                yield Plan(peer, mode, consumers, rate, items, processes)


def measured(consumers, rate, items):
    """The records of all, and their table."""
    table = Table(f"{consumers} consumers, {items} items at {rate:g}/s", *HEADINGS)
    found = {}
    for plan in plans(consumers, rate, items):
        try:
            record = found[plan.peer.name, str(plan.mode)] = measure(plan)
        except (RuntimeError, TimeoutError) as error:
            if plan.peer is PEERS["triplewire"]:
                raise
            print(f"\n   {plan.peer.name}, {plan.mode}: {error}")
            continue
        ours = found.get(("triplewire", str(plan.mode)))
        table.add(
            *(record[name] for name in ("peer", "mode", "processes", "us_a_delivery")),
            record["us_a_delivery"] / ours["us_a_delivery"] if ours else None,
            *(record[name] for name in ("p50_ms", "p95_ms", "p99_ms", "kb_a_consumer", "bytes_a_delivery")),
            *(record[name] for name in ("lost", "twice", "reordered")),
            record["generator_cpu_s"] / max(1, record["deliveries"]) * 1e6,
            record["idle_ms_a_s"],
            *(record["publisher"]["post_p95_ms"], record["others_cpu_s"]),
        )
    table.print()
    return found


def whole(record):
    """What was lost, came twice, or was cut."""
    assert record["joined"] == record["consumers"], record["refused"]
    assert record["publisher"]["answered"] == record["items"], record["publisher"]
    return [
        f"{record['peer']}, {record['mode']}: {record[what]} {what}"
        for what in ("lost", "twice", "cut")
        if record[what]
    ]


def bars(found):
    """Each with its value and the most that it may be: compressed to a seventh, no dearer than nchan, with a window half.

    Nchan is the measure from 2,000 consumers on: with 500 what an item costs whoever follows is a fifth of it all, and the
    ratios are 1.0 to 1.1, and 0.47 to 0.55.
    """
    plain, window, deflate = (found.get(("triplewire", str(mode))) for mode in MODES.values())
    nchan = found.get(("nchan", str(MODES["plain"])))
    for record in (window, deflate):
        if record:
            yield f"{record['mode']}, median in ms", record["p50_ms"], 1000
    if plain and deflate:
        yield "compressed : plain", deflate["bytes_a_delivery"] / plain["bytes_a_delivery"], 0.15
    if nchan and nchan["consumers"] < _JUDGED_FROM:
        return
    if plain and nchan:
        yield "at once : nchan", plain["us_a_delivery"] / nchan["us_a_delivery"], 1.0
    if window and nchan and window["rate"] >= 4:
        yield "with a window : nchan", window["us_a_delivery"] / nchan["us_a_delivery"], 0.5


def judge(found):
    """Nothing is lost, and the bars are reached; all that is wrong is said at once."""
    ours = [record for (peer, _), record in found.items() if peer in ("triplewire", "nullgate")]
    wrong = [each for record in ours for each in whole(record)]
    wrong += [f"{name}: {value:.4g} > {most:.4g}" for name, value, most in bars(found) if value > most]
    assert not wrong, wrong


@pytest.fixture(scope="module", autouse=True)
def drawn():
    """The figures, of all that was ever measured in this tree."""
    yield
    for line in plots.draw(RESULTS):
        print(f"   {line}")


@pytest.mark.parametrize("consumers", CONSUMERS)
def test_fan_out(consumers):
    """By the number of consumers: figures 3 and 5."""
    judge(measured(consumers, RATE, ITEMS))


@pytest.mark.parametrize("rate", RATES)
def test_fan_out_by_rate(rate):
    """By items a second, to 500 consumers: figure 6."""
    judge(measured(500, rate, max(20, int(ITEMS / RATE * rate))))
