"""Rows to RDF by Spark and by morph-kgc (PyPI), the same CSV and RML, in one run; time a row as rows grow, and memory.

`TRIPLEWIRE_BENCH_ROWS` has the numbers of rows, with commas between: 100000,1000000 if it is not set.  Prints rates and ratios;
asserts only that what was measured was right.  morph-kgc gets a virtual environment of its own below build/.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).parents[2]
VENV = ROOT / "build" / "morph-kgc"
ROWS = [int(rows) for rows in os.environ.get("TRIPLEWIRE_BENCH_ROWS", "100000,1000000").split(",")]
MOST_FOR_MORPH = int(os.environ.get("TRIPLEWIRE_BENCH_MORPH_ROWS", "1000000"))
LONGEST_S = 3600
QUADS_A_ROW = 5

RML = """
@prefix rml: <http://semweb.mmlab.be/ns/rml#> . @prefix rr: <http://www.w3.org/ns/r2rml#> .
@prefix ql: <http://semweb.mmlab.be/ns/ql#> . @prefix sosa: <http://www.w3.org/ns/sosa/> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
<http://example.org/m#observations> rml:logicalSource [ rml:source "%s" ; rml:referenceFormulation ql:CSV ] ;
  rr:subjectMap [ rr:template "http://example.org/o/{station}/{property}/{number}" ; rr:class sosa:Observation ] ;
  rr:predicateObjectMap [ rr:predicate sosa:madeBySensor ; rr:objectMap [ rr:template "http://example.org/s/{station}" ] ] ,
    [ rr:predicate sosa:observedProperty ; rr:objectMap [ rr:template "http://example.org/p/{property}" ] ] ,
    [ rr:predicate sosa:hasSimpleResult ; rr:objectMap [ rml:reference "value" ; rr:datatype xsd:decimal ] ] ,
    [ rr:predicate sosa:resultTime ; rr:objectMap [ rml:reference "time" ; rr:datatype xsd:dateTime ] ] .
"""

SPARK = """
import json, sys, time
from resource import RUSAGE_SELF, getrusage
from pathlib import Path
from triplewire.clients.historic.mapping_run import RunSettings, run
from triplewire.clients.historic.parts import PartSettings
from triplewire.clients.historic.rml import read_rml
from triplewire.clients.historic.spark_session import spark_session

def main():
    mapping, out, warm = sys.argv[1:]
    spark = spark_session("local[2]", "bench")
    settings = RunSettings(parts=PartSettings(compression="none"))
    run(spark, read_rml(Path(warm)), {}, out + "-warm", settings)
    started = time.perf_counter()
    report = run(spark, read_rml(Path(mapping)), {}, out, settings)
    print(json.dumps({"s": time.perf_counter() - started, "quads": report.quads, "driver": getrusage(RUSAGE_SELF).ru_maxrss << 10}))

main()
"""


def peak_of(command, **more):
    """Run a program: what it printed, its seconds, and the largest memory of it and its children (MB)."""
    started = time.perf_counter()
    process = psutil.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, **more)
    peak = 0
    while process.poll() is None and time.perf_counter() - started < LONGEST_S:
        try:
            peak = max(
                peak, sum(one.memory_info().rss for one in [process, *process.children(recursive=True)])
            )
        except psutil.NoSuchProcess:
            continue
        time.sleep(0.2)
    if process.poll() is None:
        process.kill()
    told, _ = process.communicate()
    assert process.returncode == 0, f"{command[:3]} ended with {process.returncode}"
    return told, time.perf_counter() - started, peak >> 20


def write_rows(folder, count):
    path = folder / f"rows-{count}.csv"
    with path.open("w") as file:
        file.write("station,property,number,value,time\n")
        for number in range(count):
            minute, hour, day = number % 60, number // 60 % 24, number // 1440 % 28 + 1
            file.write(
                f"st{number % 1000},temperature,{number},{number % 400 / 10 + 1},2020-01-{day:02}T{hour:02}:{minute:02}:00Z\n"
            )
    mapping = folder / f"rows-{count}.ttl"
    mapping.write_text(RML % path)
    return mapping


@pytest.fixture(scope="module")
def morph():
    """The interpreter that has morph-kgc."""
    python = VENV / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(VENV)], check=True)
    known = subprocess.run([str(python), "-c", "import morph_kgc"], capture_output=True, check=False)
    if known.returncode:
        got = subprocess.run(
            [str(python), "-m", "pip", "install", "-q", "morph-kgc"],
            capture_output=True,
            text=True,
            check=False,
        )
        if got.returncode:
            pytest.skip(f"morph-kgc can't be had: {got.stderr.strip()[-200:]}")
    return python


def by_spark(folder, mapping, warm):
    program = folder / "spark.py"
    program.write_text(SPARK)
    told, whole, memory = peak_of(
        [sys.executable, str(program), str(mapping), str(folder / f"out-{mapping.stem}"), str(warm)]
    )
    found = json.loads(told.splitlines()[-1])
    return found["s"], whole, found["quads"], memory, found["driver"] >> 20


def by_morph(folder, mapping, python):
    out = folder / f"morph-{mapping.stem}.nt"
    config = folder / "morph.ini"
    config.write_text(f"[CONFIGURATION]\noutput_file={out}\nnumber_of_processes=2\n[S]\nmappings={mapping}\n")
    _, seconds, memory = peak_of([str(python), "-m", "morph_kgc", str(config)])
    with out.open() as file:
        return seconds, sum(1 for _ in file), memory


@pytest.mark.timeout(4 * LONGEST_S)
def test_rows_to_rdf(morph, tmp_path):
    """Spark's time is that of the run, with its Java warm; morph-kgc's that of its program."""
    warm = write_rows(tmp_path, 20_000)
    rates = []
    for count in ROWS:
        mapping = write_rows(tmp_path, count)
        seconds, whole, quads, memory, driver = by_spark(tmp_path, mapping, warm)
        assert quads == count * QUADS_A_ROW
        rates.append(seconds / count)
        print(
            f"\nspark     {count:>10,} rows {seconds:8.1f} s {count / seconds:>10,.0f} rows/s {memory:>6,} MB,"
            f" of them Python {driver} MB; with Java's start and a first run of 20,000 rows {whole:.1f} s"
        )
        if count <= MOST_FOR_MORPH:
            theirs, found, memory = by_morph(tmp_path, mapping, morph)
            assert found == count * QUADS_A_ROW
            print(
                f"morph-kgc {count:>10,} rows {theirs:8.1f} s {count / theirs:>10,.0f} rows/s {memory:>6,} MB"
            )
            print(f"ratio     {theirs / seconds:.2f}")
    print("time a row, last : first", round(rates[-1] / rates[0], 2))
