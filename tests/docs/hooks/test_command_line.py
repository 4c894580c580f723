"""The page of the command line has every command with every option."""

from __future__ import annotations

import click
import pytest
from command_line import command_line_page

from triplewire.clients.cli import cli


def commands(group, path):
    for name, command in group.commands.items():
        yield f"{path} {name}", command
        if isinstance(command, click.Group):
            yield from commands(command, f"{path} {name}")


@pytest.fixture(scope="module")
def sections():
    """What stands below each command's heading."""
    parts = command_line_page().split("\n## ")[1:]
    return {part.partition(" {")[0]: part for part in parts}


def test_each_command_has_a_section_with_its_options(sections):
    """Groups as well."""
    there = dict(commands(cli, "triplewire"))
    assert set(sections) == set(there)
    for path, command in there.items():
        for parameter in command.params:
            if isinstance(parameter, click.Option) and not parameter.hidden:
                assert parameter.opts[-1] in sections[path], (path, parameter.opts)


def test_a_word_of_help_is_no_markup(sections):
    """Placeholders in angle brackets would be tags, and stars emphasis."""
    outside = "".join(sections["triplewire consume"].split("`")[::2])
    assert "<" not in outside.replace("\\<", "")
    assert "\\*" in outside or "*" not in outside
