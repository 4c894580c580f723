"""The traps on the way from a change to a query's rows: each is stepped over, and whoever makes its mistake is caught.

A trap is a query, data and updates, and the mistake: a unit or the analysis made wrong in the way that one would first
write it.  The same comparison with `NaiveSpu` that passes must fail with it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest
from pyoxigraph import BlankNode, Literal
from support.equivalence import Disagreement, Judged
from support.stores import PROLOGUE

from triplewire.broker.model import BindingsDelta, Query, Update
from triplewire.spu import joined, shaped
from triplewire.spu.analysis import algebra
from triplewire.spu.analysis import template as templates
from triplewire.spu.analysis.analysis import Analysis, Restricted
from triplewire.spu.analysis.occurrence import Graphs
from triplewire.spu.counted import CountedSpu
from triplewire.spu.grouped import GroupedSpu
from triplewire.spu.joined import JoinedRows
from triplewire.spu.keyed import KeyedRows
from triplewire.spu.shaped import ShapedSpu
from triplewire.spu.watching import Watching

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Trap:
    """`unit` begins the name of what serves the query, so that it is the one that the mistake is made in."""

    name: str
    mistake: Callable[[pytest.MonkeyPatch], None]
    unit: str
    query: str
    updates: tuple[str, ...]
    union: bool = False


@pytest.fixture(autouse=True)
def _no_analysis_is_kept():
    templates.template.cache_clear()
    yield
    templates.template.cache_clear()


# --- mistakes ---------------------------------------------------------------------------------------------------


def sets_for_bags(monkeypatch):
    """A row comes once or not at all."""
    after = JoinedRows.after

    def wrong(self, delta, dataset):
        return tuple(Counter(dict.fromkeys(rows, 1)) for rows in after(self, delta, dataset))

    monkeypatch.setattr(JoinedRows, "after", wrong)


def _mapped(monkeypatch, way, change):
    """Of the ways' rows other ones, before they are compared."""
    after = way.after

    def wrong(self, delta, dataset):
        came, went = [
            Counter(tuple(map(change, row)) for row in rows.elements())
            for rows in after(self, delta, dataset)
        ]
        return came - went, went - came

    monkeypatch.setattr(way, "after", wrong)


def unbound_is_empty(monkeypatch):
    """Nothing is the empty string."""
    _mapped(monkeypatch, KeyedRows, lambda term: Literal("") if term is None else term)


def blank_nodes_are_alike(monkeypatch):
    """One is like the other."""
    _mapped(monkeypatch, JoinedRows, lambda term: BlankNode("b") if isinstance(term, BlankNode) else term)


def any_certain_variable_may_be_given(monkeypatch):
    """Whatever stands in the parts that would then see it bound; as a substitution, as blank nodes always are."""
    monkeypatch.setattr(Analysis, "restricting", lambda self, keys: Restricted(self.asking(keys), None))
    monkeypatch.setattr(
        templates,
        "_allowed",
        lambda _, found, __: {name for name in found.certain if not name.startswith("_:")},
    )


def any_minus_has_keys(monkeypatch):
    """As if both sides always had a variable in common."""
    any_certain_variable_may_be_given(monkeypatch)
    element = algebra.Reader._element

    def wrong(self, element_, found, context, given):
        element(self, element_, found, context, given)
        found.reasons.pop("MINUS of what may share no variable", None)

    monkeypatch.setattr(algebra.Reader, "_element", wrong)


def any_variable_may_be_given(monkeypatch):
    """Also those that are not bound in every solution."""
    monkeypatch.setattr(algebra.Found, "keep", lambda *_: None)
    monkeypatch.setattr(templates, "_allowed", lambda _, found, __: set(found.visible))


def keys_stay_hidden(monkeypatch):
    """What is given is not among the columns."""
    monkeypatch.setattr(Analysis, "asking", lambda self, _: self.query)


def keys_are_shown(monkeypatch):
    """What was added to the columns is told as well."""
    monkeypatch.setattr(shaped, "picker", lambda *_: lambda row: row)


def blank_nodes_are_no_keys(monkeypatch):
    """VALUES can't carry them."""
    keys_of = KeyedRows._keys_of

    def wrong(self, delta):
        found = keys_of(self, delta)
        return found and [
            keys for keys in found if not any(isinstance(term, BlankNode) for term in keys.values())
        ]

    monkeypatch.setattr(KeyedRows, "_keys_of", wrong)


def columns_are_sorted(monkeypatch):
    """`SELECT *` as Oxigraph has it."""
    monkeypatch.setattr(templates, "_ordered", lambda _, __, visible: tuple(sorted(visible)))


def each_quad_counts_its_rows(monkeypatch):
    """What a row has of other changed quads does not matter."""
    steps = joined._steps
    monkeypatch.setattr(
        joined, "_steps", lambda *args: tuple(step._replace(old=False) for step in steps(*args))
    )


def each_key_counts_its_rows(monkeypatch):
    """Rows that agree with two keys are two."""

    def wrong(self, dataset):
        bag = Counter()
        for keys in self._keys:
            answer = dataset.evaluate(self._asked, keys)
            self.places = {name: place for place, name in enumerate(answer.vars)}
            bag.update(answer.rows)
        return bag

    monkeypatch.setattr(KeyedRows, "_evaluate", wrong)


def a_row_that_goes_is_the_last(monkeypatch):
    """ASK is false then."""

    def wrong(self, case, _, *, came):
        query, was = self._truths[case]
        self._truths[case] = query, came
        before, after = (Literal(was),), (Literal(came),)
        return BindingsDelta(
            ("boolean",), Counter([after]) - Counter([before]), Counter([before]) - Counter([after])
        )

    monkeypatch.setattr(ShapedSpu, "_flipped", wrong)


def distinct_is_plain(monkeypatch):
    """Each solution is a row."""
    monkeypatch.setattr(Analysis, "is_plain", property(lambda _: True))


def only_groups_that_are_there(monkeypatch):
    """Of those that have gone the store says nothing."""
    now = GroupedSpu._now

    def wrong(self, case, keys, dataset):
        return {key: rows for key, rows in now(self, case, keys, dataset).items() if rows}

    monkeypatch.setattr(GroupedSpu, "_now", wrong)


def groups_of_none_stay(monkeypatch):
    """A count can be 0."""

    def wrong(self, case, more):
        counted, added, removed = self._counted[case], Counter(), Counter()
        for key, count in more.items():
            if count:
                removed[self._row(case, key, counted[key])] += 1
                counted[key] += count
                added[self._row(case, key, counted[key])] += 1
        return BindingsDelta(case.names, added, removed)

    monkeypatch.setattr(CountedSpu, "_change", wrong)


def changes_are_quads(monkeypatch):
    """A graph comes and goes with its quads."""
    touched = Watching.touched
    monkeypatch.setattr(
        Watching,
        "touched",
        lambda self, delta: touched(self, replace(delta, created=frozenset(), dropped=frozenset())),
    )


def all_graphs_are_one(monkeypatch):
    """What is joined is so inside of the graph that changes."""
    monkeypatch.setattr(Graphs, "is_one", property(lambda self: self.variable is None))


# --- traps ------------------------------------------------------------------------------------------------------

JOINED, KEYED, GROUPED = "Shaped of JoinedRows", "Shaped of KeyedRows", "Grouped"
TRAPS = [
    Trap(
        "bags_not_sets",
        sets_for_bags,
        JOINED,
        "SELECT ?v { [] :p ?v }",
        ("INSERT DATA { :a :p 1 . :b :p 1 }", "DELETE DATA { :a :p 1 }"),
    ),
    Trap(
        "unbound_is_not_bound",
        unbound_is_empty,
        KEYED,
        "SELECT ?s ?n { ?s :p ?v OPTIONAL { ?s :q ?n } }",
        ("INSERT DATA { :a :p 1 }", "INSERT DATA { :a :q '' }"),
    ),
    Trap(
        "blank_nodes_by_identity",
        blank_nodes_are_alike,
        JOINED,
        "SELECT ?o { :a :p ?o }",
        (
            "INSERT DATA { :a :p _:x }",
            "DELETE { :a :p ?o } INSERT { :a :p _:new } WHERE { :a :p ?o }",
        ),
    ),
    Trap(
        "optional_not_well_designed",
        any_certain_variable_may_be_given,
        KEYED,
        "SELECT * { ?x :p ?y OPTIONAL { ?z :q ?w OPTIONAL { ?w :r ?x } } }",
        ("INSERT DATA { :z :q :w . :w :r :b }", "INSERT DATA { :a :p 1 }"),
    ),
    Trap(
        "hidden_keys_are_projected",
        keys_stay_hidden,
        KEYED,
        "SELECT ?n { ?s :p ?v OPTIONAL { ?s :q ?n } }",
        ("INSERT DATA { :a :p 1 . :b :p 2 ; :q 3 }", "INSERT DATA { :a :q 2 }"),
    ),
    Trap(
        "hidden_keys_are_not_told",
        keys_are_shown,
        KEYED,
        "SELECT ?n { ?s :p ?v OPTIONAL { ?s :q ?n } }",
        ("INSERT DATA { :a :p 1 . :b :p 2 ; :q 3 }", "INSERT DATA { :a :q 2 }"),
    ),
    Trap(
        "values_carry_no_blank_nodes",
        blank_nodes_are_no_keys,
        KEYED,
        "SELECT ?s ?n { ?s :p ?v OPTIONAL { ?s :q ?n } }",
        ("INSERT DATA { _:x :p 1 }", "INSERT { ?s :q 2 } WHERE { ?s :p 1 }"),
    ),
    Trap(
        "star_is_in_order_of_appearance",
        columns_are_sorted,
        JOINED,
        "SELECT * { ?z :p ?a }",
        ("INSERT DATA { :a :p 1 }",),
    ),
    Trap(
        "keys_are_certain",
        any_variable_may_be_given,
        KEYED,
        "SELECT ?s ?n { ?s :p ?v OPTIONAL { ?s :q ?n } }",
        ("INSERT DATA { :a :p 1 }", "INSERT DATA { :a :q 2 }"),
    ),
    Trap(
        "two_quads_of_one_row_joined",
        each_quad_counts_its_rows,
        JOINED,
        "SELECT ?s ?o { ?s :p ?m . ?m :q ?o }",
        ("INSERT DATA { :a :p :m . :m :q 1 }",),
    ),
    Trap(
        "two_quads_of_one_row_keyed",
        each_key_counts_its_rows,
        KEYED,
        "SELECT ?s ?o { ?s :p ?m . ?m :q ?o OPTIONAL { ?o :r ?z } }",
        ("INSERT DATA { :a :p :m . :m :q :o }",),
    ),
    Trap(
        "ask_with_other_rows_left",
        a_row_that_goes_is_the_last,
        JOINED,
        "ASK { ?s :p ?v }",
        ("INSERT DATA { :a :p 1 . :b :p 1 }", "DELETE DATA { :a :p 1 }", "DELETE DATA { :b :p 1 }"),
    ),
    Trap(
        "distinct_with_other_derivations_left",
        distinct_is_plain,
        "Shaped of",
        "SELECT DISTINCT ?v { ?s :p ?v }",
        ("INSERT DATA { :a :p 1 . :b :p 1 }", "DELETE DATA { :a :p 1 }", "DELETE DATA { :b :p 1 }"),
    ),
    Trap(
        "group_that_goes",
        only_groups_that_are_there,
        GROUPED,
        "SELECT ?s (SUM(?v) AS ?n) { ?s :p ?v } GROUP BY ?s",
        ("INSERT DATA { :a :p 1 , 2 . :b :p 3 }", "DELETE DATA { :a :p 1 }", "DELETE WHERE { :a ?p ?o }"),
    ),
    Trap(
        "group_that_having_hides",
        only_groups_that_are_there,
        GROUPED,
        "SELECT ?s (SUM(?v) AS ?n) { ?s :p ?v } GROUP BY ?s HAVING(COUNT(*) > 1)",
        ("INSERT DATA { :a :p 1 , 2 . :b :p 3 }", "DELETE DATA { :a :p 1 }", "INSERT DATA { :a :p 7 }"),
    ),
    Trap(
        "group_that_is_counted_and_goes",
        groups_of_none_stay,
        "Counted",
        "SELECT ?s (COUNT(?v) AS ?n) { ?s :p ?v } GROUP BY ?s",
        ("INSERT DATA { :a :p 1 , 2 }", "DELETE WHERE { :a ?p ?o }", "INSERT DATA { :a :p 1 }"),
    ),
    Trap(
        "graph_without_a_quad",
        changes_are_quads,
        "",
        "SELECT ?g { GRAPH ?g { } }",
        ("CREATE GRAPH :new", "DROP GRAPH :new", "INSERT DATA { GRAPH :g { :a :p 1 } }", "DROP GRAPH :g"),
    ),
    Trap(
        "minus_that_shares_no_variable",
        any_minus_has_keys,
        KEYED,
        "SELECT ?s { ?s :p ?v MINUS { OPTIONAL { ?s :q ?y } } }",
        ("INSERT DATA { :b :p 1 }", "INSERT DATA { :a :p 1 }", "INSERT DATA { :a :q 1 }"),
    ),
    Trap(
        "one_triple_in_two_graphs",
        all_graphs_are_one,
        JOINED,
        "SELECT ?s ?o { ?s :p ?m . ?m :q ?o }",
        (
            "INSERT DATA { GRAPH :g { :a :p :m . :m :q 1 } }",
            "INSERT DATA { GRAPH :h { :a :p :m } }",
            "DELETE DATA { GRAPH :g { :a :p :m } }",
            "INSERT DATA { :m :q 1 }",
            "CLEAR GRAPH :h",
        ),
        union=True,
    ),
]
each_trap = pytest.mark.parametrize("trap", TRAPS, ids=lambda trap: trap.name)


def heard(trap: Trap, unit: str | None = None) -> None:
    """The query is held from the beginning; each update is compared."""
    judged = Judged(union=trap.union)
    assert judged.take(Query(PROLOGUE + trap.query))
    if unit is not None:
        (kind,) = [held.kind for held in judged._held.values()]
        assert kind.unit.startswith(unit), kind
    for text in trap.updates:
        assert judged.take(Update(PROLOGUE + text))
    assert judged.tally.pairs.total() == len(trap.updates)
    assert judged.tally.changed.total() > 0


@each_trap
def test_it_is_stepped_over(trap):
    """What is told is what `NaiveSpu` says."""
    heard(trap)


@each_trap
def test_who_makes_the_mistake_is_caught(trap, monkeypatch):
    """The comparison is sharp enough, and the mistake is made in the unit that serves the query."""
    trap.mistake(monkeypatch)
    with pytest.raises(Disagreement):
        heard(trap, trap.unit)
