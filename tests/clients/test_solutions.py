from pyoxigraph import Literal, NamedNode

from triplewire.broker.model import Bindings
from triplewire.clients.solutions import solution, solutions_of

A, ONE = NamedNode("http://example.org/a"), Literal(1)


def test_an_unbound_variable_is_not_in_the_mapping():
    """So `in` asks whether a variable is bound."""
    assert solution(("x", "y"), (A, None)) == {"x": A}


def test_duplicates_and_order_stay():
    """Answers are bags in an order."""
    assert solutions_of(Bindings(("n",), ((ONE,), (A,), (ONE,)))) == [{"n": ONE}, {"n": A}, {"n": ONE}]
