"""The example notebook, run as a reader runs it."""

import base64
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"
NOTEBOOK = EXAMPLES / "live-temperatures.ipynb"


def executed(monkeypatch, tmp_path):
    """The notebook after all its cells, by their ids; a cell that raises raises here."""
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(notebook, timeout=60, resources={"metadata": {"path": str(tmp_path)}}).execute()
    return {cell.id: cell for cell in notebook.cells}


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.ipynb")), ids=lambda path: path.stem)
def test_notebooks_are_kept_without_outputs(path):
    """What is kept is what a person wrote."""
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)

    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert (cell.outputs, cell.execution_count) == ([], None)


def test_the_notebook_starts_a_broker_and_draws(monkeypatch, tmp_path):
    """All of it, in a real kernel, with a broker of its own."""
    monkeypatch.delenv("TRIPLEWIRE_URL", raising=False)

    cells = executed(monkeypatch, tmp_path)

    types = cells["query"].outputs[0]["data"]["text/plain"]
    assert "datetime64[us, UTC]" in types
    assert "Float64" in types
    (shown,) = cells["live"].outputs
    assert shown["data"]["text/plain"] == "Temperatures: temperature over at"
    assert base64.b64decode(shown["data"]["image/png"]).startswith(b"\x89PNG")
    table = cells["measure"].outputs[-1]["data"]["text/plain"]
    assert [line.split()[1:] for line in table.splitlines()[2:]] == [
        ["11", "17.0", "18.25"],
        ["11", "21.5", "24.0"],
    ]
    assert cells["delete"].outputs[-1]["data"]["text/plain"].split()[:5] == ["change", "+", "22", "-", "11"]
    assert cells["close"].outputs[-1]["data"]["text/plain"] == "11"


def test_a_broker_that_is_there_is_used(monkeypatch, tmp_path, fresh_broker):
    """By the environment; and the chart is drawn again in the cell that showed it, from another cell."""
    monkeypatch.setenv("TRIPLEWIRE_URL", fresh_broker.http)
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    wanted = [cell for cell in notebook.cells if cell.cell_type == "code" and cell.id != "close"]
    notebook.cells = [*wanted, nbformat.v4.new_code_cell("time.sleep(1); picture.stop(); picture.drawn")]
    client = NotebookClient(notebook, timeout=60, resources={"metadata": {"path": str(tmp_path)}})
    first = []
    client.on_cell_executed = lambda cell, **_: (
        cell.id == "live" and first.append(cell.outputs[0]["data"]["image/png"])
    )

    client.execute()

    (shown,) = next(cell for cell in wanted if cell.id == "live").outputs
    assert int(notebook.cells[-1].outputs[0]["data"]["text/plain"]) >= 4
    assert shown["data"]["image/png"] != first[0]
