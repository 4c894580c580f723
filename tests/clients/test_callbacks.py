from collections import Counter

import pytest
from pyoxigraph import Literal

from triplewire.broker.errors import BrokerRefused
from triplewire.broker.model import BindingsDelta, Notification, Query
from triplewire.clients.callbacks import Callbacks, Changed, Ended, Failed, FirstResults, split
from triplewire.clients.live_query import LiveQuery

ONE, TWO = Literal(1), Literal(2)
NAMES = ("on_first_results", "on_notification", "on_added", "on_removed", "on_error", "on_unsubscribe")


@pytest.fixture
def heard():
    return []


@pytest.fixture
def callbacks(heard):
    return Callbacks(**{name: lambda argument, name=name: heard.append((name, argument)) for name in NAMES})


def notification(added=(), removed=(), sequence=1):
    delta = BindingsDelta(("x",), Counter(added), Counter(removed))
    return Notification("sepa://subscription/1", None, sequence, delta)


def tell(callbacks, kind, *parts):
    live = LiveQuery(Query("SELECT"), None, callbacks)
    for function, argument in callbacks.told(kind(live, *parts)):
        function(argument)


def test_first_results_are_told_alone(callbacks, heard):
    """As SEPA's clients do."""
    tell(callbacks, FirstResults, notification([(ONE,), (ONE,)], sequence=0))

    assert heard == [("on_first_results", [{"x": ONE}, {"x": ONE}])]


def test_a_change_is_told_whole_and_then_by_its_sides(callbacks, heard):
    """In SEPA's order."""
    change = notification([(ONE,)], [(TWO,), (None,)])

    tell(callbacks, Changed, change)

    assert heard == [
        ("on_notification", change),
        ("on_added", [{"x": ONE}]),
        ("on_removed", [{"x": TWO}, {}]),
    ]


def test_an_empty_side_is_not_told(callbacks, heard):
    """Nobody wants an empty list."""
    tell(callbacks, Changed, notification([(ONE,)]))
    tell(callbacks, Changed, notification([], [(ONE,)]))

    assert [name for name, _ in heard] == ["on_notification", "on_added", "on_notification", "on_removed"]


def test_the_end_is_told(callbacks, heard):
    """With its reason."""
    error = BrokerRefused("sid_not_found", 500, "what?")

    tell(callbacks, Failed, error)
    tell(callbacks, Ended, "sepa://subscription/1")

    assert heard == [("on_error", error), ("on_unsubscribe", "sepa://subscription/1")]


def test_methods_can_be_overridden(heard):
    """In a subclass."""

    class Mine(Callbacks):
        def on_added(self, rows):
            heard.append(rows)

    tell(Mine(), Changed, notification([(ONE,)], [(TWO,)]))

    assert heard == [[{"x": ONE}]]


def test_a_keyword_wins_over_a_method(heard):
    """It is nearer to the call."""

    class Mine(Callbacks):
        def on_added(self, rows):
            raise AssertionError(rows)

    tell(Mine(on_added=heard.append), Changed, notification([(ONE,)]))

    assert heard == [[{"x": ONE}]]


def test_a_misspelt_callback_is_refused():
    """It would never be called."""
    with pytest.raises(TypeError, match=r"on_add.*on_added"):
        Callbacks(on_add=print)


def test_keywords_are_callbacks_or_values():
    """`GenericClient.subscribe` takes both."""
    assert split({"on_added": print, "sensor": 7}) == ({"on_added": print}, {"sensor": 7})
