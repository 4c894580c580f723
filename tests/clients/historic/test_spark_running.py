import subprocess
import sys

from triplewire.clients.historic.spark_running import is_running


def test_spark_is_running_where_a_session_is(spark):
    """It is the fixture's."""
    assert spark is not None
    assert is_running()


def test_spark_is_not_running_where_nobody_has_started_it():
    """In another process."""
    code = "from triplewire.clients.historic.spark_running import is_running; print(is_running())"
    assert (
        subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True).stdout
        == "False\n"
    )
