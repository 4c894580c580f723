"""The fenced blocks of a page of the book, run in their order against real brokers.

What is done with a block, the page says by its language and classes (```{ .sh .follows }):

- `sh` is run by bash to its end, which must be 0; variables that it exports stay.  `triplewire serve` starts a broker, whose
  default ports, and those of its options, are replaced by free ones wherever they stand in the page.  `.follows` is started
  and left to run.  `.elsewhere` can't be run here (systemctl, a cluster), or is the README's, whose test runs it: its syntax
  is looked at, and the options of each `triplewire`.
- `python` is a program of its own; `.follows` as above.  `.file` is only written to the file of its title.
- `sparql` is asked or made at the broker.
- `json` and `toml` are read, and written to the file that their title names; `.settings` must be accepted by the broker.
  JSON with `.sent` is sent on the page's WebSocket, and `.received` is what must come.
- `html` is written to the file of its title, and opened in Chromium; what it shows is said, too.
- `text` with `.output` is what must be said by what has been started so far, line by line.

`…` in what is expected stands for anything.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
import tomllib
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from websockets.sync.client import ClientConnection, connect

from triplewire.broker.config import load

from .book_blocks import Block, assert_like, commands_of, look_at
from .running import RunningBroker

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
LANGUAGES = {"sh", "python", "sparql", "json", "toml", "html", "text"}
_PORTS = {
    "--http-port": 8000,
    "--ws-port": 9000,
    "--stream-port": 8001,
    "--https-port": 8443,
    "--wss-port": 9443,
}
_UPDATE = re.compile(r"\b(INSERT|DELETE|LOAD|CLEAR|DROP|CREATE|MOVE|COPY|ADD)\b")
_OUR_URL = "'TRIPLEWIRE_URL=\"http://127'"  # the running broker's: it may be another by the next block
_WAIT_S = 30.0
# Spark's two hundred tasks are for more than some rows.
_SPARK = "spark.sql.shuffle.partitions 2\nspark.ui.enabled false\nspark.driver.memory 1g\n"


@dataclass
class PageRun:
    """The brokers, programs and files of one page; `directory` is where its commands are run."""

    directory: Path
    brokers: dict[int, RunningBroker] = field(default_factory=dict)  # by the HTTP port that the page says
    ports: dict[int, int] = field(default_factory=dict)
    socket: ClientConnection | None = None
    spuid: str = ""
    shown: Any = None
    problems: list[str] = field(default_factory=list)
    _open: ExitStack = field(default_factory=ExitStack)
    _programs: list[subprocess.Popen[bytes]] = field(default_factory=list)
    _outputs: list[Path] = field(default_factory=list)

    def run(self, block: Block) -> None:
        """Do what the block says; AssertionError where it does not come to that."""
        assert block.language in LANGUAGES, f"nothing is known of fences in {block.language}"
        getattr(self, f"_{block.language}")(block)

    def close(self) -> None:
        """End all that was started; the brokers must end well."""
        self._open.close()
        for program in self._programs:
            if program.poll() is None:
                os.killpg(program.pid, signal.SIGTERM)
            program.wait(_WAIT_S)
        for port in reversed([*self.brokers]):
            self._end(port)

    def _sh(self, block: Block) -> None:
        if "elsewhere" in block.classes:
            look_at(block.text)
        elif block.text.startswith("triplewire serve"):
            for command in commands_of(block.text):
                self._serve(command[2:])
        else:
            self._main()
            self._start(["bash", "-c", self._with_exports(block)], follows="follows" in block.classes)

    def _python(self, block: Block) -> None:
        self._main()
        program = self.directory / (block.title or f"block-{len(self._outputs)}.py")
        program.write_text(self._here(block.text), encoding="utf-8")
        if "file" not in block.classes:
            self._start([sys.executable, "-P", "-u", str(program)], follows="follows" in block.classes)

    def _sparql(self, block: Block) -> None:
        kind = "update" if _UPDATE.search(block.text) else "query"
        answer = httpx.post(f"{self._main().http}/{kind}", data={kind: block.text})
        assert answer.status_code == 200, (block.text, answer.text)

    def _json(self, block: Block) -> None:
        said = json.loads(block.text)
        if "sent" in block.classes:
            self._on_socket().send(block.text.replace("sepa://subscription/…", self.spuid))
        elif "received" in block.classes:
            self._received(said)
        elif block.title:
            (self.directory / block.title).write_text(self._here(block.text), encoding="utf-8")

    def _toml(self, block: Block) -> None:
        tomllib.loads(block.text)
        path = self.directory / (block.title or "block.toml")
        path.write_text(self._here(block.text), encoding="utf-8")
        if "settings" in block.classes:
            load(path, environment={})

    def _html(self, block: Block) -> None:
        self._main()
        path = self.directory / block.title
        path.write_text(self._here(block.text), encoding="utf-8")
        self.shown = self._open.enter_context(headless_chromium()).new_page()
        self.shown.on("pageerror", lambda error: self.problems.append(str(error)))
        self.shown.goto(path.as_uri())

    def _text(self, block: Block) -> None:
        if "output" not in block.classes:
            return
        for line in filter(str.strip, self._here(block.text).splitlines()):
            pattern = re.compile(".*".join(map(re.escape, line.strip().split("…"))))
            deadline = time.monotonic() + _WAIT_S
            while not pattern.search(said := self._said()):
                assert time.monotonic() < deadline, f"nobody said {line!r}, but:\n{said}"
                time.sleep(0.05)

    def _serve(self, arguments: list[str]) -> None:
        link = self.directory / "conf"  # as in a checkout
        if not link.exists():
            link.symlink_to(ROOT / "conf")
        declared, given = dict(_PORTS), []
        rest = iter(arguments)
        for argument in rest:
            if argument in _PORTS:
                declared[argument] = int(next(rest))
            else:
                given.append(self._here(argument))
        self._end(declared["--http-port"])
        memory = not {"--data", "--follow"} & set(given)
        broker = RunningBroker.start("--https-port", "0", "--wss-port", "0", *given, memory=memory)
        self.brokers[declared["--http-port"]] = broker
        urls = (broker.http, broker.ws, broker.streams, broker.https, broker.wss)
        for port, url in zip(declared.values(), urls, strict=True):
            if found := re.search(r":(\d+)", url):
                self.ports[port] = int(found.group(1))

    def _end(self, port: int) -> None:
        if port in self.brokers:
            assert self.brokers.pop(port).stop() == 0

    def _main(self) -> RunningBroker:
        if 8000 not in self.brokers:
            self._serve([])
        return self.brokers[8000]

    def _here(self, text: str) -> str:
        """The text with the addresses of the brokers that run."""

        def free(found: re.Match[str]) -> str:
            return f"{found.group(1)}{self.ports.get(int(found.group(2)), int(found.group(2)))}"

        return re.sub(r'(localhost:|127\.0\.0\.1:|"port": )(\d+)\b', free, text)

    def _with_exports(self, block: Block) -> str:
        exports = self.directory / "exports.sh"
        before = f". {exports}\n" if exports.exists() else ""
        after = "" if "follows" in block.classes else f"\nexport -p | grep -v {_OUR_URL} > {exports}"
        return f"set -e\n{before}{self._here(block.text)}{after}"

    def _start(self, command: list[str], *, follows: bool) -> None:
        output = self.directory / f"output-{len(self._outputs)}.txt"
        self._outputs.append(output)
        with output.open("wb") as written:
            program = subprocess.Popen(
                command,
                stdout=written,
                stderr=subprocess.STDOUT,
                cwd=self.directory,
                env=self._environment(),
                start_new_session=True,
            )
        self._programs.append(program)
        if follows:
            self._wait_for_followers()
        else:
            assert program.wait(240) == 0, f"{command[-1]}\n{output.read_text(encoding='utf-8')}"

    def _wait_for_followers(self) -> None:
        """What follows is there before what comes next in the page is done, or it has ended."""
        deadline = time.monotonic() + _WAIT_S
        while self._followed() < sum(program.poll() is None for program in self._programs):
            assert time.monotonic() < deadline, f"nobody follows:\n{self._said()}"
            time.sleep(0.05)

    def _followed(self) -> int:
        health = [httpx.get(f"{broker.http}/health").json() for broker in self.brokers.values()]
        return sum(one["subscriptions"] + one["streams"]["consumers"] for one in health)

    def _environment(self) -> dict[str, str]:
        spark = self.directory / "spark"
        spark.mkdir(exist_ok=True)
        (spark / "spark-defaults.conf").write_text(_SPARK, encoding="utf-8")
        return os.environ | {
            "PATH": f"{sysconfig.get_path('scripts')}:{os.environ['PATH']}",
            "TRIPLEWIRE_URL": self._main().http,
            "XDG_CONFIG_HOME": str(self.directory / "config"),
            "XDG_STATE_HOME": str(self.directory / "state"),
            "SPARK_CONF_DIR": str(spark),
            "PYTHONUNBUFFERED": "1",
        }

    def _said(self) -> str:
        assert not self.problems
        said = [path.read_text(encoding="utf-8", errors="replace") for path in self._outputs]
        if self.shown is not None:
            said.append(self.shown.inner_text("body"))
        return "\n".join(said)

    def _on_socket(self) -> ClientConnection:
        if self.socket is None:
            self.socket = self._open.enter_context(connect(self._main().ws))
        return self.socket

    def _received(self, expected: Any) -> None:
        came = json.loads(self._on_socket().recv(timeout=_WAIT_S))
        self.spuid = came.get("notification", {}).get("spuid", self.spuid)
        assert_like(came, expected)


@contextmanager
def headless_chromium() -> Iterator[Any]:
    """Skips the test where there is none, but not in CI."""
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None and not os.environ.get("CI"):
        pytest.skip("Chromium is not installed")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        yield chromium
        chromium.close()
