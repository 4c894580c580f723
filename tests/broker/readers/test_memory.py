"""A limit on what a process may use more; each in a fresh interpreter, which has no memory that it does not use."""

from __future__ import annotations

import subprocess
import sys
from textwrap import dedent

PROLOGUE = """
from triplewire.broker.readers.memory import MemoryLimit
MB = 1 << 20
"""


def said(script):
    """What a script prints."""
    command = [sys.executable, "-c", PROLOGUE + dedent(script)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()


def test_more_than_is_allowed():
    """Is refused by the system; less is not."""
    assert said("""
        with MemoryLimit(64 * MB).lifted():
            pass
        print(len(bytearray(32 * MB)) // MB)
        try:
            bytearray(96 * MB)
        except MemoryError:
            print("refused")
    """) == ["32", "refused"]


def test_what_comes_while_it_is_lifted_is_not_counted():
    """Before the first question and between two; what a question left behind is."""
    assert said("""
        limit = MemoryLimit(64 * MB)
        kept = []
        for _ in range(3):
            with limit.lifted():
                kept.append(bytearray(100 * MB))
            kept.append(bytearray(15 * MB))
        try:
            bytearray(40 * MB)
        except MemoryError:
            print("refused", len(kept))
    """) == ["refused", "6"]


def test_no_limit():
    """0 is none."""
    assert said("""
        with MemoryLimit(0).lifted():
            pass
        print(len(bytearray(200 * MB)) // MB)
    """) == ["200"]
