"""The short form for observations (TOML): a few lines about a sensor's file become SOSA, QUDT and OWL-Time.

    base = "https://example.org/weather/"
    sensor = { column = "station" }

    [source]
    path = "station.csv"

    [time]
    column = "when"
    formats = ["dd.MM.yyyy HH:mm"]
    zone = "Europe/Berlin"

    [[observation]]               # a value column; a file that has its property in a column has one of these
    property = "airTemperature"
    value = "temp"
    unit = "°C"

Each row gives an observation for each of these whose value is not null, with an IRI of its own: base + `observation/` + sensor
+ property (+ feature, where it comes from the row) + time in UTC.  So the same row loaded twice is the same observation, and so
is the same moment written otherwise.  Terms: https://www.w3.org/TR/vocab-ssn/ (2017), http://qudt.org/schema/qudt/, https://www.w3.org/TR/owl-time/.
"""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING, Any

from .form_descriptions import read_descriptions
from .form_names import PREFIXES, Names
from .form_observations import read_all
from .form_source import read_source
from .form_table import Table
from .lexical import IRI
from .mapping_problems import MappingError, Problems
from .plan import Mapping

if TYPE_CHECKING:
    from pathlib import Path

_PREFIX = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")


def read_observation_form(path: Path) -> Mapping:
    """The plan of the form at `path`.

    Raises:
        MappingError: it can't be read, or something in it is wrong: all that is, at once, each by its key.
    """
    problems = Problems(str(path))
    document = Table(_document(path), "", problems)
    base = document.text("base")
    if not re.fullmatch(IRI, base) or base[-1] not in "/#:":
        document.problem("base", f"must be an IRI that ends in /, # or :, and is {base!r}")
    source = read_source(document.table("source"), path.parent)
    names = Names(base, _prefixes(document.table("prefixes")), source)
    rules = read_all(document, names)
    sources, described = read_descriptions(document, names, path.parent)
    document.end()
    problems.raise_if_any()
    return Mapping((source, *sources), tuple(dict.fromkeys([*rules, *described])), base)


def _document(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise MappingError(f"{path}: can't be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise MappingError(f"{path}: no TOML: {error}") from error


def _prefixes(table: Table) -> dict[str, str]:
    found = dict(PREFIXES)
    for name in table.names():
        iri = table.text(name)
        if not _PREFIX.fullmatch(name):
            table.problem(name, "is no prefix")
        if not re.fullmatch(IRI, iri):
            table.problem(name, f"must be an IRI, and is {iri!r}")
        found[name] = iri
    return found
