"""Commands in processes of their own."""

from __future__ import annotations

import signal
import subprocess
import sys
from contextlib import contextmanager


@contextmanager
def running(*arguments):
    """`triplewire` with these arguments, in a process of its own; ended by SIGINT."""
    command = [sys.executable, "-P", "-m", "triplewire.clients", *arguments]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGINT)
            process.errors = process.communicate(timeout=20)[1].decode()
