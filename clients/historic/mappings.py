"""A mapping from a file, by its ending: `.toml` is the form for observations, all else RML or R2RML in Turtle."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .observation_form import read_observation_form
from .rml import read_rml

if TYPE_CHECKING:
    from pathlib import Path

    from .plan import Mapping


def read_mapping(path: Path, base_iri: str = "http://localhost/") -> Mapping:
    """The plan of a mapping's file; a form has its base in it, and `base_iri` is for RML.

    Raises:
        MappingError: it can't be read, or something in it is wrong.
    """
    return read_observation_form(path) if path.suffix.lower() == ".toml" else read_rml(path, base_iri)
