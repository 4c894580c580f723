"""What stands for long is left out of collections, and comes back when it has gone."""

from __future__ import annotations

import gc
import subprocess
import sys

import pytest

from triplewire.broker.heap import Heap, settle


@pytest.fixture(autouse=True)
def thawed():
    """Nothing stays frozen after a test."""
    gc.unfreeze()
    yield
    gc.unfreeze()


def test_it_freezes_at_each_step():
    """Not in between."""
    heap = Heap(step=100)
    heap.hold(99)
    assert gc.get_freeze_count() == 0
    heap.hold(100)
    frozen = gc.get_freeze_count()
    assert frozen > 0
    more = [[] for _ in range(1000)]
    heap.hold(199)
    assert gc.get_freeze_count() <= frozen
    heap.hold(200)
    assert gc.get_freeze_count() > frozen + len(more) // 2


def test_it_thaws_when_half_have_gone():
    """And begins anew."""
    heap = Heap(step=100)
    heap.hold(100)
    heap.hold(50)
    assert gc.get_freeze_count() > 0
    heap.hold(49)
    assert gc.get_freeze_count() == 0
    heap.hold(99)
    assert gc.get_freeze_count() == 0
    heap.hold(100)
    assert gc.get_freeze_count() > 0


def test_cycles_are_collected_before_they_would_be_frozen():
    """So that nothing is frozen for ever that nobody has."""
    deleted = []

    class Node:
        def __init__(self):
            self.me = self

        def __del__(self):
            deleted.append(1)

    gc.disable()
    try:
        Node()
        assert not deleted
        Heap(step=1).hold(1)
        assert deleted
    finally:
        gc.enable()


def test_what_the_start_made_is_left_out():
    """And there are fewer collections from then on."""
    before = gc.get_threshold()
    try:
        settle()
        assert gc.get_freeze_count() > 10_000
        assert all(new > old for new, old in zip(gc.get_threshold(), (700, 10, 10), strict=True))
    finally:
        gc.set_threshold(*before)


_BUSY = """
import sys
from triplewire.broker.heap import give_back
if sys.argv[1] == "yes":
    give_back()

def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096

for size in (1, 2, 4, 8):  # glibc raises its thresholds with each that is freed
    large = bytes(size * 1_000_000)
before = resident()
kept = []
for _ in range(40):
    large = bytes(3_000_000)
    kept.append(bytes(2000))
    more = bytes(3_000_000)
    kept.append(bytes(2000))
    del large, more
print(resident() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="glibc is Linux's")
def test_large_blocks_go_back():
    """What is kept is what is used; without it no less is kept."""
    kept = {}
    for told in ("no", "yes"):
        done = subprocess.run([sys.executable, "-c", _BUSY, told], capture_output=True, text=True, check=True)
        kept[told] = int(done.stdout)
    assert kept["yes"] < 1_000_000
    assert kept["yes"] <= kept["no"]
