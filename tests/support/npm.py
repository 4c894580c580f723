"""What npm installs for tests, by the versions of a lock file, into a folder under build/."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

NPM = shutil.which("npm")
BUILD = Path(__file__).parents[2] / "build" / "npm"


def installed(name: str, source: Path, *files: str) -> Path:
    """A folder `name` with node_modules as the package-lock.json in `source` says, and these `files` beside them.

    Skips where npm is not there, which it must be in CI.
    """
    if NPM is None and not os.environ.get("CI"):
        pytest.skip("npm is not installed")
    assert NPM is not None, "CI must have npm"
    folder = BUILD / name
    folder.mkdir(parents=True, exist_ok=True)
    for file in ("package.json", "package-lock.json", *files):
        shutil.copyfile(source / file, folder / file)
    done = subprocess.run(
        [NPM, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,  # its words are in the assertion
    )
    assert done.returncode == 0, done.stderr
    return folder
