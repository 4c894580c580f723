"""The README's examples are run, word for word but for the ports."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import sysconfig
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from support.running import RunningBroker

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
SCRIPTS = sysconfig.get_path("scripts")

pytestmark = pytest.mark.xdist_group("readme")


def block(language: str, beginning: str) -> str:
    """The one block of this language that has this text in it."""
    (found,) = (text for kind, text in BLOCKS if kind == language and beginning in text)
    return found


@pytest.fixture
def shell(fresh_broker, tmp_path):
    """Starts a README block with the broker's own addresses in place of the default ones."""
    started: list[subprocess.Popen[str]] = []
    environment = os.environ | {
        "TRIPLEWIRE_URL": fresh_broker.http,
        "PATH": f"{SCRIPTS}:{os.environ['PATH']}",
    }

    def start(text: str) -> subprocess.Popen[str]:
        text = text.replace(".venv/bin/", "").replace("http://localhost:8000", fresh_broker.http)
        text = text.replace("ws://localhost:9000/subscribe", fresh_broker.ws)
        process = subprocess.Popen(
            ["bash", "-c", f"exec {text}" if text.startswith(("triplewire", "curl")) else text],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
            cwd=tmp_path,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.terminate()
        process.communicate(timeout=10)


def finished(process: subprocess.Popen[str]) -> str:
    output, error = process.communicate(timeout=30)
    assert process.returncode == 0, error
    return output


def next_line(process: subprocess.Popen[str], containing: str) -> str:
    assert process.stdout is not None
    for line in process.stdout:
        if containing in line:
            return line
    raise AssertionError(f"it ended without saying {containing!r}")


def test_the_command_line_example(shell, fresh_broker):
    """The subscriber prints + for a new row, then - and + for a changed one."""
    subscriber = shell(block("sh", "triplewire subscribe 'SELECT"))
    wait_for_subscription(fresh_broker)
    finished(shell(block("sh", "update 'INSERT DATA")))
    assert next_line(subscriber, "21.5").startswith("+")
    finished(shell(block("sh", "DELETE { ex:kitchen")))
    lines = {next_line(subscriber, "kitchen")[0] for _ in range(2)}
    assert lines == {"+", "-"}


def test_the_curl_example(shell, fresh_broker):
    """curl alone follows a query and changes its answer."""
    follower = shell(block("sh", "curl -N -G"))
    wait_for_subscription(fresh_broker)
    assert '"isJson": false' in finished(shell(block("sh", "curl http://localhost:8000/update")))
    assert "cellar" in next_line(follower, "cellar")


def test_the_python_example(fresh_broker):
    """Ten lines subscribe, update and print the notification."""
    code = block("python", "SparqlClient").replace("http://localhost:8000", fresh_broker.http)
    code = code.replace("ws://localhost:9000/subscribe", fresh_broker.ws)
    code += "    import time; time.sleep(1)\n"
    run = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, timeout=30, check=True
    )
    assert run.stdout.startswith("now []")
    assert "23" in run.stdout.partition("+")[2]


def test_the_stream_examples(shell, fresh_broker, tmp_path):
    """Who follows sees what is published, from the command line and from Python."""
    streams = fresh_broker.streams.rstrip("/")

    def example(language, beginning):
        return block(language, beginning).replace("http://localhost:8001", streams)

    follower = shell(example("sh", "triplewire consume"))
    (tmp_path / "consume.py").write_text(example("python", "StreamConsumer"))
    (tmp_path / "publish.py").write_text(example("python", "StreamPublisher"))
    python = shell("exec python3 -P consume.py")
    wait_for(fresh_broker, lambda health: health["streams"]["consumers"] == 2)
    finished(shell(example("sh", "triplewire publish")))
    finished(shell("exec python3 -P publish.py"))
    assert next_line(python, "21.5").startswith("kitchen")
    assert next_line(python, "22.0").startswith("kitchen")
    assert "21.5" in next_line(follower, "21.5")  # the end of the last item is no end of a line


def test_the_profile_example(shell, tmp_path, fresh_broker):
    """The JSAP is well-formed, and a query of it can be followed."""
    here = block("json", "TEMPERATURES").replace(
        '"port": 8000', f'"port": {fresh_broker.http.rpartition(":")[2]}'
    )
    here = here.replace('"port": 9000', f'"port": {fresh_broker.ws.rpartition(":")[2].partition("/")[0]}')
    (tmp_path / "rooms.jsap").write_text(here)
    check, follow = block("sh", "jsap check rooms.jsap").strip().splitlines()
    finished(shell(check))
    follower = shell(follow)
    wait_for_subscription(fresh_broker)
    finished(shell(block("sh", "update 'INSERT DATA")))
    assert "21.5" in next_line(follower, "21.5")


@pytest.fixture
def kept(tmp_path):
    """A broker that keeps its dataset in ./data."""
    broker = RunningBroker.start("--data", str(tmp_path / "data"), memory=False)
    yield broker
    broker.stop()


def test_the_readme_names_true_paths(kept):
    """Every path of the table answers."""
    found = re.findall(r"^\| `(/[^|]*)` \|", README, re.MULTILINE)
    paths = [path for names in found for path in names.split("`, `")]
    assert {"/sparql", "/update", "/journal", "/metrics"} <= set(paths)
    for path in paths:
        assert httpx.get(kept.http + path).status_code in {200, 400, 405, 406}, path


def test_the_journals_commands(kept, tmp_path):
    """As they stand there, but for the time and the place of the backup."""
    httpx.post(f"{kept.http}/update", data={"update": "INSERT DATA { <a:a> <a:b> 1 }"}).raise_for_status()
    now = datetime.now(UTC).isoformat()
    commands = block("sh", "journal verify data").replace("2026-05-04T12:00", now).replace("--after 1000", "")
    for line in commands.replace("/mnt/backup/today", "backup").splitlines():
        words = shlex.split(line, comments=True)
        assert words.pop(0) == "triplewire"
        done = subprocess.run(
            [sys.executable, "-m", "triplewire.clients", *words],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, (line, done.stderr)
    assert (tmp_path / "noon.nq").read_text().startswith("<a:a> <a:b>")
    assert (tmp_path / "backup" / "journal").is_dir()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_archives_commands(kept, tmp_path):
    """As they stand there, but for the day, the broker's address, and that the first is done once and ends."""
    day = (datetime.now(UTC) - timedelta(days=2)).date().isoformat()
    observe(kept, f"{day}T10:05:00Z", 21.5)
    observe(kept, f"{day}T10:35:00Z", 22.5)
    commands = block("sh", "triplewire history archive").replace("2026-05-01", day)
    commands = commands.replace("--every 10s", "--once").replace("http://localhost:8000", kept.http)
    # Two hundred tasks, as Spark would have it, are for more than two values.
    (tmp_path / "spark-defaults.conf").write_text("spark.sql.shuffle.partitions 2\n")
    more = {"SPARK_CONF_DIR": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state")}
    answers = []
    for line in commands.splitlines():
        words = shlex.split(line, comments=True)
        assert words.pop(0) == "triplewire"
        done = subprocess.run(
            [sys.executable, "-P", "-m", "triplewire.clients", *words],
            cwd=tmp_path,
            env=os.environ | more,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, (line, done.stderr)
        answers.append(done.stdout)
    assert f"{day}T10:00:00Z" in answers[1]
    assert "22" in answers[1].partition(f"{day}T10:00:00Z")[2]
    query = f"""{SOSA} SELECT ?how ?value {{
        ?o sosa:madeBySensor <http://example.org/kitchen> ; sosa:usedProcedure ?how ; sosa:hasSimpleResult ?value }}"""
    told = httpx.post(f"{kept.http}/query", data={"query": query}, headers={"Accept": "text/csv"}).text
    means = [row for row in told.splitlines() if "mean-of-hour" in row]
    assert [float(row.rpartition(",")[2]) for row in means] == [22.0]


SOSA = "PREFIX sosa: <http://www.w3.org/ns/sosa/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>"


def observe(broker, moment: str, value: float) -> None:
    update = f"""{SOSA} INSERT DATA {{ <http://example.org/{moment}> a sosa:Observation ;
        sosa:madeBySensor <http://example.org/kitchen> ; sosa:observedProperty <http://example.org/temperature> ;
        sosa:resultTime "{moment}"^^xsd:dateTime ; sosa:hasSimpleResult {value} }}"""
    httpx.post(f"{broker.http}/update", data={"update": update}).raise_for_status()


def wait_for_subscription(broker) -> None:
    wait_for(broker, lambda health: health["subscriptions"] > 0)


def wait_for(broker, reached) -> None:
    deadline = time.monotonic() + 10
    while not reached(httpx.get(f"{broker.http}/health").json()):
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.05)
