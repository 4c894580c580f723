"""The page of the settings has each one, and what conf/broker.toml says of it."""

from __future__ import annotations

import pytest
from docs.conftest import ROOT
from settings_page import all_settings, settings_page


@pytest.fixture(scope="module")
def page():
    return settings_page(ROOT)


def rows(page):
    """Section and key of each row."""
    section, found = "", {}
    for line in page.splitlines():
        if line.startswith("## `["):
            section = line.removeprefix("## `[").removesuffix("]`")
        elif line.startswith("| `"):
            cells = [cell.strip() for cell in line.split(" | ")]
            found[f"{section}.{cells[0].strip('| `')}"] = cells[1:]
    return found


def test_every_setting_is_there(page):
    """Those of the code, each by its section."""
    there = set(rows(page))
    assert {name for name in all_settings() if name != "sparql.prefixes"} <= there
    assert "streams.events.window_s" in there


def test_a_row_says_default_kind_and_meaning(page):
    """As conf/broker.toml has them; the kind is that of the code."""
    default, kind, meaning = rows(page)["scheduler.queue_size"]
    assert (default, kind) == ("`1000`", "whole number")
    assert meaning.startswith("Updates, subscribes and unsubscribes admitted")
    assert rows(page)["security.enabled"][1] == "true or false"
    assert rows(page)["security.provider_algorithms"][:2] == ['`["RS256", "ES256"]`', "list of texts"]
    assert rows(page)["streams.events.bindings"][1] == "table"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[http]\nnothing = 1\n", "http.nothing"),
        ("[http]\nport 8000\n", "line 2"),
        ("[nowhere]\na = 1\n", "nowhere.a"),
    ],
)
def test_what_is_not_understood_stops_the_build(tmp_path, text, told):
    """A setting that the code has not, or a line of another form."""
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "broker.toml").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=told):
        settings_page(tmp_path)
