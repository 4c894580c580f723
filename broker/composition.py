"""Several changes of one answer, put together as they come: what is added and removed again cancels."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from .model import BindingsDelta

if TYPE_CHECKING:
    from .model import Row


class Composition:
    """The net change of a bag of rows over `vars`; true where there is one.

    Its size is bounded by the size of the answer before and after, however many changes are taken in.
    """

    __slots__ = ("_net", "vars")

    def __init__(self, vars: tuple[str, ...]) -> None:  # noqa: A002 - head.vars is the format's own name
        self.vars = vars
        self._net: dict[Row, int] = {}  # how many more of a row there are, or fewer; never 0

    def __len__(self) -> int:
        """How many different rows came or went."""
        return len(self._net)

    def add(self, delta: BindingsDelta) -> None:
        """Take in the change that came after all the others; the work is that of this change."""
        net = self._net
        for sign, bag in ((1, delta.added), (-1, delta.removed)):
            for row, times in bag.items():
                now = net.get(row, 0) + sign * times
                if now:
                    net[row] = now
                else:
                    net.pop(row, None)

    def delta(self) -> BindingsDelta:
        """The net change so far."""
        added: Counter[Row] = Counter()
        removed: Counter[Row] = Counter()
        for row, times in self._net.items():
            if times > 0:
                added[row] = times
            else:
                removed[row] = -times
        return BindingsDelta(self.vars, added, removed)
