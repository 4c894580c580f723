"""Those who have to hear of a change."""

from __future__ import annotations

from triplewire.broker.security.audience import Audience


def test_all_hear_of_it_whatever_becomes_of_one_of_them(caplog):
    """The log says who failed."""
    audience, heard = Audience("the weather"), []
    audience.listen(lambda: heard.append("first"))
    audience.listen(lambda: 1 / 0)
    audience.listen(lambda: heard.append("last"))
    audience.tell()
    assert heard == ["first", "last"]
    assert "who listens to the weather failed" in caplog.text
    assert "ZeroDivisionError" in caplog.text


def test_who_ends_it_hears_no_more():
    """Also in the middle of a change; to end it twice is the same."""
    audience, heard = Audience("it"), []
    ends = [audience.listen(lambda: heard.append(1))]
    audience.listen(ends[0])
    audience.tell()
    audience.tell()
    ends[0]()
    assert heard == [1]
