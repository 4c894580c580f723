import stat

import pytest

from triplewire.broker.errors import ClientError
from triplewire.broker.wire.items import FOLLOWED
from triplewire.clients.streams.last_seen import LastSeen, LastSeenFile


def test_what_is_kept_is_read(tmp_path):
    """Also ids that are no ASCII, and none before."""
    file = LastSeenFile(tmp_path / "seen")

    assert file.read() is None
    relay = "http://r/s/stream"
    for seen in (
        LastSeen("é \t"),
        LastSeen("b", "a"),
        LastSeen("b", "a", relay),
        LastSeen("b", None, relay, 1.5),
    ):
        file.keep(seen)
        assert file.read() == seen


def test_the_longest_ids_are_read(tmp_path):
    """Or an item with such a one would be the last that its consumers ever had."""
    seen = LastSeen("é" * (FOLLOWED.header_bytes // 2), "\U0001f600" * (FOLLOWED.header_bytes // 4))
    file = LastSeenFile(tmp_path / "seen")
    file.keep(seen)
    assert file.read() == seen


def test_nobody_else_can_read_it_and_nothing_is_left_beside_it(tmp_path):
    """It may tell what somebody follows."""
    file = LastSeenFile(tmp_path / "seen")
    file.keep(LastSeen("a"))

    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [file.path]


def test_a_file_that_can_not_be_replaced_stays_as_it_is(tmp_path, monkeypatch):
    """And no half of another is left."""
    file = LastSeenFile(tmp_path / "seen")
    file.keep(LastSeen("a"))

    def failing(*_):
        raise OSError("disk full")

    monkeypatch.setattr("pathlib.Path.replace", failing)
    with pytest.raises(OSError, match="disk full"):
        file.keep(LastSeen("b"))
    assert list(tmp_path.iterdir()) == [file.path]
    assert file.read() == LastSeen("a")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "7",
        '{"last_seen": "a"}',
        '{"last_seen": 1, "before": null}',
        '{"last_seen": "a", "before": null, "relay": 7}',
        '{"last_seen": "a", "before": null, "at": "now"}',
        "\xff",
    ],
)
def test_what_is_no_file_of_ours_is_refused(tmp_path, text):
    """Rather than begun anew: its owner may want it."""
    path = tmp_path / "seen"
    path.write_text(text)

    with pytest.raises(ClientError, match="last item's id"):
        LastSeenFile(path).read()


def test_a_file_of_before_there_were_relays_is_read(tmp_path):
    """And one server's has the same form still."""
    path = tmp_path / "seen"
    path.write_text('{"last_seen": "b", "before": "a"}\n')
    assert LastSeenFile(path).read() == LastSeen("b", "a")
    LastSeenFile(path).keep(LastSeen("b", "a"))
    assert path.read_text() == '{"last_seen": "b", "before": "a"}\n'
