"""`python -m triplewire.conf.chat`: many users at once, or people who type."""

from __future__ import annotations

import subprocess
import sys
import time

from support.applications import CHAT


def test_the_program_runs_many_users_and_counts(broker):
    """`python -m triplewire.conf.chat`, exit code 0 where nothing is missing."""
    command = [sys.executable, "-P", "-m", "triplewire.conf.chat", "--url", broker.http, "--ws", broker.ws]
    done = subprocess.run(
        [*command, "--clients", "3", "--messages", "4"],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    lines = dict(line.split() for line in done.stdout.splitlines()[1:])
    assert float(lines.pop("seconds")) > 0
    assert lines == {
        **dict.fromkeys(("sent", "received", "delivered", "removed", "known"), "24"),
        "events": "96",
        "errors": "0",
    }


def test_the_program_fails_where_something_is_missing(broker, tmp_path):
    """Exit code 1."""
    profile = tmp_path / "chat.jsap"
    text = CHAT.read_text(encoding="utf-8")
    profile.write_text(
        text.replace("{ ?message schema:dateReceived ?time }", "{ ?message schema:dateSeen ?time }", 1)
    )
    command = [
        sys.executable,
        "-P",
        "-m",
        "triplewire.conf.chat",
        "--jsap",
        str(profile),
        "--url",
        broker.http,
    ]
    done = subprocess.run(
        [*command, "--clients", "2", "--messages", "1", "--patience", "0.5"],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    assert "received  2\n" in done.stdout
    assert "removed   0\n" in done.stdout


def test_the_program_tells_that_there_is_no_broker():
    """Exit code 3 and one line."""
    command = [sys.executable, "-P", "-m", "triplewire.conf.chat", "--url", "http://127.0.0.1:1"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 3
    assert done.stderr.startswith("triplewire.conf.chat: can't reach http://127.0.0.1:1")


class Typist:
    """A person at `python -m triplewire.conf.chat --name`."""

    def __init__(self, broker, name: str) -> None:
        command = [sys.executable, "-P", "-m", "triplewire.conf.chat", "--url", broker.http, "--name", name]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        assert "is here" in self.reads()

    def types(self, line: str) -> None:
        self.process.stdin.write(line + "\n")

    def reads(self) -> str:
        return self.process.stdout.readline().rstrip("\n")

    def __enter__(self):
        return self

    def __exit__(self, *_) -> None:
        self.process.stdin.close()
        self.process.stdout.read()
        self.process.stdout.close()
        assert self.process.wait(30) == 0


def test_people_can_chat(broker):
    """Lines in and lines out, in two processes."""
    with Typist(broker, "anna") as anna, Typist(broker, "bob") as bob:
        anna.types("/users")
        assert anna.reads() == "anna, bob"
        anna.types("bob: hello: you")
        assert bob.reads() == "anna: hello: you"
        assert anna.reads() == "(delivered)"
        anna.types("eve: psst")
        assert anna.reads() == "! nobody is called 'eve'; there are anna, bob"
        anna.types("what?")
        assert anna.reads().startswith("write `name: text`")
        bob.types("/leave")
        assert bob.process.wait(30) == 0
        anna.types("/leave")
        assert anna.process.wait(30) == 0


def test_a_signal_ends_a_conversation(broker):
    """Although a read from the terminal can't be cancelled."""
    with Typist(broker, "anna") as anna:
        anna.process.terminate()
        assert anna.process.wait(10) == 0
    with Typist(broker, "anna") as anna:
        anna.types("/leave")


def test_the_program_tells_that_the_broker_has_gone(fresh_broker):
    """In the middle of it, with all users writing: one line, soon."""
    command = [sys.executable, "-P", "-m", "triplewire.conf.chat", "--url", fresh_broker.http]
    with subprocess.Popen(
        [*command, "--clients", "5", "--messages", "1000"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        time.sleep(3)
        fresh_broker.kill()
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 3
    assert "triplewire.conf.chat: " in errors.splitlines()[-1]
    assert "Traceback" not in errors
