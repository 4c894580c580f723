"""What was acknowledged survives the death of the process, at any moment of its life."""

from __future__ import annotations

import random
import subprocess
import sys
import threading

import pyoxigraph
from support.deltas import replacement

from triplewire.broker.config import JournalConfig
from triplewire.broker.journal.journal import Journal
from triplewire.broker.journal.recovery import recover

CHILD = """
import sys
from pathlib import Path
import pyoxigraph
from support.deltas import replacement
from triplewire.broker.delta_writer import write_delta
from triplewire.broker.journal.checkpoint import checkpoint
from triplewire.broker.config import JournalConfig
from triplewire.broker.journal.journal import Journal
from triplewire.broker.journal.recovery import recover

directory = Path(sys.argv[1])
config = JournalConfig(segment_bytes=10_000, keep_bytes=20_000)
journal = Journal.open(directory, config)
store = pyoxigraph.Store()
recover(directory, store)
number = journal.last_sequence
while True:
    number += 1
    journal.append(replacement(number), "child", number)
    write_delta(store, replacement(number))
    journal.settle()
    sys.stdout.write(f"{number}\\n")
    sys.stdout.flush()
    if number % 100 == 0:
        checkpoint(journal, store, config, number)
"""


def killed(directory, seconds):
    """Let a child append until it is killed; the last number that it told us of."""
    paths = [path for path in sys.path if path.endswith("tests")]
    child = subprocess.Popen(
        [sys.executable, "-c", f"import sys; sys.path += {paths!r}\n{CHILD}", str(directory)],
        stdout=subprocess.PIPE,
    )
    first = child.stdout.readline()
    timer = threading.Timer(seconds, child.kill)
    timer.start()
    rest, _ = child.communicate()
    timer.join()
    # The last line may have been cut.
    return int((first + rest).rsplit(b"\n", 1)[0].rsplit(b"\n", 1)[-1])


def test_killed_twenty_times(tmp_path):
    """In the middle of appending, of beginning segments, and of writing snapshots."""
    rng = random.Random(20)
    acknowledged = 0
    for _ in range(20):
        acknowledged = killed(tmp_path, rng.uniform(0.0, 0.1))
        store = pyoxigraph.Store()
        found = recover(tmp_path, store)
        assert acknowledged <= found.sequence <= acknowledged + 1
        assert frozenset(store) == replacement(found.sequence).inserted
        Journal.open(tmp_path, JournalConfig()).close()
    assert acknowledged > 1000
