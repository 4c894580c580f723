"""The command's options; what it serves is tried in tests/clients/mcp."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from triplewire.clients.cli import run


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--set", "row=1"], "row is not a limit"),
        (["--set", "rows=x"], "rows: expected a whole number above zero"),
        (["--url", "ftp://b"], "http://"),
        (["--streams-url", "b:1"], "http://"),
        (["--transport", "http", "--host", "0.0.0.0", "--token", "t"], "would act with your token"),
        (["--token", "a", "--token-file", __file__], "exclude each other"),
    ],
)
def test_wrong_options_are_usage_errors(arguments, expected, capsys):
    """They end with 2 and say what is wrong."""
    assert run(["mcp", *arguments]) == 2
    assert expected in capsys.readouterr().err


def test_a_profile_with_too_many_tools_is_refused(tmp_path, capsys):
    """It says how to allow them."""
    file = tmp_path / "many.jsap"
    queries = {f"q{number}": {"sparql": "ASK {}"} for number in range(100)}
    protocol = {
        "protocol": "http",
        "port": 8000,
        "query": {"path": "/query", "method": "POST", "format": "JSON"},
    }
    file.write_text(json.dumps({"host": "b", "queries": queries, "sparql11protocol": protocol}))
    assert run(["mcp", "--jsap", str(file)]) == 2
    assert "makes 208 tools, more than 128: --set tools=N" in capsys.readouterr().err


def test_without_the_extra_it_says_what_to_install():
    """And that is all that is said; the other commands need none of it."""
    program = (
        "import sys; sys.modules['mcp'] = None\n"
        "from triplewire.clients.cli import run\n"
        "assert not any(name.startswith('mcp_types') for name in sys.modules)\n"
        "sys.exit(run(['mcp']))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == 1
    assert ended.stderr == (
        "triplewire: this needs the Model Context Protocol, and mcp is not installed: pip install 'triplewire[agents]'\n"
    )


def test_a_port_that_is_taken_is_said(capsys):
    """By the system's words."""
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert run(["mcp", "--transport", "http", "--port", str(port)]) == 1
    assert "in use" in capsys.readouterr().err
