import pytest
from pyoxigraph import RdfFormat, parse
from support.hand_made_parts import observations, write_parts

from triplewire.broker.config import JournalConfig, StoreConfig
from triplewire.broker.dataset.opening import open_dataset
from triplewire.broker.errors import StoreError
from triplewire.broker.journal.inspection import dump
from triplewire.clients.historic.offline import load_offline
from triplewire.clients.historic.part_files import PartsError

LINES = observations(200)


def found(data, engine="memory"):
    """What a broker finds in the directory."""
    dataset = open_dataset(StoreConfig(data=str(data), engine=engine), JournalConfig())
    try:
        return set(dataset.store)
    finally:
        dataset.close()


def quads(lines):
    return set(parse(b"".join(lines), RdfFormat.N_QUADS))


@pytest.mark.parametrize("engine", ["memory", "disk"])
def test_a_new_directory_has_the_parts_as_its_snapshot(tmp_path, engine):
    """Nothing is in the journal."""
    told = []
    files = write_parts(tmp_path / "parts", LINES, 3, gzipped=True)
    load_offline(files, tmp_path / "data", engine=engine, told=told.append)

    assert found(tmp_path / "data", engine) == quads(LINES)
    assert list(dump(tmp_path / "data")) == []
    assert told[-1] == files.size


def test_what_is_there_already_is_no_change(tmp_path):
    """A load that is repeated changes nothing; one that has more adds that."""
    load_offline(write_parts(tmp_path / "a", LINES[:300]), tmp_path / "data")
    load_offline(write_parts(tmp_path / "a", LINES[:300]), tmp_path / "data")
    assert list(dump(tmp_path / "data")) == []

    load_offline(write_parts(tmp_path / "b", LINES), tmp_path / "data")
    assert quads([record.inserted for record in dump(tmp_path / "data")]) == quads(LINES[300:])
    assert found(tmp_path / "data") == quads(LINES)


def test_triples_go_into_a_graph(tmp_path):
    """As online."""
    load_offline(write_parts(tmp_path / "a", LINES), tmp_path / "data", graph="g:1")
    assert {quad.graph_name.value for quad in found(tmp_path / "data")} == {"g:1"}


@pytest.mark.parametrize("there", [0, 30])
@pytest.mark.parametrize("damage", ["no quad", "no part"])
def test_parts_that_can_not_be_read_leave_nothing(tmp_path, damage, there):
    """Of themselves."""
    if there:
        load_offline(write_parts(tmp_path / "a", LINES[:there]), tmp_path / "data")
    files = write_parts(tmp_path / "b", [*LINES, b"nonsense\n"] if damage == "no quad" else LINES)
    if damage == "no part":
        (tmp_path / "b" / files.parts[2].name).unlink()
    with pytest.raises(PartsError, match="b"):
        load_offline(files, tmp_path / "data")

    assert found(tmp_path / "data") == quads(LINES[:there])


def test_a_running_broker_keeps_its_directory(tmp_path):
    """It is in use."""
    dataset = open_dataset(StoreConfig(data=str(tmp_path / "data")), JournalConfig())
    try:
        with pytest.raises(StoreError):
            load_offline(write_parts(tmp_path / "a", LINES), tmp_path / "data")
    finally:
        dataset.close()
