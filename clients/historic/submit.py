"""What spark-submit starts: `triplewire history` with the arguments that follow this file.

    spark-submit --master yarn .../submit.py load --mapping M.toml --out hdfs://.../parts 'hdfs://.../2015/*.csv'

The master is spark-submit's.  `python -m triplewire.clients.historic.submit` prints where the file is, when asked for `--path`.
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main(arguments: list[str]) -> int:
    """The exit code of the command."""
    if arguments == ["--path"]:
        print(Path(__file__).resolve())  # noqa: T201 - it is asked for
        return 0
    from triplewire.clients.cli import run  # noqa: PLC0415 - when the path is as it should be

    return run(["history", *arguments])


if __name__ == "__main__":
    # A file that is started has its folder in front of all others: our `files` or `java` would be taken for packages.
    sys.path[:] = [folder for folder in sys.path if Path(folder or ".").resolve() != HERE]
    sys.exit(main(sys.argv[1:]))
