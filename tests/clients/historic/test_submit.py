import json
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest
from support.histories import MAPPING, documented, environment

from triplewire.clients.historic import submit
from triplewire.clients.historic.generator import rows
from triplewire.clients.historic.part_files import PartFiles

ROWS = 500


def test_it_tells_its_path(capsys):
    """For spark-submit, which takes a file."""
    assert submit.main(["--path"]) == 0
    assert Path(capsys.readouterr().out.strip()).samefile(submit.__file__)


def test_it_is_the_command_line(capsys):
    """`triplewire history`, with its exit codes."""
    assert submit.main(["generate", "--rows", "2", "-"]) == 0
    assert capsys.readouterr().out == "".join(rows(2))
    assert submit.main(["nonsense"]) == 2


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_spark_submit_makes_parts_on_executors_of_their_own(tmp_path):
    """The README's command for a cluster, but for the master and the places."""
    (tmp_path / "rows.csv").write_text("".join(rows(ROWS)))
    (tmp_path / "mapping.ttl").write_text(MAPPING)
    home = Path(pyspark.__file__).parent
    submitted, _ = documented("spark-submit").split("triplewire history parts")
    settings = "--conf spark.sql.shuffle.partitions=2 --conf spark.driver.host=127.0.0.1"
    for there, here in (
        ("spark-submit", f"{home}/bin/spark-submit"),
        ("--master yarn", f"--master 'local-cluster[2,1,1024]' {settings}"),
        ("$(python ", f"$({sys.executable} -P "),
        ("m.toml", "mapping.ttl"),
        ("hdfs:///parts", f"file://{tmp_path}/parts"),
        ("'hdfs:///2015/*.csv'", f"'{tmp_path}/row*.csv' --report report.json"),
    ):
        assert there in submitted
        submitted = submitted.replace(there, here)
    programs = {
        "SPARK_HOME": str(home),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }
    done = subprocess.run(
        ["bash", "-c", submitted],
        env=environment(tmp_path) | programs,
        capture_output=True,
        text=True,
        check=False,
        timeout=500,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    with PartFiles(str(tmp_path / "parts")) as files:
        assert files.lines == 2 * ROWS
    assert json.loads((tmp_path / "report.json").read_text())["rows"] == ROWS
