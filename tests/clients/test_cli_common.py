import io

import click
import pytest

from triplewire.clients.cli_common import sparql_text


def test_a_text_comes_from_the_argument_or_from_a_file():
    """One of the two."""
    assert sparql_text("ASK {}", None) == "ASK {}"
    assert sparql_text(None, io.StringIO("ASK {}")) == "ASK {}"


def test_two_texts_or_none_are_wrong_usage():
    """Nobody could know which is meant."""
    with pytest.raises(click.UsageError):
        sparql_text(None, None)
    with pytest.raises(click.UsageError):
        sparql_text("ASK {}", io.StringIO("ASK {}"))
