"""Many changes as one: for each quad and graph, whether it is there in the end.

Nothing is parsed: equal quads are equal lines (quad_lines.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .record import Record


class NetChange:
    """What many records come to; `lines` and `graphs` say of each that was named whether it is there."""

    def __init__(self) -> None:
        self.lines: dict[bytes, bool] = {}
        self.graphs: dict[str, bool] = {}

    def redo(self, record: Record) -> None:
        """Add a later record: its word counts."""
        lines = self.lines
        for line in record.deleted.split(b"\n"):
            lines[line] = False
        for line in record.inserted.split(b"\n"):
            lines[line] = True
        lines.pop(b"", None)
        for graph in record.dropped:
            self.graphs[graph] = False
        for graph in record.graphs:
            self.graphs[graph] = True

    def undo(self, record: Record) -> None:
        """Add a record of after the moment that is looked for: it tells the contrary, of what was not told before.

        Whether a graph was there, empty, before its first quad came is not known: it stays.
        """
        for line in record.deleted.split(b"\n"):
            self.lines.setdefault(line, True)
        for line in record.inserted.split(b"\n"):
            self.lines.setdefault(line, False)
        self.lines.pop(b"", None)
        delta = record.delta()
        for graph in delta.dropped:
            self.graphs.setdefault(graph.value, True)
        for graph in delta.created:
            self.graphs.setdefault(graph.value, False)

    def without_named(self, text: bytes) -> bytes:
        """N-Quads without the quads that have been named, wherever they are to be in the end."""
        if not self.lines:
            return text
        kept = [line for line in text.split(b"\n") if line not in self.lines]
        return b"\n".join(kept)

    def there(self) -> list[bytes]:
        """The lines that are there in the end."""
        return [line for line, is_there in self.lines.items() if is_there]
