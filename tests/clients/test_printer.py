import io
import json
from collections import Counter

import pytest
from pyoxigraph import Literal, NamedNode

from triplewire.broker.errors import ConnectionLost
from triplewire.broker.model import BindingsDelta, Notification, Query
from triplewire.clients.callbacks import Callbacks, Changed, Ended, Failed, FirstResults
from triplewire.clients.live_query import LiveQuery
from triplewire.clients.prefixes import Prefixes
from triplewire.clients.printer import Printer

A, ONE = NamedNode("http://example.org/a"), Literal("one\ttwo")
LIVE = LiveQuery(Query("SELECT"), None, Callbacks())


def notification(sequence, added=(), removed=(), variables=("x", "y")):
    return Notification("spuid:1", None, sequence, BindingsDelta(variables, Counter(added), Counter(removed)))


def tell(printer, *events):
    for event in events:
        for function, argument in printer.told(event):
            function(argument)


class Out(io.StringIO):
    """Counts how often it is flushed."""

    flushed = 0

    def flush(self):
        self.flushed += 1


@pytest.fixture
def out():
    return Out()


def test_rows_are_lines_with_a_sign(out):
    """Tab-separated, under the variables; what leaves comes before what comes."""
    tell(
        Printer(out),
        FirstResults(LIVE, notification(0, [(A, None)])),
        Changed(LIVE, notification(1, [(A, ONE), (A, ONE)], [(A, None)])),
    )

    assert out.getvalue() == (
        "#\t?x\t?y\n"
        "+\t<http://example.org/a>\t\n"
        "-\t<http://example.org/a>\t\n"
        '+\t<http://example.org/a>\t"one\\ttwo"\n'
        '+\t<http://example.org/a>\t"one\\ttwo"\n'
    )


def test_each_notification_is_flushed(out):
    """Whoever reads the pipe reads it now."""
    printer = Printer(out)
    tell(printer, FirstResults(LIVE, notification(0, [(A, ONE)])))
    before = out.flushed

    tell(printer, Changed(LIVE, notification(1, [(A, A)])))

    assert out.flushed > before > 0


def test_on_a_terminal_it_is_colored_and_short(out):
    """With the query's prefixes."""
    printer = Printer(out, Prefixes({"ex": "http://example.org/"}))

    tell(
        printer,
        FirstResults(LIVE, notification(0, [(A, Literal(1))])),
        Changed(LIVE, notification(1, [], [(A, A)])),
    )

    assert "\x1b[32m+\tex:a\t1\x1b[0m\n" in out.getvalue()
    assert "\x1b[31m-\tex:a\tex:a\x1b[0m\n" in out.getvalue()


def test_as_json_it_is_the_protocols_own(out):
    """One notification a line."""
    tell(
        Printer(out, as_json=True),
        FirstResults(LIVE, notification(0)),
        Changed(LIVE, notification(1, [(A, ONE)])),
    )

    first, changed = (json.loads(line)["notification"] for line in out.getvalue().splitlines())
    assert (first["sequence"], changed["sequence"]) == (0, 1)
    assert len(changed["addedResults"]["results"]["bindings"]) == 1


def test_variables_that_become_known_late_are_printed_then(out):
    """An older broker may leave them out of an empty answer."""
    tell(
        Printer(out),
        FirstResults(LIVE, notification(0, variables=())),
        Changed(LIVE, notification(1, [(A, ONE)])),
    )

    assert out.getvalue().startswith("#\n#\t?x\t?y\n+")


async def test_it_stops_after_as_many_notifications_as_were_wanted(out):
    """First results are none of them."""
    printer = Printer(out, count=1)
    tell(printer, FirstResults(LIVE, notification(0)))
    before = printer.stopped.is_set()
    tell(printer, Changed(LIVE, notification(1, [(A, A)])), Changed(LIVE, notification(2, [(A, ONE)])))

    assert (before, printer.stopped.is_set(), printer.error) == (False, True, None)
    assert out.getvalue().count("+") == 1


async def test_it_stops_after_first_results_where_no_more_is_wanted(out):
    """With a count of nothing."""
    printer = Printer(out, count=0)

    tell(printer, FirstResults(LIVE, notification(0, [(A, A)])))

    assert printer.stopped.is_set()


async def test_it_stops_when_the_live_query_fails(out):
    """And says why."""
    printer, error = Printer(out), ConnectionLost("gone")

    tell(printer, Failed(LIVE, error))

    assert printer.stopped.is_set()
    assert printer.error is error


async def test_it_goes_on_when_the_live_query_is_unsubscribed(out):
    """Whoever did that knows it."""
    printer = Printer(out)

    tell(printer, Ended(LIVE, "spuid:1"))

    assert not printer.stopped.is_set()


async def test_it_stops_when_nobody_reads(out):
    """The pipe is closed."""

    class Closed(io.StringIO):
        def write(self, _):
            raise BrokenPipeError

    printer = Printer(Closed())

    tell(printer, FirstResults(LIVE, notification(0)))

    assert isinstance(printer.error, BrokenPipeError)
