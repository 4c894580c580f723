"""What subscribers are told, held against what `NaiveSpu` says of the same store.

`Judged` is a broker's core with a judge beside each query that is held: after every write the judge evaluates the query
whole, whether or not the core thought it touched, and each subscription must have been told exactly the difference.
What was done is written down, so that a disagreement can be done again, and made smaller (`shrunk`).
"""

from __future__ import annotations

import re
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from triplewire.broker.config import LimitsConfig, SparqlConfig
from triplewire.broker.core import Core
from triplewire.broker.errors import BrokerError
from triplewire.broker.model import (
    BindingsDelta,
    GraphWrite,
    Notification,
    Query,
    Subscribe,
    Unsubscribe,
    Update,
)
from triplewire.broker.subscriptions import Subscriptions
from triplewire.spu.analysis.analysis import analyse
from triplewire.spu.explanation import explained
from triplewire.spu.naive import NaiveSpu

from .stores import embedded

LIMITS, SPARQL = LimitsConfig(), SparqlConfig()
_ORDERED = re.compile(r"ORDER\s+BY", re.IGNORECASE)


class Disagreement(AssertionError):
    """Somebody was told another thing than the judge says."""


class Gone(NamedTuple):
    """A step: one of those who hold the query leaves."""

    query: Query


Step = Query | Update | GraphWrite | Gone


class Kind(NamedTuple):
    """What serves a query: its form, the class of the unit, and of its way where it has one, and words for how."""

    form: str
    unit: str
    words: str


@dataclass
class Tally:
    """How many pairs of a query and an update there were; an update that was refused makes none."""

    pairs: Counter[Kind] = field(default_factory=Counter)
    touched: Counter[Kind] = field(default_factory=Counter)
    changed: Counter[Kind] = field(default_factory=Counter)
    firsts: int = 0  # first results that were compared
    beyond: int = 0  # queries that the judge itself could no longer evaluate

    def table(self) -> str:
        """One line for each kind of unit, and the sums."""
        lines = [f"{'pairs':>9} {'touched':>9} {'changed':>9}  unit"]
        for kind, pairs in sorted(self.pairs.items()):
            name = f"{kind.form:9} {kind.unit:24} {kind.words}"
            lines.append(f"{pairs:9} {self.touched[kind]:9} {self.changed[kind]:9}  {name}")
        sums = self.pairs.total(), self.touched.total(), self.changed.total()
        lines.append("{:9} {:9} {:9}  in all".format(*sums))
        lines.append(f"{self.firsts} first results compared; {self.beyond} queries that Oxigraph gave up")
        return "\n".join(lines)


class _Met(Subscriptions):
    """Remembers whom the core thought touched."""

    met: frozenset[int] = frozenset()

    def touched(self, delta):
        found = super().touched(delta)
        self.met = frozenset(map(id, found))
        return found


@dataclass
class _Held:
    """A query that is held, with its judge, the unit that serves it, and each subscription's last sequence."""

    judge: NaiveSpu
    unit: int
    kind: Kind
    sequences: dict[str, int]


class Judged:
    """A core and its judges."""

    def __init__(self, tally: Tally | None = None, *, union: bool = False) -> None:
        """`union`: the default graph is all graphs together."""
        self.tally = Tally() if tally is None else tally
        self.union = union
        self.steps: list[Step] = []
        self.store = embedded(union_default_graph=union)
        self.analyse = partial(
            analyse, base_iri=SPARQL.base_iri, prefixes=SPARQL.prefixes, union_default_graph=union
        )
        self._subscriptions = _Met(LIMITS, analyse=self.analyse)
        self._core = Core(self.store, self._subscriptions)
        self._held: dict[Query, _Held] = {}

    @property
    def queries(self) -> list[Query]:
        """Those that are held."""
        return list(self._held)

    def take(self, step: Step) -> bool:
        """Carry out one step; whether it was accepted.

        Raises:
            Disagreement: somebody was told another thing than the judge says.
        """
        self.steps.append(step)
        match step:
            case Query():
                return self._subscribe(step)
            case Gone(query):
                return self._leave(query)
        return self._write(step)

    def _subscribe(self, query: Query) -> bool:
        held = self._held.get(query)
        judge = NaiveSpu(query) if held is None else held.judge
        try:
            ((_, told),) = self._core.handle(Subscribe(query, 1)).messages
        except BrokerError as error:
            with suppress(BrokerError):
                NaiveSpu(query).first(self.store)
                raise Disagreement(f"{query} was refused: {error}") from error
            return False
        assert isinstance(told, Notification)
        self._check_first(query, told.delta)
        if held is None:
            unit, _ = self._subscriptions.unit_of(query)
            kind = _kind(self.analyse(query), unit)
            held = self._held[query] = _Held(judge, id(unit), kind, {})
            judge.first(self.store)
        held.sequences[told.spuid] = told.sequence
        return True

    def _check_first(self, query: Query, told: BindingsDelta) -> None:
        fresh = NaiveSpu(query).first(self.store)
        self.tally.firsts += 1
        if told.vars != fresh.vars or told.added != fresh.bag() or told.removed:
            raise Disagreement(f"first results of {query}\ntold {told}\nmust be {fresh}")
        if _ORDERED.search(query.sparql) and list(told.added) != list(dict.fromkeys(fresh.rows)):
            raise Disagreement(f"the order of {query}\ntold {told}\nmust be {fresh}")

    def _leave(self, query: Query) -> bool:
        held = self._held.get(query)
        if held is None:
            return False
        spuid, _ = held.sequences.popitem()
        self._core.handle(Unsubscribe(spuid, 1))
        if not held.sequences:
            del self._held[query]
        return True

    def _write(self, change: Update | GraphWrite) -> bool:
        self._subscriptions.met = frozenset()
        accepted = True
        try:
            messages = self._core.handle(change).messages
        except BrokerError:
            accepted, messages = False, ()
        told = {message.spuid: message for _, message in messages}
        if len(told) != len(messages):
            raise Disagreement("somebody was told twice")
        for query, held in list(self._held.items()):
            self._judge(query, held, told, counts=accepted)
        if told:
            raise Disagreement(f"told to nobody: {told}")
        return accepted

    def _judge(self, query: Query, held: _Held, told: dict, *, counts: bool) -> None:
        messages = {spuid: told.pop(spuid, None) for spuid in held.sequences}
        try:
            expected = held.judge.after(None, self.store)
        except BrokerError:
            self._give_up(query, messages)
            return
        for spuid, message in messages.items():
            held.sequences[spuid] = _checked(message, expected, held.sequences[spuid], query, held.kind)
        if counts:
            self.tally.pairs[held.kind] += 1
            self.tally.touched[held.kind] += held.unit in self._subscriptions.met
            self.tally.changed[held.kind] += bool(expected)

    def _give_up(self, query: Query, messages: dict) -> None:
        """The judge can't evaluate it any more."""
        self.tally.beyond += 1
        del self._held[query]
        for spuid, message in messages.items():
            if message is None or isinstance(message, Notification):
                self._core.handle(Unsubscribe(spuid, 1))


def _checked(message, expected: BindingsDelta, sequence: int, query: Query, kind: Kind) -> int:
    """The sequence after this message, which is None where nobody was told anything."""
    about = f"{query}\nserved by {kind}"
    if message is None:
        if expected:
            raise Disagreement(f"{about}\ntold nothing\nmust be {expected}")
        return sequence
    if not isinstance(message, Notification):
        raise Disagreement(f"{about}\nended: {message}\nmust be {expected}")
    told = message.delta
    same = (told.vars, told.added, told.removed) == (expected.vars, expected.added, expected.removed)
    if not expected or not same:
        raise Disagreement(f"{about}\ntold {told}\nmust be {expected}")
    if message.sequence != sequence + 1:
        raise Disagreement(f"{about}\nsequence {message.sequence} after {sequence}")
    return message.sequence


def _kind(analysis, held) -> Kind:
    unit = held.unit
    way = getattr(unit, "way", None)
    name = type(unit).__name__.removesuffix("Spu")
    if way is not None:
        name += f" of {type(way).__name__}"
    if held.key != analysis.query:
        name += ", shared"
    form = "-" if analysis.form is None else analysis.form.value
    return Kind(form, name, _roughly(explained(held.analysis, unit)))


def _roughly(words: str) -> str:
    """The words without names of variables, terms and reasons."""
    found = re.sub(r"by group.*? of solutions that are", "by group of solutions", words)
    parts = (re.split(r" \?|: | by |, no", part)[0] for part in found.split("; "))
    return "; ".join(sorted(dict.fromkeys(parts)))


# --- reproductions ----------------------------------------------------------------------------------------------


def replayed(steps: list[Step], *, union: bool = False) -> str | None:
    """Do it again from the beginning; the disagreement that it comes to, if any."""
    judged = Judged(union=union)
    try:
        for step in steps:
            judged.take(step)
    except Disagreement as error:
        return str(error)
    finally:
        judged.store.close()
    return None


def shrunk(steps: list[Step], *, union: bool = False, within_s: float = 20) -> list[Step]:
    """Fewer steps, and fewer triples in those that insert data, that still come to a disagreement."""
    deadline = time.monotonic() + within_s
    found = [part for step in steps for part in _split(step)]
    if replayed(found, union=union) is None:
        found = list(steps)
    size = max(1, len(found) // 2)
    while True:
        place = 0
        before = len(found)
        while place < len(found) and time.monotonic() < deadline:
            fewer = found[:place] + found[place + size :]
            if replayed(fewer, union=union) is None:
                place += size
            else:
                found = fewer
        if time.monotonic() >= deadline or (size == 1 and len(found) == before):
            return found
        size = max(1, size // 2)


def _split(step: Step) -> list[Step]:
    """An update made of lines that can each be one: how data is put in."""
    if not isinstance(step, Update) or not step.sparql.startswith("# data\n"):
        return [step]
    return [Update(line) for line in step.sparql.splitlines()[1:]]


def reproduction(steps: list[Step], *, union: bool = False) -> str:
    """The steps as a text, with what they come to."""
    lines = [f"union_default_graph = {union}"] if union else []
    for step in steps:
        match step:
            case Query(text):
                lines.append(f"SUBSCRIBE {' '.join(text.split())} {_dataset(step)}")
            case Update(text):
                lines.append(f"UPDATE    {' '.join(text.split())}")
            case _:
                lines.append(str(step))
    return "\n".join([*lines, "", str(replayed(steps, union=union))])


def _dataset(query: Query) -> str:
    if not query.default_graphs and not query.named_graphs:
        return ""
    return f"(default {query.default_graphs}, named {query.named_graphs})"
