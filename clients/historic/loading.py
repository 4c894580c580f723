"""Parts into a running broker, going on where a load before came to (`offline.py` has the other way)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from .online import Loaded, OnlineLoad, OnlineSettings
from .part_files import PartFiles, is_local
from .progress_file import START, progress_file

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from triplewire.clients.sparql import SparqlClient


def open_parts(directory: str, spark: Callable[[], SparkSession] | None = None) -> PartFiles:
    """The parts in a directory; `spark` is asked for a session where that is no folder of this machine.

    Raises:
        PartsError: there are none, or they were never finished.
    """
    if is_local(directory) or spark is None:
        return PartFiles(directory)
    from .remote_files import fetch_with  # noqa: PLC0415 - parts in a folder are loaded without Spark

    return PartFiles(directory, fetch_with(spark(), directory))


def load_into_broker(  # noqa: PLR0913 - three are what and where, three have defaults
    files: PartFiles,
    client: SparqlClient,
    url: str,
    settings: OnlineSettings | None = None,
    *,
    anew: bool = False,
    told: Callable[[int], None] = lambda _: None,
) -> Loaded:
    """Load what is not yet loaded; `url` is the client's.  See `OnlineLoad.run` for what is raised.

    With `anew` what was loaded before is loaded again.  `told` hears of the lines that are loaded, all in all.
    """
    settings = settings or OnlineSettings()
    destination = url if settings.graph is None else f"{url} {settings.graph}"
    progress = progress_file(files.directory, files.hash, destination, os.environ)
    if anew:
        progress.keep(START)
    return OnlineLoad(client, files, progress, settings, told=told).run()
