from __future__ import annotations

import pytest
from support.mapping_files import form

from triplewire.clients.historic.mapping_problems import MappingError
from triplewire.clients.historic.observation_form import read_observation_form

FORM = """
base = "https://example.org/"
sensor = "roof"
[source]
path = "a.csv"
[time]
column = "t"
[[observation]]
property = "temperature"
value = "v"
"""


def test_a_form_is_a_plan(tmp_path):
    """With the base of the form and the source beside it."""
    mapping = form(tmp_path, FORM)
    assert mapping.base_iri == "https://example.org/"
    assert mapping.sources[0].path == str(tmp_path / "a.csv")
    assert len(mapping.rules) == 5


def test_a_missing_file_and_no_toml_are_told(tmp_path):
    """With the path, and what the reader says."""
    with pytest.raises(MappingError, match=r"a\.toml: can't be read: No such file"):
        read_observation_form(tmp_path / "a.toml")
    with pytest.raises(MappingError, match=r"form\.toml: no TOML: Invalid value"):
        form(tmp_path, "base = ")


def test_all_problems_are_told_at_once(tmp_path):
    """Each by its key; the first does not hide the others."""
    with pytest.raises(MappingError) as raised:
        form(
            tmp_path,
            FORM.replace('"https://example.org/"', '"example.org"').replace("value", "valeu") + "extra = 1\n",
        )
    text = str(raised.value)
    assert "base: must be an IRI that ends in /, # or :, and is 'example.org'" in text
    assert "observation[1].value: is missing" in text
    assert "observation[1].valeu: is no key; did you mean value?" in text
    assert "observation[1].extra: is no key" in text


@pytest.mark.parametrize("name", ["sensors", "tiem", "prefix"])
def test_an_unknown_key_at_the_top_is_told(tmp_path, name):
    """As one anywhere else."""
    with pytest.raises(MappingError, match=rf"{name}: is no key; did you mean"):
        form(tmp_path, f'{name} = "x"\n' + FORM)


def test_prefixes_of_ones_own(tmp_path):
    """They may replace known ones; an IRI that is none is told."""
    mapping = form(
        tmp_path, 'prefixes = { ex = "urn:ex:" }\n' + FORM.replace('"temperature"', '"ex:temperature"')
    )
    assert any(getattr(rule.object.expression, "value", "") == "urn:ex:temperature" for rule in mapping.rules)
    with pytest.raises(MappingError, match=r"prefixes\.ex: must be an IRI, and is 'x'"):
        form(tmp_path, 'prefixes = { ex = "x" }\n' + FORM)
