"""Options of a source are texts, and come back as they went."""

from __future__ import annotations

import pytest

from triplewire.clients.historic.journal_broker import JournalBroker
from triplewire.clients.historic.journal_directory import JournalDirectory
from triplewire.clients.historic.journal_options import JournalOptions
from triplewire.clients.historic.journal_place import OriginError


@pytest.mark.parametrize(
    "options",
    [
        JournalOptions(data="/somewhere"),
        JournalOptions(url="http://localhost", token="t", insecure=True),
        JournalOptions(url="http://localhost", identity="i", credentials="/c", ca="/ca"),
    ],
)
def test_there_and_back(options):
    """Spark makes names lower case and adds its own."""
    assert JournalOptions.of({**options.texts(), "path": "x"}) == options
    assert JournalOptions.of({key.upper(): value for key, value in options.texts().items()}) == options


def test_one_journal():
    """Neither none nor two."""
    for options in ({}, {"data": "/a", "url": "http://b"}):
        with pytest.raises(OriginError, match="one of `data` and `url`"):
            JournalOptions.of(options)


def test_the_origin():
    """A directory's or a broker's; a token is in no text that is printed."""
    assert isinstance(JournalOptions(data="/a").origin(), JournalDirectory)
    options = JournalOptions(url="http://localhost:1", token="very-secret")
    assert isinstance(options.origin(), JournalBroker)
    assert "very-secret" not in repr(options)


def test_a_file_of_tokens_is_read_each_time(tmp_path):
    """So that whoever renews it needs not start anything anew."""
    path = tmp_path / "token"
    source = JournalOptions(url="http://localhost:1", token_file=str(path)).origin()._tokens
    path.write_text("one\n")
    assert source.token().text == "one"
    path.write_text("two\n")
    assert source.token().text == "two"
    path.unlink()
    with pytest.raises(OriginError, match="no token can be read"):
        source.token()
