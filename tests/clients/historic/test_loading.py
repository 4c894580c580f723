import pytest
from support.hand_made_parts import observations, write_parts

from triplewire.clients.historic.loading import load_into_broker, open_parts
from triplewire.clients.historic.online import OnlineSettings
from triplewire.clients.historic.part_files import PartsError
from triplewire.clients.sparql import SparqlClient

LINES = observations(50)


def test_the_same_again_goes_on_unless_it_is_asked_to_begin_anew(fake, tmp_path):
    """Another graph is another destination."""
    write_parts(tmp_path, LINES)
    with open_parts(str(tmp_path)) as files, SparqlClient(fake.http) as client:
        came = [
            load_into_broker(files, client, fake.http, settings, anew=anew).lines
            for settings, anew in [
                (None, False),
                (None, False),
                (None, True),
                (OnlineSettings(graph="g:1"), False),
            ]
        ]
    assert came == [len(LINES), 0, len(LINES), len(LINES)]
    assert len(fake.store) == 2 * len(LINES)


def test_a_folder_needs_no_spark(tmp_path):
    """Nobody is asked for it."""
    write_parts(tmp_path, LINES)

    def never():
        raise AssertionError

    with open_parts(tmp_path.as_uri(), never) as files:
        assert files.lines == len(LINES)


def test_a_directory_without_parts_is_an_error(tmp_path):
    """Which says what is missing."""
    with pytest.raises(PartsError, match=r"manifest\.json"):
        open_parts(str(tmp_path / "none"))
