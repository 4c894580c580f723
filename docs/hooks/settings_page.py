# ruff: noqa: INP001 - MkDocs loads it by its path
"""The page of the settings: conf/broker.toml's sections and comments, with the kinds of values that broker/config.py has."""

from __future__ import annotations

import re
import typing
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any

from triplewire.broker.config import Config

if TYPE_CHECKING:
    from pathlib import Path

_SECTION = re.compile(r"^\[([\w.]+)\]\s*(?:#\s*(.*))?$")
_SETTING = re.compile(r"""^(\w+) = ("[^"]*"|\[[^\]]*\]|\{[^}]*\}|[^\s#]+)\s*(?:#\s*(.*))?$""")
_KINDS = {bool: "true or false", int: "whole number", float: "number", str: "text"}

_INTRODUCTION = """# Settings

Made from `conf/broker.toml` and the broker's own code when this book is built: every setting with its default.

Where a setting stands in several places, the last of these counts: its default, SEPA's `engine.jpar` and `endpoint.jpar`,
the file of `triplewire serve --config FILE`, the environment (`TRIPLEWIRE_SCHEDULER__QUEUE_SIZE=10`), the command line
(`--set scheduler.queue_size=10`). A key that is not known stops the start, and so does a value of the wrong kind. Units are in
the names: `_s` seconds, `_bytes` bytes.
"""


@dataclass(frozen=True, slots=True)
class Setting:
    """One line of conf/broker.toml."""

    section: str
    key: str
    default: str
    comment: str


def settings_page(root: Path) -> str:
    """The page, in Markdown.

    Raises:
        ValueError: a line of conf/broker.toml is not understood, or tells of what broker/config.py has not.
    """
    parts = [_INTRODUCTION]
    for title, comment, settings in _sections((root / "conf" / "broker.toml").read_text(encoding="utf-8")):
        parts.append(
            f"\n## `[{title}]`\n\n{_sentence(comment)}\n\n| setting | default | kind | meaning |\n|---|---|---|---|"
        )
        parts += [_row(setting) for setting in settings]
    return "\n".join(parts) + "\n"


def _sections(text: str) -> list[tuple[str, str, list[Setting]]]:
    sections: list[tuple[str, str, list[Setting]]] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        if found := _SECTION.match(line):
            sections.append((found.group(1), found.group(2) or "", []))
        elif found := _SETTING.match(line):
            key, default, comment = found.groups()
            sections[-1][2].append(Setting(sections[-1][0], key, default, comment or ""))
        else:
            raise ValueError(f"conf/broker.toml, line {number}: {line}")
    return sections


def _row(setting: Setting) -> str:
    kind, comment = _kind(setting), setting.comment.replace("|", "\\|")
    return f"| `{setting.key}` | `{setting.default}` | {kind} | {_sentence(comment)} |"


def _kind(setting: Setting) -> str:
    """What kind of value broker/config.py takes."""
    name = f"{setting.section}.{setting.key}"
    found: Any = Config
    for step in name.split("."):
        if typing.get_origin(found) is not None and not is_dataclass(found):  # a table of any names
            found = typing.get_args(found)[-1]
            continue
        found = typing.get_type_hints(found).get(step) if is_dataclass(found) else None
        if found is None:
            raise ValueError(f"conf/broker.toml has {name}, and broker/config.py has not")
    return _words(found)


def _words(kind: Any) -> str:
    if kind in _KINDS:
        return _KINDS[kind]
    if typing.get_origin(kind) is tuple:
        return f"list of {_words(typing.get_args(kind)[0])}s"
    return "table"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] if text and not text.startswith(("http", "`")) else text


def all_settings() -> set[str]:
    """`section.key` of each setting of broker/config.py, for the test that none is left out."""
    hints = typing.get_type_hints(Config)
    return {
        f"{section.name}.{key.name}"
        for section in fields(Config)
        if is_dataclass(hints[section.name])
        for key in fields(hints[section.name])
    }
