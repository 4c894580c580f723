"""The registry in a file: what was kept is what is read, and what can't be read is nothing."""

from __future__ import annotations

import pytest
from pyoxigraph import BlankNode, Literal, NamedNode

from triplewire.gates.relay.registered import FIRST, IDENTIFIER, NIL, REST, TRACKER
from triplewire.gates.relay.registry_file import NAME, RegistryFile

NODE = NamedNode("urn:s")
TRIPLES = [
    (NODE, IDENTIFIER, Literal('a "name"\nof lines', language="en")),
    (NODE, TRACKER, BlankNode("a")),
    (BlankNode("a"), FIRST, NamedNode("http://one.example")),
    (BlankNode("a"), REST, NIL),
]


def test_what_was_kept(tmp_path):
    """Lists hold together; the file is its owner's alone; the next one takes its place."""
    file = RegistryFile(tmp_path / "new")
    assert file.load() is None
    file.keep(TRIPLES)
    assert file.load() == TRIPLES
    assert (tmp_path / "new" / NAME).stat().st_mode & 0o777 == 0o600
    file.keep([])
    assert file.load() == []
    assert [path.name for path in (tmp_path / "new").iterdir()] == [NAME]


@pytest.mark.parametrize("content", [b"<urn:s> <urn:p>", b"\xff\xfe", b"<a> <b> <c> ."])
def test_what_cant_be_read_is_nothing(tmp_path, caplog, content):
    """And is told."""
    (tmp_path / NAME).write_bytes(content)
    assert RegistryFile(tmp_path).load() is None
    assert "can't be read" in caplog.text


def test_what_cant_be_written_is_told(tmp_path, caplog):
    """The tracker goes on."""
    (tmp_path / "file").write_text("")
    RegistryFile(tmp_path / "file").keep(TRIPLES)
    assert "can't be kept" in caplog.text
