"""`triplewire journal`, on directories that are in use and that are not."""

import json
from datetime import UTC, datetime

import pytest
from pyoxigraph import NamedNode
from support.deltas import replacement

from triplewire.broker.config import JournalConfig, StoreConfig
from triplewire.broker.dataset.opening import open_dataset
from triplewire.broker.journal.segment import first_sequences, segment_path
from triplewire.broker.model import QuadDelta
from triplewire.clients import cli


def opened(directory):
    return open_dataset(StoreConfig(data=str(directory)), JournalConfig(segment_bytes=1000))


@pytest.fixture
def data(tmp_path):
    """Twenty replacements, a snapshot after ten, an empty graph; a broker has it open."""
    dataset = opened(tmp_path / "data")
    for number in range(1, 21):
        dataset.write(replacement(number))
        if number == 10:
            dataset.snapshot()
    dataset.write(QuadDelta(frozenset(), frozenset(), frozenset({NamedNode("urn:g")})))
    yield tmp_path / "data"
    dataset.close()


def test_verify_tells_what_is_there(data, capsys):
    """Each snapshot and segment."""
    assert cli.run(["journal", "verify", str(data)]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("snapshot 10: 1 quads")
    assert said[-1] == f"whole: 1 snapshots, {len(first_sequences(data))} segments"


def test_verify_tells_of_damage(data, capsys):
    """With its place; the exit code is 1."""
    path = segment_path(data, 1)
    content = bytearray(path.read_bytes())
    content[200] ^= 4
    path.write_bytes(content)
    assert cli.run(["journal", "verify", str(data)]) == 1
    assert f"{path} is damaged at byte" in capsys.readouterr().out


def test_dump_as_text(data, capsys):
    """What went, then what came."""
    assert cli.run(["journal", "dump", str(data), "--after", "1", "--to", "2"]) == 0
    head, *changes = capsys.readouterr().out.splitlines()
    assert head.startswith("# 2 20")
    assert [line[:2] for line in changes] == ["- ", "+ "]
    assert '"1"' in changes[0]
    assert '"2"' in changes[1]


def test_dump_as_json(data, capsys):
    """One object a line."""
    assert cli.run(["journal", "dump", str(data), "--format", "json"]) == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [record["sequence"] for record in records] == list(range(1, 22))
    assert records[-1]["createdGraphs"] == ["urn:g"]
    assert '"7"' in records[6]["added"][0]
    assert '"6"' in records[6]["removed"][0]
    assert datetime.fromisoformat(records[0]["time"]).tzinfo == UTC


@pytest.mark.parametrize(("at", "value"), [(["--at", "5"], "5"), (["--at", "15"], "15"), ([], "20")])
def test_restore(data, tmp_path, capsys, at, value):
    """From a snapshot before or after it."""
    out = tmp_path / "out.nq"
    assert cli.run(["journal", "restore", str(data), str(out), *at]) == 0
    assert out.read_text().split()[2] == f'"{value}"'
    assert "1 quads" in capsys.readouterr().err


def test_restore_by_time(data, tmp_path):
    """With a zone, or the machine's own without one."""
    out = tmp_path / "out.nq"
    for now in (datetime.now(UTC), datetime.now().astimezone().replace(tzinfo=None)):
        assert cli.run(["journal", "restore", str(data), str(out), "--at", now.isoformat()]) == 0
        assert out.read_text().split()[2] == '"20"'


def test_restore_of_nonsense(data, tmp_path, capsys):
    """It is told what is expected, and what is not kept."""
    out = tmp_path / "out.nq"
    assert cli.run(["journal", "restore", str(data), str(out), "--at", "noon"]) == 2
    assert "neither a time nor" in capsys.readouterr().err
    assert cli.run(["journal", "restore", str(data), str(out), "--at", "400"]) == 1
    assert "has not come" in capsys.readouterr().err
    assert not out.exists()


def test_a_backup_is_a_directory_to_start_on(data, tmp_path, capsys):
    """Taken while the broker runs; only what is needed."""
    out = tmp_path / "backup"
    assert cli.run(["journal", "backup", str(data), str(out)]) == 0
    assert "up to record 21" in capsys.readouterr().err
    assert first_sequences(out)[0] > 1
    dataset = opened(out)
    assert frozenset(dataset.store) == replacement(20).inserted
    dataset.write(replacement(21))
    dataset.close()
    assert cli.run(["journal", "backup", str(data), str(out)]) == 1
    assert "not empty" in capsys.readouterr().err


def test_a_backup_of_nothing(tmp_path, capsys):
    """There must be something."""
    (tmp_path / "data").mkdir()
    assert cli.run(["journal", "backup", str(tmp_path / "data"), str(tmp_path / "out")]) == 1
    assert "neither a journal nor snapshots" in capsys.readouterr().err
