import io
import sys

from triplewire.clients.cli_progress import progress_bar


class Terminal(io.StringIO):
    """What a person looks at."""

    def isatty(self) -> bool:
        return True


def test_nobody_looks_at_what_is_no_terminal(capsys):
    """Nothing is written there."""
    with progress_bar("loading", 10, "quads") as told:
        told(5)
    assert capsys.readouterr().err == ""


def test_a_terminal_shows_how_far_it_is_and_how_fast_it_goes(monkeypatch):
    """Also where it begins in the middle, and where it begins anew."""
    monkeypatch.setattr(sys, "stderr", Terminal())
    with progress_bar("loading", 1000, "quads") as told:
        for done in (500, 700, 0, 400, 1000):
            told(done)
        shown = sys.stderr
    assert "loading" in shown.getvalue()
    assert "100%" in shown.getvalue()
    assert "quads/s" in shown.getvalue()
