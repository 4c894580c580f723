"""Directories of parts as a mapping leaves them, without Spark."""

from __future__ import annotations

import gzip
import json

from pyoxigraph import Literal, NamedNode, Quad, RdfFormat, serialize

from triplewire.clients.historic.part_files import PartFiles


def observations(count, graph=None):
    """Lines of N-Quads, three for each observation, sorted."""
    lines = set()
    for number in range(count):
        subject = NamedNode(f"http://example.org/observation/{number:07}")
        for name, value in (
            ("result", f"{number / 7:.3f}"),
            ("time", f"2015-01-01 {number}"),
            ("unit", "°C"),
        ):
            quad = Quad(subject, NamedNode(f"http://example.org/{name}"), Literal(value), *graph_name(graph))
            lines.add(serialize([quad], format=RdfFormat.N_QUADS))
    return sorted(lines)


def graph_name(graph):
    return () if graph is None else (NamedNode(graph),)


def write_parts(directory, lines, parts=3, *, gzipped=False):
    """So many parts of about the same size, and their manifest."""
    directory.mkdir(parents=True, exist_ok=True)
    size = -(-len(lines) // parts) or 1
    told = []
    for number in range(parts):
        own = lines[number * size : (number + 1) * size]
        data = b"".join(own)
        name = f"part-{number:05}.nq" + (".gz" if gzipped else "")
        (directory / name).write_bytes(gzip.compress(data) if gzipped else data)
        told.append({"name": name, "lines": len(own), "bytes": len(data)})
    (directory / "manifest.json").write_text(json.dumps({"parts": told}))
    return PartFiles(str(directory))
