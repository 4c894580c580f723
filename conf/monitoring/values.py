"""The present values for people: a table that lives on a terminal, or a line for each change."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

from pyoxigraph import Literal, NamedNode
from rich.console import Console
from rich.live import Live
from rich.table import Table

from .services import Follower

if TYPE_CHECKING:
    from triplewire.broker.model import Term
    from triplewire.clients import ClientSettings, Solution
    from triplewire.jsap import Profile

COLUMNS = ("location", "label", "value", "unit", "time")


class Values(Follower):
    """Follows OBSERVATIONS_VALUES, and shows it on `out`."""

    def __init__(self, profile: Profile, out: IO[str], settings: ClientSettings | None = None) -> None:
        super().__init__(profile, "OBSERVATIONS_VALUES", settings=settings)
        self._console = Console(file=out)
        self._out = out
        self._rows: dict[tuple[Term | None, ...], list[str]] = {}

    async def run(self) -> None:
        """Show it until cancelled.

        Raises:
            ClientError: the broker was away at the start, or refuses the subscription.
        """
        if not self._console.is_terminal:
            await self.follow()
            return
        with Live(console=self._console, get_renderable=self._table, refresh_per_second=4):
            await self.follow()

    def on_first_results(self, rows: list[Solution]) -> None:
        """The values of the moment."""
        self.on_added(rows)

    def on_added(self, rows: list[Solution]) -> None:
        """New values."""
        for row in rows:
            cells = [_short(row[name]) for name in COLUMNS]
            self._rows[_key(row)] = cells
            if not self._console.is_terminal:
                self._out.write("\t".join(cells) + "\n")
        self._out.flush()

    def on_removed(self, rows: list[Solution]) -> None:
        """Values that were replaced, and observations that are gone."""
        for row in rows:
            self._rows.pop(_key(row), None)

    def _table(self) -> Table:
        table = Table(*COLUMNS)
        for cells in sorted(self._rows.values()):
            table.add_row(*cells)
        return table


def _key(row: Solution) -> tuple[Term | None, ...]:
    return tuple(row.get(name) for name in ("observation", *COLUMNS))


def _short(term: Term) -> str:
    """What a person wants to read of a term: a text, or the last part of an IRI."""
    if isinstance(term, Literal):
        return term.value
    if isinstance(term, NamedNode):
        return term.value.rpartition("#")[2].rpartition("/")[2]
    return str(term)
