"""The figures of what was measured, like figures 3, 5 and 6 of Ztreamy's paper, as PNG and SVG beside the records.

    python tests/bench/fanout/plots.py [build/bench/fanout.jsonl]

draws them again. Of measurements of the same the newest is drawn, where all consumers had joined. Needs matplotlib (extra: bench).
"""

from __future__ import annotations

import importlib.util
import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes

_RESULTS = Path(__file__).parents[3] / "build" / "bench" / "fanout.jsonl"
_RATE_CONSUMERS = 500  # of the experiment by rate

Record = dict[str, Any]
Curves = dict[str, list[Record]]


def draw(results: Path = _RESULTS) -> list[str]:
    """Write the figures beside the records: a line for each that says where it is, or why it is not."""
    if importlib.util.find_spec("matplotlib") is None:
        return ["no figures: matplotlib is not installed (extra: bench)"]
    if not results.is_file():
        return [f"no figures: there is no {results}"]
    newest = _newest(results)
    by_consumers = _curves(_at_most_common_rate(newest), "consumers")
    by_rate = _curves([record for record in newest if record["consumers"] == _RATE_CONSUMERS], "rate")
    delays, costs = (
        [("delay, ms (median; dashed: 95 %)", _DELAYS)],
        [("share of a processor", _SHARE), ("µs of processor time a delivered item", _COST)],
    )
    return [
        *_figure(results.parent / "fanout-delay", by_consumers, "consumers", delays),
        *_figure(results.parent / "fanout-cpu", by_consumers, "consumers", costs),
        *_figure(results.parent / "fanout-rate", by_rate, "rate", [*delays, costs[0]]),
    ]


def _share(record: Record) -> float:
    return float(record["server_cpu_s"] / record["wall_s"])


# What a panel shows: values of a record, each with the style of its line.
_DELAYS: dict[str, Callable[[Record], float]] = {
    "-": lambda record: record["p50_ms"],
    "--": lambda record: record["p95_ms"],
}
_SHARE = {"-": _share}
_COST: dict[str, Callable[[Record], float]] = {"-": lambda record: record["us_a_delivery"]}
_LABELS = {"consumers": "consumers", "rate": "items a second"}


def _newest(results: Path) -> list[Record]:
    """The newest whole record of each measurement."""
    found = {}
    for line in results.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        if record["joined"] == record["consumers"] and record["deliveries"]:
            found[tuple(record[name] for name in ("peer", "mode", "consumers", "rate"))] = record
    return list(found.values())


def _at_most_common_rate(records: list[Record]) -> list[Record]:
    """Those at the rate that most numbers of consumers were measured at."""
    numbers = defaultdict(set)
    for record in records:
        numbers[record["rate"]].add(record["consumers"])
    rate = max(numbers, key=lambda each: (len(numbers[each]), -each), default=0)
    return [record for record in records if record["rate"] == rate]


def _curves(records: list[Record], by: str) -> Curves:
    """The records of each peer and mode, in order."""
    curves: Curves = defaultdict(list)
    for record in sorted(records, key=lambda each: each[by]):
        curves[f"{record['peer']}, {record['mode']}"].append(record)
    return curves


def _figure(
    path: Path, curves: Curves, by: str, panels: list[tuple[str, dict[str, Callable[[Record], float]]]]
) -> list[str]:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    if not curves:
        return []
    figure, axes = plt.subplots(
        1, len(panels), figsize=(7 * len(panels), 5), squeeze=False, layout="constrained"
    )
    for axis, (label, values) in zip(axes[0], panels, strict=True):
        _panel(axis, curves, by, values)
        axis.set(xlabel=_LABELS[by], ylabel=label)
    figure.legend(*axes[0][0].get_legend_handles_labels(), loc="outside right upper", fontsize="small")
    for kind in ("png", "svg"):
        figure.savefig(path.with_suffix(f".{kind}"), dpi=120)
    plt.close(figure)
    return [f"{path}.png and .svg"]


def _panel(axis: Axes, curves: Curves, by: str, values: dict[str, Callable[[Record], float]]) -> None:
    """A color for each peer, a marker for each mode; ours is thicker."""
    from matplotlib.ticker import LogLocator, NullFormatter

    peers, modes = (sorted({records[0][name] for records in curves.values()}) for name in ("peer", "mode"))
    for name, records in sorted(curves.items()):
        for style, value in values.items():
            axis.plot(
                [record[by] for record in records],
                [value(record) for record in records],
                style,
                color=f"C{peers.index(records[0]['peer'])}",
                marker="os^v"[modes.index(records[0]["mode"]) % 4],
                markersize=5 if style == "-" else 3,
                linewidth=2.5 if records[0]["peer"] == "triplewire" else 1.2,
                label=name if style == "-" else None,
            )
    ticks = sorted({record[by] for records in curves.values() for record in records})
    axis.set(xscale="log", yscale="log")
    axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.set_xticks([], minor=True)
    axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=30))
    axis.yaxis.set_major_formatter("{x:g}")
    axis.yaxis.set_minor_formatter(NullFormatter())
    axis.grid(visible=True, which="both", alpha=0.2)


if __name__ == "__main__":
    print("\n".join(draw(*map(Path, sys.argv[1:2]))))
