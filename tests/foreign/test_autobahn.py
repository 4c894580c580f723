"""Autobahn|Testsuite, the WebSocket protocol's outside judge, as a fuzzing client against the broker's own port."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from foreign.installs import HERE, environment, install, python2, run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.foreign, pytest.mark.xdist_group("autobahn"), pytest.mark.timeout(300)]

PACKAGES = ("autobahntestsuite==0.8.2", "zope.interface<6")
AGENT = "triplewire"

PROTOCOL = ["1.*", "2.*", "3.*", "4.*", "5.*", "6.*", "7.*", "10.*"]
HANDED_OVER = ["1.*", "2.*", "5.*", "7.*", "10.*"]
LARGE = ["9.*"]
# All 216 cases of 12 and 13 take minutes: of each kind of payload or window, messages of 256 bytes.
COMPRESSED = [f"{group}.{kind}.3" for group in (12, 13) for kind in range(1, 8)]
COMPRESSED = [case for case in COMPRESSED if not case.startswith(("12.6", "12.7"))]

ACCEPTED = {"OK", "NON-STRICT", "INFORMATIONAL"}

# A close frame between the fragments of a message.  The suite wants 1000 in return, since a control frame may stand
# there (RFC 6455, 5.4); the websockets library closes with 1002, since the rest of the message can never come.  The
# connection ends cleanly in both readings, and no client of ours sends this.
CLOSED_AS_BROKEN = {"7.1.5"}
# 4 MiB in frames of 64, 256 and 1024 bytes.  The library takes at most 4096 frames a message, as each costs an object:
# with a limit on bytes alone, a message of 16 MiB in one-byte frames would take gigabytes.
TOO_MANY_FRAMES = {f"9.{kind}.{size}" for kind in (3, 4) for size in (1, 2, 3)}


@pytest.fixture(scope="module")
def fuzzer() -> list[str]:
    """The command that runs Autobahn's fuzzing client; only its arguments are missing."""
    python = str(python2())

    def make(place: Path) -> None:
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        run([*pip, "--target", str(place), *PACKAGES])
        # A --target folder is no site folder: its zope namespace needs to be an ordinary package.
        (place / "zope" / "__init__.py").touch()

    place = install("autobahn", " ".join(PACKAGES), make)
    start = f"import sys; sys.path.insert(0, {str(place)!r}); from autobahntestsuite.wstest import run; run()"
    return [python, "-c", start, "--mode", "fuzzingclient"]


@pytest.fixture(scope="module")
def echoes() -> Iterator[list[str]]:
    """The URLs of an echo handler behind the broker's WebSocket port and behind its HTTP port."""
    command = [sys.executable, "-P", str(HERE / "echo_server.py")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield server.stdout.readline().split()
        server.terminate()
        assert server.wait(10) == 0


def verdicts(fuzzer: list[str], url: str, cases: list[str], place: Path) -> dict[str, dict[str, Any]]:
    """What the suite says of each case."""
    specification = place / "fuzzingclient.json"
    reports = place / "reports"
    servers = [{"agent": AGENT, "url": url}]
    specification.write_text(
        json.dumps(
            {
                "outdir": str(reports),
                "servers": servers,
                "cases": cases,
                "exclude-cases": [],
                "exclude-agent-cases": {},
            }
        ),
        encoding="utf-8",
    )
    done = subprocess.run(
        [*fuzzer, "--spec", str(specification)],
        env=environment(),
        cwd=place,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    report: dict[str, dict[str, Any]] = json.loads((reports / "index.json").read_text(encoding="utf-8"))[
        AGENT
    ]
    print(f"autobahn {cases[0]} to {cases[-1]}:", dict(Counter(case["behavior"] for case in report.values())))
    return report


def detail(place: Path, verdict: dict[str, Any]) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((place / "reports" / verdict["reportfile"]).read_text(encoding="utf-8"))
    return read


def failed(report: dict[str, dict[str, Any]]) -> dict[str, tuple[str, str]]:
    return {
        case: (verdict["behavior"], verdict["behaviorClose"])
        for case, verdict in report.items()
        if verdict["behavior"] not in ACCEPTED or verdict["behaviorClose"] not in ACCEPTED
    }


@pytest.mark.slow
def test_the_websocket_port_speaks_rfc_6455(fuzzer: list[str], echoes: list[str], tmp_path: Path) -> None:
    """Framing, pings, reserved bits, opcodes, fragments, UTF-8 and closing are right but for one reasoned case."""
    report = verdicts(fuzzer, echoes[0], PROTOCOL, tmp_path)
    assert len(report) == 247
    assert set(failed(report)) == CLOSED_AS_BROKEN
    assert detail(tmp_path, report["7.1.5"])["received"] == []
    assert report["7.1.5"]["remoteCloseCode"] == 1002


def test_the_http_port_speaks_it_too(fuzzer: list[str], echoes: list[str], tmp_path: Path) -> None:
    """A connection that the HTTP server hands over is the same: pings, fragments and closing."""
    report = verdicts(fuzzer, echoes[1], HANDED_OVER, tmp_path)
    assert len(report) == 85
    assert set(failed(report)) == CLOSED_AS_BROKEN


@pytest.mark.slow
def test_messages_up_to_16_mib_are_echoed(fuzzer: list[str], echoes: list[str], tmp_path: Path) -> None:
    """Texts and binaries, whole and in up to 4096 frames, to the largest message allowed; with more they are refused."""
    report = verdicts(fuzzer, echoes[0], LARGE, tmp_path)
    assert len(report) == 54
    assert set(failed(report)) == TOO_MANY_FRAMES
    assert {report[case]["remoteCloseCode"] for case in TOO_MANY_FRAMES} == {1009}


@pytest.mark.slow
def test_compressed_messages_are_echoed(fuzzer: list[str], echoes: list[str], tmp_path: Path) -> None:
    """permessage-deflate is negotiated with each window size and option, and loses nothing."""
    report = verdicts(fuzzer, echoes[0], COMPRESSED, tmp_path)
    assert len(report) == len(COMPRESSED)
    assert failed(report) == {}
