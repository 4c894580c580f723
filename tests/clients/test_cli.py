import subprocess
import sys

import pytest

from triplewire.clients import cli


def test_help_and_version_end_well(capsys):
    """They are no errors."""
    assert cli.run(["--help"]) == 0
    assert cli.run(["--version"]) == 0
    assert "triplewire, version " in capsys.readouterr().out


@pytest.mark.parametrize(
    "command",
    [
        ["serve"],
        ["query"],
        ["update"],
        ["subscribe"],
        ["publish"],
        ["consume"],
        ["relay"],
        ["load"],
        ["jsap"],
        ["jsap", "check"],
    ],
)
def test_each_command_has_help(command, capsys):
    """It says what it does."""
    assert cli.run([*command, "--help"]) == 0
    assert "Usage: triplewire " + " ".join(command) in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments", [["nosuch"], ["query"], ["query", "--url", "localhost", "ASK {}"], ["load"]]
)
def test_wrong_usage_ends_with_2(arguments, capsys):
    """And says what would be right."""
    assert cli.run(arguments) == 2
    assert "Usage: triplewire" in capsys.readouterr().err


def test_a_refusal_ends_with_1_and_one_line(fake, capsys):
    """Without a traceback."""
    fake.replies.append(
        (400, {}, b'{"error":"no","status_code":400,"error_description":"line one\\nline\\u001b two"}')
    )

    assert cli.run(["query", "--url", fake.http, "SELEKT"]) == 1
    assert capsys.readouterr().err == "triplewire: line one line\\u001B two (no, 400)\n"


def test_a_broker_that_is_away_ends_with_3_and_one_line(capsys):
    """With its URL."""
    assert cli.run(["update", "--url", "http://127.0.0.1:1", "CLEAR ALL"]) == 3
    assert capsys.readouterr().err.startswith("triplewire: can't reach http://127.0.0.1:1/update")


def test_a_file_that_is_not_there_is_wrong_usage(capsys):
    """The path is told."""
    assert cli.run(["query", "-f", "/nowhere.rq"]) == 2
    assert "/nowhere.rq" in capsys.readouterr().err


def test_the_url_can_be_in_the_environment(fake, monkeypatch):
    """So that it need not be said each time."""
    monkeypatch.setenv("TRIPLEWIRE_URL", fake.http)

    assert cli.run(["update", "INSERT DATA {}"]) == 0
    assert len(fake.requests) == 1


def test_it_runs_as_a_module():
    """`python -m triplewire.clients`."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", "triplewire.clients", "--version"],
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.startswith("triplewire, version ")


def test_a_reader_that_has_enough_is_no_error(fake):
    """As `head` in a pipe."""
    fake.update("INSERT DATA { " + " ".join(f"<a:{n}> <a:p> {n} ." for n in range(50_000)) + " }")
    command = [
        sys.executable,
        "-P",
        "-m",
        "triplewire.clients",
        "query",
        "--url",
        fake.http,
        "SELECT * { ?s ?p ?o }",
    ]

    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline().startswith("?")
        process.stdout.close()
        errors = process.stderr.read()

    assert (process.returncode, errors) == (0, "")


def test_the_commands_load_no_engine():
    """Only `serve` does, and only when it is run."""
    code = "import sys, triplewire.clients.cli; print([m for m in sys.modules if m in ('triplewire.broker.app', 'uvicorn')])"

    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"
