"""One process at a time."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from triplewire.broker.errors import StoreError
from triplewire.broker.journal.lock import DirectoryLock


def test_a_second_one_is_told_who_has_it(tmp_path):
    """Also within one process."""
    lock = DirectoryLock(tmp_path / "data")
    with pytest.raises(StoreError, match=f"data is in use by another broker \\(process {os.getpid()}\\)"):
        DirectoryLock(tmp_path / "data")
    lock.release()
    lock.release()
    DirectoryLock(tmp_path / "data").release()


def test_it_goes_with_the_process(tmp_path):
    """However it ends, nobody has to clean up."""
    code = (
        "import os, signal, sys; from pathlib import Path\n"
        "from triplewire.broker.journal.lock import DirectoryLock\n"
        "lock = DirectoryLock(Path(sys.argv[1])); print('held', flush=True); signal.pause()"
    )
    child = subprocess.Popen([sys.executable, "-P", "-c", code, str(tmp_path)], stdout=subprocess.PIPE)
    assert child.stdout.readline() == b"held\n"
    with pytest.raises(StoreError, match=f"process {child.pid}"):
        DirectoryLock(tmp_path)
    child.kill()
    child.communicate()
    DirectoryLock(tmp_path).release()


def test_a_directory_that_can_t_be_made(tmp_path):
    """A file is in its place."""
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="can't be written into"):
        DirectoryLock(tmp_path / "file" / "data")
