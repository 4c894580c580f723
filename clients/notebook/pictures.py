"""Series as a picture; nothing of matplotlib's global state is touched, so that any thread can draw."""

from __future__ import annotations

import io
import os
import re
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure

from .series import SERIES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from .series import Series

_DOTS: Final = 200  # a line of fewer points shows each
_NAMES: Final = 12  # a longer legend covers what it explains
_IRI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S")
_LONG: Final = 6  # texts that stand upright


def new_figure(size: tuple[float, float]) -> Figure:
    """An empty one of so many inches."""
    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def draw(figure: Figure, series: Sequence[Series], labels: tuple[str, str], title: str, note: str) -> None:
    """Lines over numbers and moments, bars over texts; `note` says in small letters how things stand."""
    figure.clear()
    axes = figure.subplots()
    shown = [one for one in series if len(one.y)][:SERIES]
    if any(one.x.dtype == object for one in shown):
        _bars(axes, shown)
    else:
        _lines(axes, shown)
    axes.set_xlabel(labels[0])
    axes.set_ylabel(labels[1])
    axes.set_title(title)
    axes.grid(visible=True, alpha=0.3)
    if len(shown) > 1 or (shown and shown[0].name != labels[1]):
        axes.legend(*(part[:_NAMES] for part in axes.get_legend_handles_labels()), fontsize="small")
    if not shown:
        axes.text(0.5, 0.5, "no points yet", transform=axes.transAxes, ha="center", va="center", alpha=0.6)
    more = len([one for one in series if len(one.y)]) - len(shown)
    notes = [text for text in (note, f"{more} more series are not shown" if more else "") if text]
    if notes:
        figure.supxlabel("; ".join(notes), fontsize="small", x=0.01, ha="left")


def say(figure: Figure, text: str) -> None:
    """A sentence instead of a picture."""
    figure.clear()
    figure.text(0.5, 0.5, text, ha="center", va="center", wrap=True)


def shortened(names: Sequence[str]) -> list[str]:
    """IRIs without the beginning that all of them have, up to a `/`, `#` or `:`; other names as they are."""
    common = re.match(r".*[/#:]", os.path.commonprefix(names))  # noqa: RUF071 - characters are meant
    if common is None or not all(_IRI.match(name) and len(name) > common.end() for name in names):
        return list(names)
    return [name[common.end() :] for name in names]


def png(figure: Figure) -> bytes:
    """The picture's bytes."""
    into = io.BytesIO()
    figure.savefig(into, format="png")
    return into.getvalue()


def _lines(axes: Axes, shown: Sequence[Series]) -> None:
    for one, name in zip(shown, shortened([one.name for one in shown]), strict=True):
        axes.plot(one.x, one.y, label=name, marker="." if len(one.y) <= _DOTS else None)
    if any(np.issubdtype(one.x.dtype, np.datetime64) for one in shown):
        locator = AutoDateLocator()  # type: ignore[no-untyped-call]
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]


def _bars(axes: Axes, shown: Sequence[Series]) -> None:
    places: dict[Any, int] = {}
    for one in shown:
        for text in one.x:
            places.setdefault(str(text), len(places))
    width = 0.8 / len(shown)
    names = shortened([one.name for one in shown])
    for number, one in enumerate(shown):
        aside = (number - (len(shown) - 1) / 2) * width
        axes.bar([places[str(text)] + aside for text in one.x], one.y, width, label=names[number])
    axes.set_xticks(range(len(places)), shortened(list(places)), rotation=90 if len(places) > _LONG else 0)
