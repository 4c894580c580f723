"""One Spark session, with what this package relies on: UTC, ANSI, quiet, and on a laptop nothing open to the network."""

from __future__ import annotations

import os
import re
import sys
import warnings
from importlib import import_module, resources
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from pyspark import SparkContext
from pyspark.sql import SparkSession

from .java import java_home

if TYPE_CHECKING:
    from collections.abc import Mapping

NO_SETTINGS: Final[Mapping[str, str]] = MappingProxyType({})
_ALWAYS: Final = {
    # Texts with a zone are turned by the mapping; everything else, and what is shown, is UTC.
    "spark.sql.session.timeZone": "UTC",
    # What can't be cast is an error, but where the plan asks for null by try_...: nothing gets lost silently.
    "spark.sql.ansi.enabled": "true",
}
_UNLESS_TOLD: Final = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    # Where each expression was written: two thirds of the time that it takes to make one.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
}
_LAPTOP: Final = {
    "spark.driver.memory": "2g",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}
_JAVA_OPTIONS: Final = "spark.driver.extraJavaOptions"
_EXECUTOR_JAVA_OPTIONS: Final = "spark.executor.extraJavaOptions"
# A mapping with many rules becomes one long method, and Java never compiles those of more than 8,000 bytes unless it is told.
_LONG_METHODS: Final = "-XX:-DontCompileHugeMethods"
# Its default gives short pauses, for which nobody waits here, and takes a tenth more time for it.
_COLLECTOR: Final = "-XX:+UseParallelGC"
_NAMES_COLLECTOR: Final = re.compile(r"-XX:\+Use\w+GC")
# The charset of texts is ours to say, not the locale's (before Java 18 it is the locale's).
_UTF_8: Final = "-Dfile.encoding=UTF-8"


def spark_session(master: str, name: str, settings: Mapping[str, str] = NO_SETTINGS) -> SparkSession:
    """A session of its own name, or the one there is in this process, with these settings.

    `master` is Spark's: `local[*]`, `local[2]`, `spark://host:7077`, `yarn`, ...; empty: what spark-submit was told.
    `settings` are Spark's too, and win over the defaults here; `spark.driver.memory` is 2g where the driver is local.

    Raises:
        NoJava: no Java of 17 or newer is there; says how to get one.
    """
    with warnings.catch_warnings():
        # Spark's own module warns of pandas 3, which this package does not use, when it is first asked for NumPy.
        warnings.simplefilter("ignore", FutureWarning)
        import_module("pyspark.testing.utils")
    if not _java_runs():
        _choose_programs(master)
    builder = SparkSession.builder.appName(name)
    if master:
        builder = builder.master(master)
    for key, value in session_settings(master, settings).items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def session_settings(master: str, settings: Mapping[str, str]) -> dict[str, str]:
    """All that is told to Spark: defaults, then `settings`, then what this package relies on."""
    local = master.startswith("local")
    chosen = {**_UNLESS_TOLD, **(_LAPTOP if local else {}), **settings, **_ALWAYS}
    if local:
        theirs = chosen.get(_JAVA_OPTIONS, "")
        collector = () if _NAMES_COLLECTOR.search(theirs) else (_COLLECTOR,)
        ours = " ".join((_UTF_8, _LONG_METHODS, *collector, *_quiet()))
        chosen[_JAVA_OPTIONS] = f"{ours} {theirs}".strip()
    chosen[_EXECUTOR_JAVA_OPTIONS] = f"{_LONG_METHODS} {chosen.get(_EXECUTOR_JAVA_OPTIONS, '')}".strip()
    return chosen


def _java_runs() -> bool:
    """Whether this process has its Java already: another session's, or spark-submit's."""
    return SparkContext._gateway is not None or "PYSPARK_GATEWAY_PORT" in os.environ  # noqa: SLF001  # no other way to know


def _choose_programs(master: str) -> None:
    """Spark's launcher reads both from the environment, and only there."""
    if home := java_home():
        os.environ["JAVA_HOME"] = home
    if master.startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        # Else Spark looks for a name of this machine, and warns of the one that it finds.
        os.environ.setdefault("SPARK_LOCAL_IP", _LAPTOP["spark.driver.bindAddress"])


def _quiet() -> list[str]:
    """What silences Spark's start, where its level is not yet known; nothing where the file can't be named on a command line."""
    place = resources.files("triplewire.conf") / "spark-logging.conf"
    if not isinstance(place, Path) or not place.is_file() or " " in str(place):
        return []
    return [f"-Dlog4j2.configurationFile={place.as_uri()}"]
