"""`triplewire history` in processes of its own, with real Spark, and small inputs for it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import httpx

ROOT = Path(__file__).resolve().parents[2]
COMMAND = [sys.executable, "-P", "-m", "triplewire.clients", "history"]
QUICK = [
    word
    for setting in ("spark.sql.shuffle.partitions=2", "spark.default.parallelism=2", "spark.driver.memory=1g")
    for word in ("--spark-conf", setting)
]
MAPPING = """
@prefix rml: <http://w3id.org/rml/> .
@prefix sosa: <http://www.w3.org/ns/sosa/> .
<#observation> a rml:TriplesMap ;
  rml:logicalSource [
    rml:source [ a rml:RelativePathSource ; rml:root rml:MappingDirectory ; rml:path "rows.csv" ; rml:null "" ] ;
    rml:referenceFormulation rml:CSV
  ] ;
  rml:subjectMap [ rml:template "http://example.org/observation/{station}/{property}/{time}" ; rml:class sosa:Observation ] ;
  rml:predicateObjectMap [ rml:predicate sosa:hasSimpleResult ; rml:objectMap [ rml:reference "value" ] ] .
"""


def documented(beginning):
    """The block of the README that begins like this, word for word."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    (found,) = (block for block in blocks if block.startswith(beginning))
    return found


def environment(folder):
    """With the state directory below a folder: never the user's."""
    return os.environ | {"XDG_STATE_HOME": str(Path(folder) / "state")}


def run(folder, *arguments, **more):
    """The command, done."""
    return subprocess.run(
        [*COMMAND, *map(str, arguments)],
        env=environment(folder),
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        **more,
    )


@contextmanager
def started(folder, *arguments):
    """The command, at work; killed in the end where it still is."""
    with subprocess.Popen(
        [*COMMAND, *map(str, arguments)],
        env=environment(folder),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def executors(pid):
    """The processes of Spark's executors below a process."""
    return [child for child in _below(pid) if "CoarseGrainedExecutorBackend" in _command(child)]


def _below(pid):
    parents = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:  # it has ended
                continue
    found, new = set(), {pid}
    while new:
        new = {child for child, parent in parents.items() if parent in new} - found
        found |= new
    return sorted(found)


def _command(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return ""


def dump(url):
    """All that a broker's default graph has, sorted."""
    response = httpx.get(
        f"{url}/rdf-graph-store?default", headers={"Accept": "application/n-triples"}, timeout=60
    )
    response.raise_for_status()
    return sorted(response.content.splitlines())
