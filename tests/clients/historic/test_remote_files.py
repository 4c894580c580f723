import pytest
from support.hand_made_parts import observations, write_parts

from triplewire.clients.historic.part_files import PartFiles, PartsError
from triplewire.clients.historic.remote_files import fetch_with

LINES = observations(50)


def test_parts_are_read_through_sparks_file_systems(tmp_path, spark):
    """Here the local one, which is one of them."""
    write_parts(tmp_path / "a b", LINES, 3, gzipped=True)
    with PartFiles("hdfs://there", fetch_with(spark, f"file://{tmp_path}/a b/")) as files:
        stream = files.stream(lambda _: None)
        assert b"".join(iter(stream.read, b"")) == b"".join(LINES)


def test_a_missing_file_is_one(tmp_path, spark):
    """As in a folder."""
    with pytest.raises(FileNotFoundError, match=r"none\.nq"):
        fetch_with(spark, tmp_path.as_uri())("none.nq", tmp_path / "copy")
    with pytest.raises(PartsError, match="never finished"):
        PartFiles("hdfs://there", fetch_with(spark, tmp_path.as_uri()))


def test_a_file_system_that_spark_does_not_know_is_told(tmp_path, spark):
    """By its scheme."""
    with pytest.raises(PartsError, match="nowhere"):
        PartFiles("nowhere://there", fetch_with(spark, "nowhere://there"))
