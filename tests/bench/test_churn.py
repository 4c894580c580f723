"""A million replacements of values: as fast, and as small, in the end as in the beginning.

Bare pyoxigraph does a part of it beside us, as all of it would take hours.  Prints ratios; asserts only what is there.
"""

from __future__ import annotations

import os
import statistics
import threading
import time
from array import array
from pathlib import Path

import pyoxigraph
import pytest

from triplewire.broker.config import JournalConfig, LimitsConfig, SparqlConfig, StoreConfig
from triplewire.broker.dataset.opening import open_dataset
from triplewire.broker.model import GraphEdit, GraphWrite, Update
from triplewire.broker.store import EmbeddedStore

REPLACEMENTS = int(os.environ.get("TRIPLEWIRE_REPLACEMENTS", "1000000"))
SENSORS = 1000
OTHERS = int(os.environ.get("TRIPLEWIRE_OTHER_QUADS", "100000"))
BARE = 50_000
PREFIX = "PREFIX sosa: <http://www.w3.org/ns/sosa/> PREFIX : <http://example.org/> "
UPDATE_VALUE = (
    PREFIX
    + "DELETE {{ :o{sensor} sosa:hasSimpleResult ?old }} INSERT {{ :o{sensor} sosa:hasSimpleResult {value} }} "
    "WHERE {{ :o{sensor} a sosa:Observation . OPTIONAL {{ :o{sensor} sosa:hasSimpleResult ?old }} }}"
)


def others() -> str:
    return "\n".join(
        f'<http://example.org/x{i // 10}> <http://example.org/p{i % 10}> "{i}" .' for i in range(OTHERS)
    )


def sensors() -> str:
    kind = "a <http://www.w3.org/ns/sosa/Observation>"
    return "\n".join(f"<http://example.org/o{sensor}> {kind} ." for sensor in range(SENSORS))


def resident_mb() -> float:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * 4 / 1024


def replace(number: int) -> str:
    return UPDATE_VALUE.format(sensor=number % SENSORS, value=number)


@pytest.mark.parametrize("mode", ["memory", "memory+journal", "disk"])
def test_churn(mode, tmp_path):
    """Median of the last 1,000 : median of the first 1,000."""
    config = StoreConfig(
        data="" if mode == "memory" else str(tmp_path / "data"), engine="disk" if mode == "disk" else "memory"
    )
    dataset = open_dataset(config, JournalConfig())
    store = EmbeddedStore(dataset, SparqlConfig(), LimitsConfig())
    store.write_graph(GraphWrite(GraphEdit.MERGE, None, others()))
    store.apply(Update(f"INSERT DATA {{ {sensors()} }}"))
    over = threading.Event()

    def keep() -> None:
        while not over.wait(0.25):
            store.sync()
            store.keep()

    keeper = threading.Thread(target=keep)
    keeper.start()
    took = array("d")  # a list of them would grow by more than what is measured
    sizes: list[float] = []
    for number in range(REPLACEMENTS):
        began = time.perf_counter()
        with dataset.quiet:
            store.apply(Update(replace(number)))
        took.append(time.perf_counter() - began)
        if number % (REPLACEMENTS // 10) == REPLACEMENTS // 10 - 1:
            sizes.append(resident_mb())
    over.set()
    keeper.join()
    assert len(dataset.store) == OTHERS + 2 * SENSORS
    first, last = (statistics.median(part) * 1e6 for part in (took[:1000], took[-1000:]))
    ordered = sorted(took)
    tenth = len(took) // 10
    course = [statistics.median(took[at : at + tenth]) * 1e6 for at in range(0, 10 * tenth, tenth)]
    print(
        f"\n{mode}: {REPLACEMENTS} replacements in {sum(took):.0f} s, median of the first 1,000 {first:.0f} us, of the "
        f"last {last:.0f} us, ratio {last / first:.2f}; p99 {ordered[-len(took) // 100] * 1e6:.0f} us, longest "
        f"{ordered[-1] * 1e3:.0f} ms; {dataset.upkeep.renewals} renewals, {dataset.upkeep.snapshots} snapshots; "
        f"MB {' '.join(f'{size:.0f}' for size in sizes)}; "
        f"medians of each tenth, us: {' '.join(f'{median:.0f}' for median in course)}"
    )
    store.close()


@pytest.mark.parametrize("engine", ["memory", "disk"])
def test_bare(engine, tmp_path):
    """The same of Oxigraph alone, and far fewer."""
    store = pyoxigraph.Store() if engine == "memory" else pyoxigraph.Store(str(tmp_path / "bare"))
    store.load(others().encode(), format=pyoxigraph.RdfFormat.TURTLE)
    store.load(sensors().encode(), format=pyoxigraph.RdfFormat.TURTLE)
    took = []
    for number in range(min(BARE, REPLACEMENTS)):
        began = time.perf_counter()
        store.update(replace(number))
        took.append(time.perf_counter() - began)
    first, last = (statistics.median(part) * 1e6 for part in (took[:1000], took[-1000:]))
    print(
        f"\nbare, {engine}: {len(took)} replacements, first {first:.0f} us, last {last:.0f} us, {last / first:.2f}"
    )
    assert len(store) == OTHERS + 2 * SENSORS
