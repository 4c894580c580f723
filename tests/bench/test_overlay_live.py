"""What an overlay of real nodes costs, and how fast it is: acceptance at full size, with nodes in a few processes.

Prints tables, and asserts the bars that stand beside them.  Delays between regions are those of Table 1, put into the links;
everything else is sockets of this machine.  A machine that is busy with other things adds to every delay, at each hop: of
several items between two nodes the quickest is judged, medians stand beside it, and the load is told.  A quarter of an hour
on two processors.
"""

from __future__ import annotations

import os
import statistics
import time
from contextlib import contextmanager

import httpx
import pytest
from support.aws_delays import REGIONS, one_way_ms
from support.benchmarks import Table, quantile
from support.overlay import STREAM
from support.overlay_processes import ITEM_BYTES, ITEMS_S, Hosts
from support.running_relay import figures
from support.running_tracker import RunningTracker

from triplewire.gates.relay.paths import fastest

DEGREE = 4
HOP_MS = 0.5
AGGREGATOR_BYTES = 54  # by which an item grows at a stream port, which says through whom it came
PROCESSES = os.cpu_count() or 2

pytestmark = pytest.mark.timeout(1200)


@contextmanager
def tracker(*settings):
    """A tracker of this block, in a process of its own; its URL."""
    every = ("tracker.collect_s=0", *settings)
    running = RunningTracker.start(*(part for setting in every for part in ("--set", setting)))
    try:
        yield running.http
    finally:
        assert running.stop() == 0


def named(count):
    """Nodes, and their regions: as many in each."""
    return {f"n{number:02d}": number % len(REGIONS) for number in range(count)}


def topology(url):
    return httpx.get(f"{url}/topology/{STREAM}").json()["nodes"]


def linked(url, count, within_s=60.0):
    """Wait until the tracker has so many nodes, and each its neighbours."""
    deadline = time.monotonic() + within_s
    while True:
        nodes = topology(url)
        if len(nodes) == count and all(len(node["neighbours"]) == DEGREE for node in nodes.values()):
            return
        assert time.monotonic() < deadline, {name: [*node["neighbours"]] for name, node in nodes.items()}
        time.sleep(0.5)


def difference(after, before):
    return {name: value - before[name] for name, value in after.items()}


def all_came(hosts, items, consumers, within_s=60.0):
    """Wait until all the consumers of each relay, so many, have got so many items, each of them once."""
    deadline = time.monotonic() + within_s
    while True:
        found = hosts.merged("consumed")
        if all(
            len(each) == consumers and min(each) == (items, items) == max(each) for each in found.values()
        ):
            return
        assert time.monotonic() < deadline, {name: (min(each), max(each)) for name, each in found.items()}
        time.sleep(0.2)


# 1: what the publisher's node sends, whoever follows


class Bare:
    """Nodes without consumers of their own, of which one publishes."""

    def __init__(self, hosts, url, count):
        regions = named(count + 1)
        hosts.grow(url, [*regions], regions)
        hosts.linked()
        self.others = [*regions][1:]
        self._hosts = hosts
        hosts.ask(0, "ready", "n00")
        self.counts = dict.fromkeys(self.others, 0) | {"n00": 0}
        self.publish(1, 0.0)

    def publish(self, count, pause_s):
        for _ in range(count):
            self._hosts.ask(0, "publish", "n00", ITEM_BYTES + AGGREGATOR_BYTES)
            time.sleep(pause_s)
        self.counts = {name: had + count * (name != "n00") for name, had in self.counts.items()}
        self._hosts.have(self.counts)

    def figures(self):
        names = {"data_out": "data", "data_out_bytes": "data_bytes", "control_out": "control"}
        names |= {"control_out_bytes": "control_bytes", "parcels": "parcels"}
        return {
            node: {name: counted[of] for of, name in names.items()}
            for node, counted in self._hosts.merged("counted").items()
        }

    def check(self):
        received = self._hosts.merged("received")
        assert all(len(set(ids)) == len(ids) for ids in received.values())


class Serving:
    """Relays with as many consumers each, and one without, to whose stream port is published."""

    def __init__(self, hosts, url, count, consumers):
        names = [f"n{number:02d}" for number in range(count + 1)]
        for at, name in enumerate(names):
            hosts.ask(at % len(hosts), "add_relay", url, name)
        self.others = names[1:]
        self._hosts = hosts
        self._each = consumers
        self._published = 0
        urls = {name: at for some in hosts.all("streams") for name, at in some.items()}
        for number, name in enumerate(self.others):
            # Who follows a relay is in the other process
            hosts.ask(number % len(hosts), "consume", name, urls[name], consumers)
        self.publish(1, 0.0)
        linked(url, count + 1)

    def publish(self, count, pause_s):
        self._hosts.ask(0, "post", "n00", count, pause_s)
        self._published += count
        all_came(self._hosts, self._published, self._each)

    def figures(self):
        names = {"data_sent_total": "data", "data_sent_bytes_total": "data_bytes"}
        names |= {"control_sent_total": "control", "control_sent_bytes_total": "control_bytes"}
        names |= {"parcels_total": "parcels"}
        return {
            node: {name: told[of] for of, name in names.items()}
            for node, told in self._hosts.merged("figures").items()
        }

    def check(self):
        """That each consumer got one copy of each item was seen as they came."""


def test_the_publishers_node_sends_the_same_whoever_follows():
    """4, 16, 64 relays, without consumers, and with as many as the files of this machine allow."""
    table = Table(
        "What an item costs the publisher's node, which has no consumers itself",
        *(
            "relays",
            "consumers each",
            "copies",
            "data bytes/item",
            "control messages/item",
            "control bytes/item",
        ),
        "most copies/item of another",
    )
    found = []
    for relays, consumers in ((4, 0), (16, 0), (64, 0), (4, 500), (16, 500), (64, 60)):
        with tracker("tracker.improve_s=0") as url, Hosts(PROCESSES) as hosts:
            some = Serving(hosts, url, relays, consumers) if consumers else Bare(hosts, url, relays)
            time.sleep(2)  # until nobody has anything to say of the beginning
            before = some.figures()
            count = 30
            some.publish(count, 0.05 if relays * consumers < 1000 else 0.3)
            spent = {name: difference(after, before[name]) for name, after in some.figures().items()}
            some.check()
            own = spent["n00"]
            most = max(spent[name]["data"] / spent[name]["parcels"] for name in some.others)
            found.append((own["data"] / count, own["data_bytes"] / count, own["control"] / count, most))
            table.add(relays, consumers, *found[-1][:3], own["control_bytes"] / count, most)
    table.print()
    least, most = (pick(sent for _, sent, _, _ in found) for pick in (min, max))
    assert most <= 1.01 * least
    assert max(copies for copies, *_ in found) <= DEGREE
    assert max(of_others for *_, of_others in found) <= DEGREE - 1


# 3: delays


def at_rest(url, quiet_s=20.0, most_s=420.0):
    """Wait until the tracker finds no better links; how long that took."""
    begun = changed = time.monotonic()
    changes = None
    while (now := time.monotonic()) - changed < quiet_s and now - begun < most_s:
        told = figures(f"{url}/metrics")["triplewire_tracker_changes_total"]
        if told != changes:
            changes, changed = told, now
        time.sleep(1)
    return changed - begun


def measured_ms(hosts, names, rounds, pause_s):
    """Of each ordered pair of nodes, how long items took."""
    found = {(a, b): [] for a in names for b in names if a != b}
    of_host = {name: host for host, some in enumerate(hosts.all("neighbours")) for name in some}
    for name in names:
        hosts.ask(of_host[name], "ready", name)
    for number in range(rounds):
        sent = {}
        for name in names:
            made, at = hosts.ask(of_host[name], "publish", name)
            sent[made] = (name, at)
            time.sleep(pause_s)
        hosts.have(dict.fromkeys(names, (number + 1) * (len(names) - 1)))
        for there, times in hosts.merged("times", *sent).items():
            for made, at in times.items():
                source, begun = sent[made]
                found[source, there].append(1000 * (at - begun))
    assert {len(delays) for delays in found.values()} == {rounds}
    return found


def told_ms(url, names):
    """Of each ordered pair, what /latency says."""
    found = {}
    for name in names:
        told = httpx.get(f"{url}/latency", params={"stream": STREAM, "from": name}, timeout=30).json()
        found |= {(name, there): delay for there, delay in told["delay_ms"].items() if there != name}
    return found


@pytest.mark.parametrize(("count", "rounds", "most_rdp"), [(16, 6, 1.2), (64, 4, 1.12)])
def test_delays(count, rounds, most_rdp):
    """On Table 1: from every node to every other, beside unicast and what the tracker tells."""
    regions = named(count)
    with tracker() as url, Hosts(PROCESSES) as hosts:
        hosts.grow(url, [*regions], regions, delayed=True)
        hosts.linked()
        first = httpx.get(f"{url}/latency", params={"stream": STREAM}).json()["mean_ms"]
        took_s = at_rest(url)
        time.sleep(8)  # so that what /latency tells is of this overlay
        links = hosts.linked()
        told, all_told = told_ms(url, regions), httpx.get(f"{url}/latency", params={"stream": STREAM}).json()
        found = measured_ms(hosts, [*regions], rounds, 0.3)
        kept = sum(len(set(links[name]) & set(peers)) for name, peers in hosts.linked().items())

    direct = {(a, b): one_way_ms(regions[a], regions[b]) for a, b in found}
    model = {}
    for name in regions:
        ways = fastest(links.__getitem__, lambda a, b: one_way_ms(regions[a], regions[b]), name, HOP_MS)
        model |= {(name, there): way.delay_ms for there, way in ways.items() if there != name}
    middle = {pair: statistics.median(delays) for pair, delays in found.items()}
    least = {pair: min(delays) for pair, delays in found.items()}
    every = [delay for delays in found.values() for delay in delays]

    table = Table(f"Delays of {count} nodes in ms", "what", "mean", "p50", "p99", "RDP", "p99 : unicast")
    unicast = statistics.fmean(direct.values())
    rows = {
        "unicast (Table 1)": [*direct.values()],
        f"fastest ways over these links, {HOP_MS} ms a hop": [*model.values()],
        "told by /latency, all single routes": [*told.values()],
        f"measured, the quickest of {rounds} items a pair": [*least.values()],
        f"measured, medians of {rounds} items a pair": [*middle.values()],
        f"measured, all {len(every):,}": every,
    }
    for what, some in rows.items():
        mean, p99 = statistics.fmean(some), quantile(some, 0.99)
        table.add(what, mean, quantile(some, 0.5), p99, mean / unicast, p99 / quantile(direct.values(), 0.99))
    table.add(
        "told by /latency, figures", all_told["mean_ms"], all_told["p50_ms"], all_told["p99_ms"], "", ""
    )
    table.print()
    mean, mean_told = statistics.fmean(least.values()), statistics.fmean(told.values())
    off = [abs(told[pair] - delay) / delay for pair, delay in least.items() if delay > 5]
    over = [told[pair] - delay for pair, delay in middle.items()]
    print(
        f"linked at first with a mean of {first:.1f}; at rest after {took_s:.0f} s;"
        f" {kept / (DEGREE * count):.1%} of the links were there to the end;"
        f" told : quickest {mean_told / mean:.4f}, single routes off by {quantile(off, 0.5):.1%} (median),"
        f" {quantile(off, 0.95):.1%} (p95), told more than the median by at most {max(over):.2f} ms"
    )
    assert mean / unicast <= most_rdp
    assert quantile(least.values(), 0.99) <= 1.15 * quantile(direct.values(), 0.99)
    assert abs(mean_told - mean) <= 0.05 * mean
    assert mean_told <= 1.01 * statistics.fmean(middle.values())
    assert quantile(off, 0.5) <= 0.05


def test_forwarding():
    """Three nodes, each a process: what comes to the last by way of the second, later than to the second."""
    regions = dict.fromkeys(("a", "b", "c"), 0)
    with tracker() as url, Hosts(3) as hosts:
        hosts.grow(url, [*regions], regions)
        hosts.linked()
        hosts.ask(0, "silence", "a", "c")
        hosts.ask(0, "ready", "a")
        table = Table("Forwarding in ms, no injected delay", "items/s", "items", "p5", "p50", "p95", "p99")
        for per_s in (20, 200):
            published = hosts.ask(0, "flow", "a", per_s, 10)
            hosts.have({"a": 0, "b": hosts.ask(1, "counts")["b"], "c": hosts.ask(1, "counts")["b"]})
            times = hosts.merged("times", *published)
            assert times["b"].keys() == times["c"].keys() == published.keys()
            late = [1000 * (times["c"][each] - times["b"][each]) for each in published]
            p50 = quantile(late, 0.5)
            table.add(per_s, len(late), quantile(late, 0.05), p50, quantile(late, 0.95), quantile(late, 0.99))
        wants = sum(counted["wants"] for counted in hosts.merged("counted").values())
        table.print()
    assert wants == 0
    assert p50 <= 0.5


# 4: many small items


def test_a_stream_of_small_items():
    """As many, and as small, as Helsinki's public transport tells, through 16 relays."""
    seconds, regions = 25, named(16)
    with tracker() as url, Hosts(PROCESSES) as hosts:
        hosts.grow(url, [*regions], regions)
        hosts.linked()
        hosts.ask(0, "ready", "n00")
        hosts.ask(0, "flow", "n00", ITEMS_S, 1)
        at_rest(url, 5, 60)
        hosts.ask(0, "flow", "n00", ITEMS_S, 1)
        before, cpu_before = hosts.merged("counted"), hosts.all("cpu_s")
        wire_before = hosts.ask(0, "sent_bytes", "n00")
        began = time.perf_counter()
        published = hosts.ask(0, "flow", "n00", ITEMS_S, seconds)
        took_s = time.perf_counter() - began
        wire = hosts.ask(0, "sent_bytes", "n00") - wire_before
        after, cpu = hosts.merged("counted"), hosts.all("cpu_s")
        total = hosts.ask(0, "counted")["n00"]["published_items"]
        hosts.have({name: total * (name != "n00") for name in regions})
        received = hosts.merged("received")
        times = hosts.merged("times", *published)
    ids = [*published]
    assert all(some[-len(ids) :] == ids for name, some in received.items() if name != "n00")
    assert all(len(set(some)) == len(some) for some in received.values())

    spent = {name: difference(counted, before[name]) for name, counted in after.items()}
    sent = spent["n00"]
    copies = sent["data_out"] / sent["published"]
    over = sent["data_out_bytes"] / copies / sent["published_items"] - ITEM_BYTES
    control = {name: some["control_out"] / some["data_out"] for name, some in spent.items()}
    pings = 2 * DEGREE * took_s / 2.0  # asked and answered, each `ping_s`
    late = [
        1000 * (at[each] - published[each]) for name, at in times.items() if name != "n00" for each in ids
    ]
    table = Table(f"{ITEMS_S} items/s of {ITEM_BYTES} bytes through 16 relays, {seconds} s", "what", "")
    table.add("items published a second", len(ids) / took_s)
    table.add("items a parcel", sent["published_items"] / sent["published"])
    table.add("header and signature, bytes an item and copy", over)
    table.add(
        "the same on the wire, with frames and pings", wire / copies / sent["published_items"] - ITEM_BYTES
    )
    table.add("control messages : parcels sent, the worst relay", max(control.values()))
    table.add(
        "the same with pings and pongs",
        max(control.values()) + pings / min(s["data_out"] for s in spent.values()),
    )
    table.add(
        "processor, all 16 together, cores", sum(b - a for a, b in zip(cpu_before, cpu, strict=True)) / took_s
    )
    table.add("from publish to sink, p50 ms", quantile(late, 0.5))
    table.add("p99 ms", quantile(late, 0.99))
    table.print()
    assert over <= 80
    assert max(control.values()) <= 0.01


@pytest.mark.parametrize(("per_s", "parcel_s"), [(ITEMS_S, 0.005), (5_000, 0.005), (ITEMS_S, 0.0)])
def test_what_one_relay_can_pass_on(per_s, parcel_s):
    """One relay has a process to itself, and four neighbours in others; also where no two items share a parcel."""
    seconds = 10
    regions = dict.fromkeys(("a", "b", "c", "d", "e"), 0)
    with tracker() as url, Hosts(3) as hosts:
        for host, name in ((0, "a"), (1, "b"), (2, "c"), (2, "d"), (2, "e")):
            hosts.ask(host, "add", url, name, regions, parcel_s=parcel_s)
        hosts.linked()
        hosts.ask(0, "ready", "a")
        hosts.ask(0, "flow", "a", per_s, 1)
        before, began, busy = hosts.ask(1, "counted")["b"], time.perf_counter(), hosts.ask(1, "cpu_s")
        hosts.ask(0, "flow", "a", per_s, seconds)
        total = hosts.ask(0, "counted")["a"]["published_items"]
        hosts.have({name: total * (name != "a") for name in regions})
        took_s = time.perf_counter() - began
        spent = difference(hosts.ask(1, "counted")["b"], before)
        busy = hosts.ask(1, "cpu_s") - busy
    table = Table(f"One relay, {per_s:,} items/s of {ITEM_BYTES} bytes, parcel_s {parcel_s:g}", "what", "")
    table.add("items a second", spent["items"] / took_s)
    table.add("items a parcel", spent["items"] / spent["parcels"])
    table.add("copies that came, an item", 1 + spent["duplicate_items"] / spent["items"])
    table.add("copies passed on, a parcel", spent["data_out"] / spent["parcels"])
    table.add("let go, or asked for again", spent["dropped"] + spent["wants"])
    table.add("us of processor an item", 1e6 * busy / spent["items"])
    table.add("us of processor a parcel", 1e6 * busy / spent["parcels"])
    table.add("items a second of processor", spent["items"] / busy)
    table.print()
    assert per_s < 5_000 or spent["items"] / busy >= 5_000


# 5: bandwidth


def test_duplicates():
    """16 relays with a consumer each, and something published at each of them: what /metrics tells of them."""
    count, each = 16, 20
    with tracker("tracker.improve_s=0") as url, Hosts(PROCESSES) as hosts:
        names = [f"n{number:02d}" for number in range(count)]
        for at, name in enumerate(names):
            hosts.ask(at % len(hosts), "add_relay", url, name)
        urls = hosts.merged("streams")
        for at, name in enumerate(names):
            hosts.ask(at % len(hosts), "consume", name, urls[name], 1)
        linked(url, count)
        for at, name in enumerate(names):
            hosts.ask(at % len(hosts), "post", name, 1)
        time.sleep(1)
        before = hosts.merged("figures")
        for at, name in enumerate(names):
            hosts.ask(at % len(hosts), "post", name, each, 0.02)
        all_came(hosts, count * (each + 1), 1)
        after = hosts.merged("figures")
    published = count * each
    twice = {
        name: (after[name]["duplicates_total"] - before[name]["duplicates_total"]) / published
        for name in names
    }
    mean, expected = statistics.fmean(twice.values()), DEGREE - 2 + 2 / count
    table = Table(f"Duplicates an item and relay, {count} relays", "what", "")
    table.add("as the degree says", expected)
    table.add("mean", mean)
    table.add("the least of a relay", min(twice.values()))
    table.add("the most of a relay", max(twice.values()))
    table.print()
    assert abs(mean - expected) <= 0.1
