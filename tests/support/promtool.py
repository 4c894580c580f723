"""Prometheus' own checker, from Debian's package `prometheus`; tests that need it are skipped where it is not there."""

from __future__ import annotations

import shutil
import subprocess

import pytest

PROGRAM = shutil.which("promtool")
needs_promtool = pytest.mark.skipif(
    PROGRAM is None, reason="promtool is not there: apt-get install prometheus"
)


def promtool(*arguments: str, given: str = "") -> tuple[int, str]:
    """Its exit status, and all that it says."""
    assert PROGRAM is not None
    done = subprocess.run(
        [PROGRAM, *arguments],
        input=given,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=30,
        check=False,
    )
    return done.returncode, done.stdout
