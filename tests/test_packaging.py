"""What pip users get."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("broker", "clients", "conf", "gates", "jsap", "spu")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_every_folder_is_in_the_wheel():
    """A folder missing from the list works from a checkout and is absent for pip users."""
    there = {
        "triplewire." + ".".join(path.parent.relative_to(ROOT).parts)
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("__init__.py")
    }
    assert set(PROJECT["tool"]["setuptools"]["packages"]) == there


def test_the_lock_satisfies_every_dependency():
    """CI installs from the lock: each direct dependency stands in it."""
    locked = {
        line.partition("==")[0].lower() for line in (ROOT / "requirements.lock").read_text().splitlines()
    }
    wanted = [*PROJECT["project"]["dependencies"], *PROJECT["project"]["optional-dependencies"]["dev"]]
    names = {w.split("[")[0].split(">")[0].split(";")[0].strip().lower() for w in wanted}
    assert not {name.replace("_", "-") for name in names} - {name.replace("_", "-") for name in locked}
