import subprocess
import sys

from triplewire.clients import streams


def test_every_public_name_is_there():
    """In order, each once, with a docstring."""
    assert sorted(streams.__all__, key=lambda name: (name.islower(), name)) == streams.__all__
    assert all(getattr(streams, name).__doc__ for name in streams.__all__)


def test_a_sensor_that_publishes_loads_no_engine():
    """Nor a gate."""
    code = (
        "import sys, triplewire.clients.streams;"
        "print([n for n in sys.modules if n.startswith(('triplewire.gates', 'triplewire.broker.core', 'fastapi'))])"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
