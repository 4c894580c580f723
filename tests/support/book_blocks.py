"""The fenced blocks of a page of the book: found, looked at and compared, without running anything."""

from __future__ import annotations

import re
import shlex
import subprocess
from dataclasses import dataclass
from typing import Any

import click

from triplewire.clients.cli import cli

_FENCE = re.compile(r"^```(?:(\w+)|\{([^}]*)\})\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Block:
    """A fence: its language, its other classes, the title, and what is in it."""

    language: str
    classes: frozenset[str]
    title: str
    text: str


def blocks_of(markdown: str) -> list[Block]:
    """All fences of a page, in order."""
    found = []
    for language, attributes, text in _FENCE.findall(markdown):
        classes = re.findall(r"\.(\w+)", re.sub(r'"[^"]*"', "", attributes)) if attributes else [language]
        title = re.search(r'title="([^"]*)"', attributes)
        found.append(Block(classes[0], frozenset(classes[1:]), title.group(1) if title else "", text))
    return found


def assert_like(came: Any, expected: Any) -> None:
    """The same JSON, but for `…`."""
    if isinstance(expected, dict):
        assert came.keys() == expected.keys(), came
        for name, value in expected.items():
            assert_like(came[name], value)
    elif isinstance(expected, list):
        assert len(came) == len(expected), came
        for one, other in zip(came, expected, strict=True):
            assert_like(one, other)
    elif isinstance(expected, str) and "…" in expected:
        assert re.fullmatch(".*".join(map(re.escape, expected.split("…"))), came), came
    else:
        assert came == expected


def commands_of(text: str) -> list[list[str]]:
    """The words of each `triplewire` in a shell's text."""
    found = []
    for line in text.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if "triplewire" in words:
            found.append(words[words.index("triplewire") :])
    return found


def look_at(text: str) -> None:
    """Whether bash can read the text, and `triplewire` has the commands and options."""
    read = subprocess.run(["bash", "-n", "-c", text], capture_output=True, text=True, check=False)
    assert read.returncode == 0, read.stderr
    for line in commands_of(text):
        words = line[1:]
        command: click.Command = cli
        while isinstance(command, click.Group) and words and words[0] in command.commands:
            command = command.commands[words.pop(0)]
        there = {
            name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)
        }
        used = {word.partition("=")[0] for word in words if word.startswith("--")}
        assert used <= there | {"--help"}, f"{' '.join(line)}: there is no {used - there}"
