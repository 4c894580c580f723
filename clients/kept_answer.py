"""The answer to a live query as the client last knew it, so that after a reconnection only the difference is told."""

from __future__ import annotations

from collections import Counter

from triplewire.broker.model import BindingsDelta, Row


class KeptAnswer:
    """A bag of rows over `vars`; every change of it is a delta over the same variables.

    The variables of a query do not change, but a broker may leave them out of an empty answer, and another release of
    it may put them in another order: rows are turned into the order that came first.
    """

    def __init__(self) -> None:
        self.vars: tuple[str, ...] = ()
        self.rows: Counter[Row] = Counter()

    def apply(self, delta: BindingsDelta) -> BindingsDelta:
        """Take a change in and return it over our variables.  The work is that of the change, not of the answer."""
        change = self._ours(delta)
        self.rows.update(change.added)
        for row, times in change.removed.items():
            left = self.rows[row] - times
            if left > 0:
                self.rows[row] = left
            else:
                del self.rows[row]
        return change

    def replace(self, whole: BindingsDelta) -> BindingsDelta:
        """Take a whole new answer (first results) in, and return what is different in it."""
        now = self._ours(whole)
        difference = BindingsDelta.between(self.vars, self.rows, now.added)
        # A copy: the delta belongs to whoever holds the notification.
        self.rows = Counter(now.added)
        return difference

    def _ours(self, delta: BindingsDelta) -> BindingsDelta:
        if delta.vars == self.vars:
            return delta
        if not self.rows:
            self.vars = delta.vars or self.vars
            return BindingsDelta(self.vars, delta.added, delta.removed)
        self._widen(tuple(name for name in delta.vars if name not in self.vars))
        places = [delta.vars.index(name) if name in delta.vars else None for name in self.vars]
        return BindingsDelta(self.vars, _moved(delta.added, places), _moved(delta.removed, places))

    def _widen(self, names: tuple[str, ...]) -> None:
        if names:
            self.vars += names
            unbound = (None,) * len(names)
            self.rows = Counter({row + unbound: times for row, times in self.rows.items()})


def _moved(rows: Counter[Row], places: list[int | None]) -> Counter[Row]:
    moved: Counter[Row] = Counter()
    for row, times in rows.items():
        moved[tuple(row[place] if place is not None else None for place in places)] += times
    return moved
