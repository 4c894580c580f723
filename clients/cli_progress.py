"""A bar on a terminal: how much is done, how fast it goes, and how long it will take."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.progress import Task


class _Rate(ProgressColumn):
    """Units a second."""

    def __init__(self, unit: str) -> None:
        super().__init__()
        self._unit = unit

    def render(self, task: Task) -> Text:
        return Text(f"{task.speed or 0:,.0f} {self._unit}/s")


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Shows on a terminal that something is being done of which nobody knows how much there is."""
    if not sys.stderr.isatty():
        yield
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        progress.add_task(what, total=None)
        yield


@contextmanager
def progress_bar(what: str, total: int, unit: str) -> Iterator[Callable[[int], None]]:
    """Called with how much is done, all in all; shows nothing where nobody looks.

    What was done at the first call counts for the bar, and not for the rate.
    """
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        _Rate(unit),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task(what, total=total, start=False)
        last = -1

        def told(done: int) -> None:
            nonlocal last
            if 0 <= last <= done:
                progress.update(task, completed=done)
            else:  # the first call, or all of it begins anew
                progress.reset(task, completed=done)
            last = done

        yield told
