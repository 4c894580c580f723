"""Executors in processes of their own make the same parts as threads do."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys
from triplewire.clients.historic.mapping_run import run
from triplewire.clients.historic.plan import *
from triplewire.clients.historic.spark_session import spark_session

master, path, out = sys.argv[1:]
def main():
    iri = lambda text: TermMap(Constant(text), TermType.IRI)
    subject = TermMap(Template(("http://e/", Reference("a"))), TermType.IRI)
    found = TermMap(Reference("b"), TermType.LITERAL, "http://www.w3.org/2001/XMLSchema#decimal", reading=Number())
    mapping = Mapping((Source("s", path, "csv"),), (Rule("s", subject, iri("http://p"), found),))
    spark = spark_session(master, "cluster", {"spark.sql.shuffle.partitions": "2", "spark.executor.memory": "1g"})
    print(run(spark, mapping, {}, out).json())
    spark.stop()

main()
"""


def parts(master, folder, program):
    import gzip
    import json

    out = folder / master.partition("[")[0]
    # Workers are started by Spark's own scripts, which look for it there.
    import pyspark

    home = str(Path(pyspark.__file__).parent)
    environment = {**os.environ, "SPARK_HOME": home, "SPARK_LOCAL_IP": "127.0.0.1"}
    command = [sys.executable, str(program), master, str(folder / "x.csv"), str(out)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=110, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    manifest = json.loads((out / "manifest.json").read_text())
    return json.loads(done.stdout), [
        gzip.decompress((out / part["name"]).read_bytes()) for part in manifest["parts"]
    ]


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_cluster_of_processes_makes_the_same_parts(tmp_path):
    """Nothing that is made depends on where it is made."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    rows = [f"{number % 700},{number}.50" if number % 50 else f"{number},x" for number in range(2000)]
    (tmp_path / "x.csv").write_text("\n".join(["a,b", *rows]))
    here, threads = parts("local[2]", tmp_path, program)
    there, processes = parts("local-cluster[2,1,1024]", tmp_path, program)
    assert b"".join(threads) == b"".join(processes)
    assert here["rejected"] == there["rejected"] == 40
    assert here["quads"] == there["quads"] == 1960
