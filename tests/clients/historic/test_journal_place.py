"""Errors of a journal's source are told on the command line, and by their kind in what Spark makes of them."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException

from triplewire.broker.errors import ClientError
from triplewire.clients.historic.archiving import reason, told
from triplewire.clients.historic.errors import HistoryError
from triplewire.clients.historic.journal_place import JournalGap, OriginAway, OriginError, Place


def test_places_are_ordered_by_their_records():
    """And are texts and numbers only, as offsets must be."""
    assert max(Place(3, "z"), Place(10, "a")) == Place(10, "a")
    assert Place(3, "z")._asdict() == {"sequence": 3, "epoch": "z"}


@pytest.mark.parametrize("kind", [JournalGap, OriginAway, OriginError])
def test_what_python_raised_on_an_executor(kind):
    """Is the last line of a traceback, inside of Spark's message."""
    text = f"Job aborted:\nTraceback:\n  File x\n{kind.__module__}.{kind.__qualname__}: record 3 is gone\n\tat org.x"
    found = reason(PySparkException(text))
    assert (type(found), str(found)) == (kind, "record 3 is gone")
    assert isinstance(found, ClientError)
    with pytest.raises(kind), told():
        raise PySparkException(text)


def test_what_is_not_ours():
    """Spark's own words, without its plans."""
    found = reason(PySparkException("no space left\n\nJVM stacktrace: ..."))
    assert (type(found), str(found)) == (HistoryError, "no space left")
