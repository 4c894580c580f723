"""The vendored editor is what the pinned versions of its sources build, byte for byte."""

from __future__ import annotations

import subprocess
from pathlib import Path

from support.npm import installed

VENDOR = Path(__file__).parents[2] / "gates" / "web" / "page" / "vendor"


def test_the_file_is_what_its_sources_build(tmp_path):
    """CodeMirror and the licences of all that is in it."""
    folder = installed("vendor", VENDOR, "entry.mjs", "build.mjs")
    subprocess.run(["node", "build.mjs", str(tmp_path)], cwd=folder, check=True, timeout=60)
    for name in ("codemirror.js", "LICENSES.txt"):
        assert (tmp_path / name).read_bytes() == (VENDOR / name).read_bytes(), (
            f"{name} is not what npm ci && node build.mjs makes"
        )


def test_the_versions_are_pinned_with_their_hashes():
    """No version is a range, and each package of the lock file has an integrity."""
    import json

    wanted = json.loads((VENDOR / "package.json").read_text(encoding="utf-8"))["devDependencies"]
    assert all(version[0].isdigit() for version in wanted.values())
    packages = json.loads((VENDOR / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    assert all(package["integrity"] for path, package in packages.items() if path)
