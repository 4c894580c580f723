"""What pip users get."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

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


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.xdist_group("packaging")
def test_the_wheel_works_in_a_fresh_environment(tmp_path):
    """Built and installed, it adds one name to site-packages, and its command answers."""
    build = [sys.executable, "-m", "build", "--wheel", "--outdir", str(tmp_path), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names if ".dist-info" not in name} == {"triplewire"}
    assert "triplewire/conf/broker.toml" in names
    assert "triplewire/gates/web/index.html" in names
    fresh = tmp_path / "venv"
    venv.create(fresh, with_pip=True)
    python = fresh / "bin" / "python"
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run(
        [*install, "-c", str(ROOT / "requirements.lock"), str(wheel)], check=True, capture_output=True
    )
    check = (
        "import importlib.util as u, triplewire.clients, triplewire.broker.app; "
        "assert not [n for n in ('broker','gates','spu','jsap','clients','conf') if u.find_spec(n)]"
    )
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run([str(python), "-P", "-c", check], check=True, cwd=tmp_path, env=clean)
    version = subprocess.run(
        [fresh / "bin" / "triplewire", "--version"], check=True, capture_output=True, text=True
    )
    assert PROJECT["project"]["version"] in version.stdout
