"""The picture in ARCHITECTURE.md as a test: who may import whom."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("broker", "clients", "conf", "gates", "jsap", "spu")

VOCABULARY = (
    "broker.model",
    "broker.rights",
    "broker.errors",
    "broker.meters",
    "broker.names",
    "broker.tokens",
    "broker.tracing",
    "broker.wire",
)
SETTINGS = (
    "broker.config",
    "broker.overlay_config",
    "broker.jpar",
    "broker.settings_checks",
    "broker.stream_checks",
)
# Changes to texts, and what is read out of them.
TEXTS = ("broker.complexity", "broker.guard", "broker.prologues", "broker.remote", "broker.texts")
# From an update's text to its exact change.
PLAN = (
    "broker.candidates",
    "broker.canonical",
    "broker.delta_writer",
    "broker.loading",
    "broker.operations",
    "broker.overlay",
    "broker.planner",
    "broker.restriction",
    "broker.templates",
    "broker.update_plan",
)
# Exact changes, kept.
KEPT = ("broker.dataset", "broker.journal", "broker.readers")
STORE = ("broker.store", "broker.endpoint", "broker.threads", *TEXTS, *PLAN, *KEPT, *SETTINGS)

# What a tracker thinks with: who is linked with whom, and how far it is.
OVERLAY = tuple(f"gates.relay.{name}" for name in ("delays", "exchanges", "graph", "paths", "topology"))

# Longest prefix wins; each may import itself and what stands here.  Nobody imports broker.app but `serve`.
ARROWS: dict[str, tuple[str, ...]] = {
    "broker.app": ("broker", "gates", "spu"),
    "broker.ports": ("broker.config", "gates"),
    "broker.programs": ("broker.config", "broker.logs"),
    "broker.relaying": (
        *VOCABULARY,
        "broker.config",
        "broker.heap",
        "broker.joining",
        "broker.programs",
        "broker.security",
        "broker.stream_port",
        "gates",
    ),
    "broker.tracker": (
        "broker.config",
        "broker.errors",
        "broker.heap",
        "broker.ports",
        "broker.programs",
        "gates",
    ),
    "broker.stream_port": ("broker.config", "broker.ports", "broker.rights", "broker.security", "gates"),
    "broker.joining": (*VOCABULARY, "broker.config", "broker.security", "clients", "gates"),
    "broker.streams": (
        "broker.config",
        "broker.joining",
        "broker.rights",
        "broker.scheduler",
        "broker.security",
        "broker.stream_port",
        "gates",
    ),
    "broker.admission": ("broker.config", "broker.security", "gates"),
    "broker.model": ("broker.rights",),
    "broker.rights": ("broker.errors", "broker.model"),
    "broker.security": (*VOCABULARY, "broker.config"),
    "broker.errors": (),
    "broker.counters": (),
    "broker.meters": ("broker.counters",),
    "broker.tokens": (),
    "broker.tracing": (),
    "broker.trace_export": ("broker.config", "broker.meters", "broker.tracing"),
    "broker.logs": ("broker.tracing",),
    "broker.names": ("broker.tokens",),
    "broker.wire": VOCABULARY,
    "broker.jpar": ("broker.errors",),
    "broker.config": ("broker.errors", "broker.jpar", "broker.overlay_config", "broker.settings_checks"),
    "broker.overlay_config": (),
    "broker.settings_checks": (
        "broker.errors",
        "broker.config",
        "broker.overlay_config",
        "broker.stream_checks",
    ),
    "broker.stream_checks": ("broker.errors", "broker.config"),
    **dict.fromkeys(TEXTS, (*VOCABULARY, *SETTINGS, *TEXTS)),
    **dict.fromkeys(PLAN, (*VOCABULARY, *SETTINGS, *TEXTS, *PLAN)),
    "broker.store": (*VOCABULARY, *TEXTS, *PLAN, *KEPT, *SETTINGS, "broker.threads"),
    "broker.endpoint": (*VOCABULARY, *STORE),
    "broker.delta_writer": VOCABULARY,
    "broker.journal": (*VOCABULARY, "broker.config"),
    "broker.dataset": (
        *VOCABULARY,
        "broker.config",
        "broker.delta_writer",
        "broker.journal",
        "broker.readers",
        "broker.threads",
    ),
    "broker.readers": (*VOCABULARY, "broker.journal.quad_lines", "broker.threads"),
    "broker.heap": (),
    "broker.held": (*VOCABULARY, "spu"),
    "broker.subscriptions": (
        *VOCABULARY,
        "broker.config",
        "broker.guard",
        "broker.heap",
        "broker.held",
        "spu",
    ),
    "broker.core": (*VOCABULARY, *STORE, "broker.held", "broker.subscriptions", "spu"),
    "broker.threads": (),
    "broker.answer": (*VOCABULARY, "broker.threads"),
    "broker.away": (*VOCABULARY, "broker.config"),
    "broker.composition": ("broker.model",),
    "broker.scheduler": (
        *VOCABULARY,
        *STORE,
        "broker.away",
        "broker.core",
        "broker.answer",
        "broker.threads",
    ),
    "spu": VOCABULARY,
    "gates": (
        *VOCABULARY,
        "broker.config",
        "broker.composition",
        "broker.scheduler",
        "broker.answer",
        "broker.security",
    ),
    "gates.identity": (*VOCABULARY, "clients", "broker.config"),
    "gates.journal": (
        *VOCABULARY,
        "clients",
        "gates",
        "broker.config",
        "broker.scheduler",
        "broker.security",
        *KEPT,
    ),
    "gates.relay": (
        *VOCABULARY,
        "clients",
        "gates",
        "broker.config",
        "broker.overlay_config",
        "broker.security",
        "broker.stream_checks",
    ),
    **dict.fromkeys(OVERLAY, OVERLAY),
    "gates.stream": (
        *VOCABULARY,
        "clients",
        "gates",
        "jsap",
        "broker.config",
        "broker.guard",
        "broker.heap",
        "broker.logs",
        "broker.scheduler",
        "broker.security",
        "broker.stream_checks",
        "broker.texts",
    ),
    "jsap": VOCABULARY,
    "clients": (*VOCABULARY, "jsap"),
    "clients.cli_serve": (*VOCABULARY, "jsap", "broker.app", "broker.config"),
    "clients.cli_relay_overlay": (*VOCABULARY, "clients", "broker.config", "broker.relaying"),
    "clients.cli_tracker": ("broker.config", "broker.tracker"),
    "clients.cli_explain": (*VOCABULARY, "clients", "broker.config", "spu"),
    "clients.mcp.explaining": (*VOCABULARY, "clients", "broker.config", "spu"),
    "clients.cli_journal": (*VOCABULARY, "broker.journal"),
    "clients.cli_load": (*VOCABULARY, "jsap", "clients", "broker.dataset"),
    "clients.historic": (*VOCABULARY, "clients", "broker.dataset", "broker.journal"),
    "conf": (*VOCABULARY, "jsap", "clients"),
    "conf.overlay": ("conf", "clients", "broker.config", "broker.relaying", "broker.tracker"),
}
ASYNCIO = (
    "broker.security",
    "gates",
    "clients",
    "conf",
    "broker.away",
    "broker.scheduler",
    "broker.answer",
    "broker.app",
    "broker.ports",
    "broker.programs",
    "broker.relaying",
    "broker.stream_port",
    "broker.streams",
    "broker.tracker",
)
SOURCES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def imports_of(path: Path) -> set[str]:
    """Absolute names, without the leading `triplewire.`; foreign modules by their first name."""
    package = name_of(path).split(".")
    if path.name != "__init__.py":
        package = package[:-1]
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name.removeprefix("triplewire.") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])]).removeprefix("triplewire.")
            names = [f"{module}.{alias.name}" for alias in node.names]
            found.update(
                name if (ROOT / name.replace(".", "/")).with_suffix(".py").exists() else module
                for name in names
            )
    return found


def allowed_for(name: str) -> tuple[str, ...]:
    prefix = max((arrow for arrow in ARROWS if is_in(name, arrow)), key=len, default=None)
    assert prefix is not None, f"{name} has no place in the picture: give it one"
    return (prefix, *ARROWS[prefix])


def is_in(name: str, folder: str) -> bool:
    return name == folder or name.startswith(f"{folder}.")


@pytest.mark.parametrize("path", [path for path in SOURCES if path.name != "__init__.py"], ids=name_of)
def test_imports_point_down(path):
    """No file imports what the picture does not let it."""
    name = name_of(path)
    ours = {found for found in imports_of(path) if found.split(".")[0] in FOLDERS}
    forbidden = {found for found in ours if not any(is_in(found, arrow) for arrow in allowed_for(name))}
    assert not forbidden, f"{name} must not import {sorted(forbidden)}"


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_the_bare_folder_names_are_never_imported(path):
    """`import broker` would make second copies of every class: only `triplewire.broker` is right."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            assert not any(alias.name.split(".")[0] in FOLDERS for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            assert (node.module or "").split(".")[0] not in FOLDERS


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_asyncio_stays_above_the_core(path):
    """Above the scheduler everything is asyncio, below it nothing is."""
    if "asyncio" in imports_of(path):
        assert any(is_in(name_of(path), folder) for folder in ASYNCIO)


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_pyspark_stays_in_the_historic_clients(path):
    """A sensor that imports the clients must not load Spark."""
    if any(name.split(".")[0] == "pyspark" for name in imports_of(path)):
        assert is_in(name_of(path), "clients.historic")


def test_a_forbidden_arrow_is_seen(tmp_path):
    """The check can fail: a file in spu/ that imports a gate is caught."""
    name = "spu.naive"
    assert not any(is_in("gates.outbox", arrow) for arrow in allowed_for(name))
    source = tmp_path / "x.py"
    source.write_text("from triplewire.gates.outbox import Outbox\n")
    node = ast.parse(source.read_text()).body[0]
    assert isinstance(node, ast.ImportFrom)
    assert node.module == "triplewire.gates.outbox"
