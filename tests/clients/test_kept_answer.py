from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import BlankNode, Literal

from triplewire.broker.model import Bindings, BindingsDelta
from triplewire.clients.kept_answer import KeptAnswer

terms = st.one_of(st.none(), st.integers(0, 3).map(Literal), st.sampled_from("ab").map(BlankNode))
rows = st.tuples(terms, terms)
bags = st.lists(rows, max_size=6).map(Counter)
ONE, TWO = Literal(1), Literal(2)


def first(variables, *rows):
    return BindingsDelta.first(Bindings(variables, rows))


@given(bags, st.lists(bags, max_size=5))
def test_changes_lead_to_where_they_point(start, answers):
    """The kept rows are what the deltas say, duplicates included."""
    kept = KeptAnswer()
    kept.apply(BindingsDelta(("x", "y"), start, Counter()))
    before = start
    for after in answers:
        kept.apply(BindingsDelta.between(("x", "y"), before, after))
        before = after

        assert kept.rows == after


@given(bags, bags)
def test_a_whole_new_answer_is_told_as_its_difference(before, after):
    """And only by rows that are in one of the two more often than in the other."""
    kept = KeptAnswer()
    kept.apply(BindingsDelta(("x", "y"), before, Counter()))

    difference = kept.replace(BindingsDelta(("x", "y"), after, Counter()))

    assert difference == BindingsDelta.between(("x", "y"), before, after)
    assert kept.rows == after


@given(bags, bags)
def test_the_order_of_the_variables_does_not_matter(before, after):
    """Another release of a broker may order them differently."""
    kept = KeptAnswer()
    kept.apply(BindingsDelta(("x", "y"), before, Counter()))
    turned = Counter({(y, x): times for (x, y), times in after.items()})

    kept.replace(BindingsDelta(("y", "x"), turned, Counter()))

    assert kept.rows == (after if before else turned)
    assert kept.vars == (("x", "y") if before else ("y", "x"))


def test_variables_that_an_empty_answer_did_not_name_are_learned():
    """Older brokers send an empty object for an empty answer."""
    kept = KeptAnswer()
    kept.apply(first(()))

    change = kept.apply(BindingsDelta(("x",), Counter([(ONE,)]), Counter()))

    assert kept.vars == change.vars == ("x",)
    assert kept.rows == Counter([(ONE,)])


def test_an_answer_that_is_empty_again_keeps_its_variables():
    """Whatever the head of the empty one says."""
    kept = KeptAnswer()
    kept.apply(first(("x",), (ONE,)))

    difference = kept.replace(first(()))

    assert difference == BindingsDelta(("x",), Counter(), Counter([(ONE,)]))
    assert kept.vars == ("x",)


def test_a_new_variable_is_unbound_in_the_old_rows():
    """Nothing is lost."""
    kept = KeptAnswer()
    kept.apply(first(("x",), (ONE,)))

    kept.apply(BindingsDelta(("x", "y"), Counter([(TWO, ONE)]), Counter()))

    assert kept.rows == Counter([(ONE, None), (TWO, ONE)])


def test_blank_nodes_compare_by_their_labels():
    """A broker keeps the identity of its blank nodes, so another label is another node."""
    kept = KeptAnswer()
    kept.apply(first(("x",), (BlankNode("a"),), (BlankNode("b"),)))

    difference = kept.replace(first(("x",), (BlankNode("a"),), (BlankNode("c"),)))

    assert difference.added == Counter([(BlankNode("c"),)])
    assert difference.removed == Counter([(BlankNode("b"),)])


def test_a_notification_is_never_changed_by_what_comes_after_it():
    """Its bags are the user's."""
    kept = KeptAnswer()
    whole = first(("x",), (ONE,))
    kept.apply(first(("x",)))
    kept.replace(whole)

    kept.apply(BindingsDelta(("x",), Counter([(ONE,)]), Counter()))

    assert whole.added == Counter([(ONE,)])


def test_a_row_that_we_never_had_can_not_be_removed():
    """It is forgotten rather than counted below zero."""
    kept = KeptAnswer()
    kept.apply(first(("x",)))

    kept.apply(BindingsDelta(("x",), Counter(), Counter([(ONE,)])))

    assert kept.rows == Counter()
