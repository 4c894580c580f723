"""The checks of `support.fuzzing` with texts that atheris finds by what they reach: `coverage_guided.py CHECK [-max_total_time=600]`.

Not one of the tests: atheris has to be installed for it (`pip install atheris`).  It ends at the first text for which a
check does not hold, and leaves it in a file.
"""

from __future__ import annotations

import sys
from pathlib import Path

import atheris

sys.path.insert(0, str(Path(__file__).parents[1]))
with atheris.instrument_imports(include=["triplewire"]):
    from support import fuzzing

SEPARATOR = " "


def main() -> None:
    """See the module."""
    named = {check.__name__: check for check in (*fuzzing.TEXT_CHECKS, *fuzzing.MESSAGE_CHECKS)}
    check = named[sys.argv.pop(1)]

    def one(data: bytes) -> None:
        # A byte is a word half of the time, so that what is drawn comes near to SPARQL; else the text as it is.
        if data[:1] == b"\1":
            check(SEPARATOR.join(fuzzing.WORDS[byte % len(fuzzing.WORDS)] for byte in data[1:]))
        else:
            check(data[1:].decode("utf-8", "replace"))

    atheris.Setup(sys.argv, one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
