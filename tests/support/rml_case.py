"""RML's test cases (tests/clients/historic/rml_cases), for any evaluator.

    @pytest.mark.parametrize("case", cases(), ids=str)
    def test_..(case, tmp_path):
        case.check(tmp_path, evaluate)

`evaluate(mapping)` gets the plan, whose sources' paths are files below `tmp_path`, and gives lines of N-Quads and how many rows
were broken: `(set[str], int)`.  `check` compares the quads as RDF datasets, blank nodes by isomorphism (our IRIs for them become
blank nodes again), and wants an error or a broken row where the case does.  By hand: `case.write(directory)` puts the files there and
gives the mapping's path, `Case.mapping(directory)` the plan, `rows(source)` a source's rows in plain Python, `.expected()`
the quads.  What can't pass, and why, stands in `EXCEPTIONS`: these are expected to fail in the way that is written there.
"""

from __future__ import annotations

import base64
import contextlib
import csv
import gzip
import io
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyoxigraph import BlankNode, CanonicalizationAlgorithm, Dataset, NamedNode, Quad, RdfFormat, parse

from triplewire.clients.historic.blank_nodes import genid
from triplewire.clients.historic.errors import HistoryError, SourceError
from triplewire.clients.historic.json_paths import json_path
from triplewire.clients.historic.plan import Mapping, Source
from triplewire.clients.historic.rml import read_rml

from .plain_mapping import plain_mapping_of

CASES = Path(__file__).parents[1] / "clients" / "historic" / "rml_cases"

Evaluate = Callable[[Mapping], tuple[set[str], int]]

_NATURAL = (
    "older than the natural mapping: the number 10 of JSON is the text 10 there, and xsd:integer in core"
)
EXCEPTIONS: dict[str, str] = {
    **{
        f"before/RMLTC{number}-JSON": _NATURAL
        for number in ("0002a", "0007c", "0007d", "0007e", "0007f", "0008a", "0008b", "0011b", "0012a")
    },
    "before/RMLTC0002c-JSON": "a member that is in no row is null: a reference to it is not known to be wrong",
    "core/RMLTC0012e-JSON": "a blank node without an expression would be another each time that its row is loaded",
    "core/RMLTC0027b-JSON": "what it expects is no N-Quads: an IRI with a space",
    **dict.fromkeys(
        ("io/RMLSTC0002c", "io/RMLSTC0002d", "io/RMLSTC0002e"), "zip and tar are not read, gzip is"
    ),
}
"""What can't pass, and why; each must fail, so that this is true."""


@dataclass(frozen=True)
class Case:
    """One test case: a mapping, its sources, and the quads or the error that it must give."""

    set: str
    name: str
    base_iri: str
    files: dict[str, bytes] = field(repr=False)
    output: str | None = field(repr=False)
    broken_rows: int = 0

    def __str__(self) -> str:
        return f"{self.set}/{self.name}"

    @property
    def is_error(self) -> bool:
        """Whether it must not go well."""
        return self.output is None

    def write(self, directory: Path) -> Path:
        """Put its files into a directory; the path of the mapping."""
        for name, content in self.files.items():
            (directory / name).write_bytes(content)
        return directory / "mapping.ttl"

    def mapping(self, directory: Path) -> Mapping:
        """The plan, of files in the directory."""
        return read_rml(self.write(directory), self.base_iri)

    def expected(self) -> Dataset:
        """What must come out."""
        try:
            return dataset((self.output or "").encode(), self.base_iri)
        except SyntaxError as error:
            raise AssertionError("what the case expects is no N-Quads") from error

    def check(self, directory: Path, evaluate: Evaluate) -> None:
        """Whether an evaluator does what the case wants."""
        try:
            with contextlib.chdir(directory):  # which rml:CurrentWorkingDirectory means
                lines, broken = evaluate(self.mapping(directory))
        except HistoryError:
            assert self.is_error
            return
        if self.is_error:
            assert broken, "no error, and no broken row"
            return
        made = dataset("".join(f"{line}\n" for line in lines).encode(), self.base_iri)
        expected = self.expected()
        assert made == expected, f"made:\n{made}\nexpected:\n{expected}"
        assert broken == self.broken_rows


def cases() -> list[Case]:
    """All of them, in the order of their names."""
    return [case for path in sorted(CASES.glob("*.json")) for case in _read(path)]


def _read(path: Path) -> Iterator[Case]:
    document = json.loads(path.read_text(encoding="utf-8"))
    for name, files in sorted(document["cases"].items()):
        output = files.get("output")
        content = {
            file: base64.b64decode(text["base64"]) if isinstance(text, dict) else text.encode()
            for file, text in files["files"].items()
        }
        yield Case(path.stem, name, document["base_iri"], content, output, files.get("broken_rows", 0))


def plain(mapping: Mapping) -> tuple[set[str], int]:
    """The evaluator in plain Python."""
    lines, broken = plain_mapping_of({source.name: rows(source) for source in mapping.sources}, mapping)
    return lines, len({(source, row) for source, row, _ in broken})


def rows(source: Source) -> list[dict[str, Any]]:
    """The rows of a file, read in plain Python.

    Raises:
        SourceError: there is no such file, it can't be read, or a line of it has too few or too many columns.
    """
    try:
        content = Path(source.path).read_bytes()
        text = (gzip.decompress(content) if source.path.endswith(".gz") else content).decode(source.encoding)
    except (OSError, UnicodeError) as error:
        raise SourceError(str(error)) from error
    if source.format == "csv":
        return list(_csv_rows(text, source))
    if source.format == "jsonl":
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    return _iterated(json.loads(text), json_path(source.iterator))


def _csv_rows(text: str, source: Source) -> Iterator[dict[str, str | None]]:
    names, *lines = csv.reader(
        io.StringIO(text, newline=""), delimiter=source.delimiter, quotechar=source.quote
    )
    for line in lines:
        if line and len(line) != len(names):
            raise SourceError(f"{len(line)} columns instead of {len(names)}")
        if line:
            yield {
                name: None if cell in source.nulls else cell for name, cell in zip(names, line, strict=True)
            }


def _iterated(document: Any, path: tuple[str | int | None, ...]) -> list[dict[str, Any]]:
    found = [document]
    for step in path:
        found = [inner for outer in found for inner in _inner(outer, step)]
    return found


def _inner(outer: Any, step: str | int | None) -> list[Any]:
    if step is None:
        return outer if isinstance(outer, list) else []
    if isinstance(outer, dict) and isinstance(step, str):
        return [outer[step]] if step in outer else []
    return outer[step : step + 1] if isinstance(outer, list) and isinstance(step, int) else []


def dataset(content: bytes, base_iri: str) -> Dataset:
    """The quads with canonical names for blank nodes; equal datasets are isomorphic."""
    prefix = genid(base_iri)
    found = Dataset(
        Quad(*(_blank(term, prefix) for term in quad)) for quad in parse(content, format=RdfFormat.N_QUADS)
    )
    found.canonicalize(CanonicalizationAlgorithm.UNSTABLE)
    return found


def _blank(term: Any, prefix: str) -> Any:
    """Our IRI for a blank node as one."""
    if isinstance(term, NamedNode) and term.value.startswith(prefix):
        return BlankNode(f"b{term.value.removeprefix(prefix).encode().hex()}")
    return term
