"""One Spark for all tests of this folder: starting one costs seconds."""

from __future__ import annotations

import warnings

import pytest

SETTINGS = {
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    "spark.driver.memory": "1g",
    "spark.sql.adaptive.coalescePartitions.enabled": "false",
}


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    """A session with two threads and few partitions."""
    from triplewire.clients.historic.spark_session import spark_session

    folder = tmp_path_factory.mktemp("spark")
    settings = {**SETTINGS, "spark.local.dir": str(folder), "spark.sql.warehouse.dir": str(folder / "tables")}
    session = spark_session("local[2]", "tests", settings)
    yield session
    with warnings.catch_warnings():
        # py4j leaves the sockets of its connections to the collector.
        warnings.simplefilter("ignore", ResourceWarning)
        session.stop()
