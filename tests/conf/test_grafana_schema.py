"""The dashboard is of the shape that Grafana publishes: TypeScript compares it, part by part, with Grafana's own types."""

from __future__ import annotations

import copy
import json
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest
from support.npm import installed

SOURCE = Path(__file__).with_name("grafana")
DASHBOARD = json.loads(
    files("triplewire.conf.operations").joinpath("grafana.json").read_text(encoding="utf-8")
)
RAW = "./node_modules/@grafana/schema/dist/types/raw"
# Of an enumeration its values are compared, as they stand in JSON.  `definition` is what Grafana itself writes into a
# variable; it is in the second version of the schema alone.
HEAD = f"""
import type {{ Dashboard, Panel, RowPanel, VariableModel }} from "{RAW}/dashboard/x/types.gen";
import type {{ Options as StatOptions }} from "{RAW}/composable/stat/panelcfg/x/types.gen";
import type {{ Options as SeriesOptions, FieldConfig as SeriesField }} from "{RAW}/composable/timeseries/panelcfg/x/types.gen";
type Plain<T> = T extends number ? number : T extends string ? `${{T}}` : T extends boolean | null | undefined ? T
  : T extends (infer U)[] ? Plain<U>[] : T extends object ? {{ [K in keyof T]: Plain<T[K]> }} : T;
type Source = {{ type: string; uid: string }};
type Target = {{ refId: string; datasource: Source; expr: string; legendFormat?: string; range?: boolean; instant?: boolean }};
type Variable = Plain<VariableModel> & {{ definition?: string }};
"""
OPTIONS = ("--noEmit", "--strict", "--skipLibCheck", "--module", "esnext", "--moduleResolution", "bundler")

pytestmark = pytest.mark.xdist_group("grafana-schema")


@pytest.fixture(scope="module")
def compared():
    """What TypeScript has to say of a dashboard; nothing where it is one."""
    folder = installed("grafana", SOURCE)

    def compare(dashboard):
        (folder / "dashboard.ts").write_text(HEAD + "\n".join(_parts(dashboard)), encoding="utf-8")
        program = folder / "node_modules" / ".bin" / "tsc"
        done = subprocess.run(
            [program, *OPTIONS, "dashboard.ts"],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        return done.stdout + done.stderr

    return compare


def _parts(dashboard):
    """Each part as a constant of its type: a literal may have no member that its type has not."""
    whole = copy.deepcopy(dashboard)
    panels, variables = whole.pop("panels"), whole.pop("templating")["list"]
    yield _constant("whole", 'Plain<Omit<Dashboard, "panels" | "templating">>', whole)
    yield _constant("variables", "Variable[]", variables)
    for number, panel in enumerate(panels):
        if panel["type"] == "row":
            yield _constant(f"row{number}", "Plain<RowPanel>", panel)
            continue
        kind = {"stat": "StatOptions", "timeseries": "SeriesOptions"}[panel["type"]]
        yield _constant(f"options{number}", f"Plain<{kind}>", panel.pop("options"))
        yield _constant(f"targets{number}", "Target[]", panel.pop("targets"))
        custom = panel["fieldConfig"]["defaults"].pop("custom", None)
        if custom is not None:
            yield _constant(f"field{number}", "Plain<SeriesField>", custom)
        yield _constant(f"panel{number}", 'Plain<Omit<Panel, "targets" | "options">>', panel)


def _constant(name, kind, value):
    return f"export const {name}: {kind} = {json.dumps(value)};"


def test_the_dashboard_is_of_grafanas_schema(compared):
    """All of its parts, and no member that Grafana does not know."""
    assert compared(DASHBOARD) == ""


@pytest.mark.parametrize(
    ("spoil", "word"),
    [
        (lambda board: board["panels"][1]["options"].update(colorMode="blink"), "blink"),
        (lambda board: board["panels"][1].update(tittle="x"), "tittle"),
        (lambda board: board.update(graphTooltip="crosshair"), "'string' is not assignable to type 'number'"),
        (lambda board: board["templating"]["list"][0].update(current={}), "text, value"),
    ],
)
def test_what_grafana_does_not_know_is_found(compared, spoil, word):
    """A value, a member, a type, and what is missing."""
    spoiled = copy.deepcopy(DASHBOARD)
    spoil(spoiled)
    assert word in compared(spoiled)
