"""Charts that follow a live query."""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING

from . import pictures
from .screens import CellScreen, FileScreen, in_notebook
from .series import Choice

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence
    from typing import Self

    from matplotlib.figure import Figure

    from .live import Live
    from .screens import Screen

logger = logging.getLogger("triplewire.clients")

_LOOK_S = 0.5  # how often a chart that is not to be drawn sees that it was stopped


def chart(  # noqa: PLR0913 - all but the live query are keywords
    live: Live,
    *,
    y: str | Sequence[str],
    x: str | None = None,
    by: str | None = None,
    title: str = "",
    to: str | os.PathLike[str] | None = None,
    every_s: float = 0.5,
    points: int = 5_000,
    size: tuple[float, float] = (8, 4),
) -> Chart:
    """Draw a live query, and again whenever it changes, but at most once in `every_s` seconds.

    `y` is a variable or several, whose values are numbers; `x` one of numbers, of moments (lines) or of texts (bars).
    Without `x` it shows when each row came, which suits a query for present values.  `by` makes a line for each of its
    values.  Of each line the last `points` are shown.

    In a notebook the picture is in the cell's output, whichever cell runs then; with `to` it is in that PNG file.
    In a plain script without `to` nothing is shown: `draw` and `save` are yours to call.

    Raises:
        ValueError: a variable is not the query's, or is no number.
        OSError: the file can't be written.
    """
    choice = Choice(x, (y,) if isinstance(y, str) else tuple(y), by, points)
    if not choice.y or points < 1 or every_s <= 0:
        raise ValueError("y names at least one variable, points is at least 1, and every_s more than 0")
    screen: Screen | None = None
    if to is not None:
        screen = FileScreen(to)
    elif in_notebook():
        screen = CellScreen()
    return Chart(live, choice, screen, title=title, every_s=every_s, size=size)


class Chart:
    """A picture of a live query; `chart` makes it.  It ends with the live query, or by `stop`."""

    def __init__(  # noqa: PLR0913 - it is made by `chart` alone
        self,
        live: Live,
        choice: Choice,
        screen: Screen | None,
        *,
        title: str,
        every_s: float,
        size: tuple[float, float],
    ) -> None:
        self._live = live
        self._choice = choice
        self._screen = screen
        self._title = title
        self._every_s = every_s
        self._drawing = threading.Lock()
        self._stopped = threading.Event()
        self._figure = pictures.new_figure(size)
        self.drawn = 0  # pictures so far
        version = live.version
        if live.vars:  # an empty answer may not tell them yet
            choice.check(choice.data(live))
        self.draw()
        self._thread: threading.Thread | None = None
        if screen is not None:
            self._thread = threading.Thread(
                target=self._follow, args=(version,), name="triplewire-chart", daemon=True
            )
            self._thread.start()

    def draw(self) -> Figure:
        """Draw what there is now, show it where it is shown, and return it: one figure, which is drawn over each time."""
        with self._drawing:
            self._draw()
            if self._screen is not None:
                self._screen.show(pictures.png(self._figure), self._words())
            self.drawn += 1
            return self._figure

    def save(self, path: str | os.PathLike[str]) -> None:
        """Draw what there is now into a file, in the format of its ending: png, svg, pdf.

        Raises:
            OSError: it can't be written.
        """
        with self._drawing:
            self._draw()
            self._figure.savefig(path)

    def stop(self) -> None:
        """Draw no more; the picture stays."""
        self._stopped.set()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(_LOOK_S * 4)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        state = "stopped" if self._stopped.is_set() or self._live.closed else "live"
        return f"<Chart of {', '.join(self._choice.y)}: {state}>"

    def _follow(self, version: int) -> None:
        """What the thread does: one picture for however many changes came since the last."""
        while not self._stopped.is_set():
            closed = self._live.closed  # asked first: what comes before the end is drawn, too
            now = self._live.changed(version, _LOOK_S)
            if now != version:
                version = now
                began = time.monotonic()
                self._draw_again()
                took = time.monotonic() - began
                self._stopped.wait(max(self._every_s - took, took))  # half of the time is for others
            elif closed:
                return

    def _draw_again(self) -> None:
        try:
            self.draw()
        except Exception:  # the disk is full, or the notebook gone; the next may do
            logger.exception("! a chart could not be drawn")

    def _draw(self) -> None:
        live, choice = self._live, self._choice
        try:
            data = choice.data(live)
            series = [] if data.empty else choice.series(data)
        except ValueError as error:  # rows came that are no numbers; they may go again
            pictures.say(self._figure, str(error))
            return
        labels = ("heard at (UTC)" if choice.x is None else choice.x, ", ".join(choice.y))
        pictures.draw(self._figure, series, labels, self._title, self._note())

    def _note(self) -> str:
        live = self._live
        if live.error is not None:
            return f"ended: {live.error}"
        return "" if live.connected or live.closed else "the connection is lost, and tried again"

    def _words(self) -> str:
        title = f"{self._title}: " if self._title else ""
        over = "the moment of hearing" if self._choice.x is None else self._choice.x
        return f"{title}{', '.join(self._choice.y)} over {over}"
