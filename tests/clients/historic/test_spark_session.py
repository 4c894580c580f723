"""A session has what the package relies on, and where there is no Java it says so."""

from __future__ import annotations

import subprocess
import sys

from triplewire.clients.historic.spark_session import session_settings


def test_the_session_thinks_in_utc_and_ansi(spark):
    """Whatever the machine's own zone is."""
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
    assert spark.conf.get("spark.sql.ansi.enabled") == "true"
    assert spark.sql("SELECT 1 + 1 AS two").collect()[0].two == 2


def test_a_local_session_listens_on_loopback_only(spark):
    """A laptop's Spark is nobody else's business."""
    assert spark.conf.get("spark.driver.bindAddress") == "127.0.0.1"
    assert spark.sparkContext.uiWebUrl is None


def test_settings_win_over_the_defaults_but_not_over_what_is_relied_on():
    """The zone of the session is ours."""
    told = {"spark.driver.memory": "7g", "spark.sql.session.timeZone": "Asia/Tokyo"}
    chosen = session_settings("local[*]", told)
    assert chosen["spark.driver.memory"] == "7g"
    assert chosen["spark.sql.session.timeZone"] == "UTC"


def test_a_cluster_gets_no_loopback_address():
    """Executors elsewhere must find the driver."""
    assert "spark.driver.host" not in session_settings("spark://master:7077", {})
    assert "spark.driver.memory" not in session_settings("", {})


def test_java_options_are_added_to_ours():
    """Text is UTF-8 whatever the locale, and the user's options stay."""
    chosen = session_settings("local[1]", {"spark.driver.extraJavaOptions": "-Xss4m"})
    options = chosen["spark.driver.extraJavaOptions"].split()
    assert options[0] == "-Dfile.encoding=UTF-8"
    assert options[-1] == "-Xss4m"


def test_spark_says_nothing_while_it_starts(tmp_path):
    """But for one line of Java's own, which no option silences."""
    program = tmp_path / "program.py"
    program.write_text(
        "from triplewire.clients.historic.spark_session import spark_session\n"
        "print(spark_session('local[1]', 'quiet').range(3).count())\n"
    )
    done = subprocess.run(
        [sys.executable, "-P", str(program)], capture_output=True, text=True, timeout=100, check=True
    )
    assert done.stdout == "3\n"
    assert [line for line in done.stderr.splitlines() if "incubator" not in line] == []
