import subprocess
import sys

import triplewire.clients.notebook


def test_every_public_name_is_there():
    """In alphabetic order, and each says what it is."""
    names = triplewire.clients.notebook.__all__

    assert names == sorted(set(names))
    assert all(getattr(triplewire.clients.notebook, name).__doc__ for name in names)


def test_without_the_extra_it_says_which():
    """In a process where pandas can't be imported."""
    script = "import sys; sys.modules['pandas'] = None; import triplewire.clients.notebook"

    done = subprocess.run([sys.executable, "-P", "-c", script], capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert "this needs pandas, which is not installed: pip install 'triplewire[notebook]'" in done.stderr


def test_the_other_clients_do_not_load_pandas():
    """A sensor stays small."""
    script = (
        "import sys, triplewire.clients; assert not {'pandas', 'matplotlib', 'IPython'} & set(sys.modules)"
    )

    subprocess.run([sys.executable, "-P", "-c", script], check=True)
