"""Other people's programs, installed as they are published, under build/foreign/ (which git ignores).

An install is made once and kept; two test processes that want the same one wait for each other.  Where a registry
can't be reached the tests that need it are skipped, except in CI, where that is a failure.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import venv
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HERE = Path(__file__).parent
FOREIGN = HERE.parents[1] / "build" / "foreign"
INSTALL_S = 240

# What pip and npm say when the registry is out of reach, and not when the registry refuses something.
_UNREACHABLE = re.compile(
    r"NewConnectionError|ConnectTimeout|Failed to establish a new connection|Temporary failure in name resolution"
    r"|Network is unreachable|ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ENETUNREACH"
)


def python_packages(name: str, *requirements: str) -> Path:
    """A virtual environment of this Python with `requirements`; its interpreter."""

    def make(place: Path) -> None:
        venv.create(place, with_pip=True, symlinks=True)
        pip = [
            str(place / "bin" / "python"),
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ]
        run([*pip, *requirements])

    return install(name, " ".join(requirements), make) / "bin" / "python"


def node_packages(name: str) -> Path:
    """The dependencies of js/<name>/package.json; the folder to set NODE_PATH to."""
    manifest = HERE / "js" / name / "package.json"

    def make(place: Path) -> None:
        shutil.copy(manifest, place)
        run(
            ["npm", "install", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"],
            cwd=place,
        )

    program("npm")
    return install(name, manifest.read_text(encoding="utf-8"), make) / "node_modules"


def install(name: str, stamp: str, make: Callable[[Path], None]) -> Path:
    """The folder that `make` filled, now or in an earlier run with the same `stamp`."""
    place = FOREIGN / name
    mark = place / ".installed"
    with _only_one(name):
        if not mark.is_file() or mark.read_text(encoding="utf-8") != stamp:
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir(parents=True)
            make(place)
            mark.write_text(stamp, encoding="utf-8")
    return place


@contextmanager
def _only_one(name: str) -> Iterator[None]:
    FOREIGN.mkdir(parents=True, exist_ok=True)
    with (FOREIGN / f".{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def run(command: list[str], cwd: Path | None = None) -> None:
    """Run one step of an install; skips the test where the registry is out of reach."""
    try:
        done = subprocess.run(
            command,
            cwd=cwd,
            capture_output=True,
            text=True,
            timeout=INSTALL_S,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        missing(f"{command[0]} did not end within {INSTALL_S} s: the package registry does not answer")
    said = done.stdout + done.stderr
    if done.returncode and _UNREACHABLE.search(said):
        missing(f"the package registry can't be reached: {said[-300:]}")
    assert done.returncode == 0, said


def program(name: str) -> str:
    """The path of a program that must be on this machine."""
    return shutil.which(name) or missing(f"there is no program {name} on this machine")


def python2() -> Path:
    """A Python 2.7, which Autobahn's test suite is written in."""
    for candidate in _pythons2():
        asked = [str(candidate), "-c", "import sys; sys.stdout.write('%d.%d' % sys.version_info[:2])"]
        try:
            answer = subprocess.run(asked, capture_output=True, text=True, timeout=30, check=False)
        except OSError:
            continue
        if answer.stdout == "2.7":
            return candidate
    pytest.skip("there is no Python 2.7 on this machine, which Autobahn|Testsuite needs")


def _pythons2() -> Iterator[Path]:
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    yield from sorted(versions.glob("2.7.*/bin/python2.7"), reverse=True)
    if found := shutil.which("python2.7"):
        yield Path(found)


def missing(reason: str) -> NoReturn:
    """Skip, or fail in CI, where everything must be there."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


def environment(**more: str) -> dict[str, str]:
    """This process's environment without what would change how a foreign program behaves."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "NODE_", "COVERAGE"))
    }
    return kept | more
