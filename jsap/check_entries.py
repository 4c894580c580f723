"""Problems of a query or an update: its forced bindings, its prefixes, and whether it is SPARQL once it is bound."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from triplewire.broker.errors import ProfileError
from triplewire.broker.tokens import is_variable_name, splice, tokens

from . import places, prologue, syntax
from .forced_bindings import changes, near
from .lexical import INTEGERS, XSD, XSD_NAMES, lexical
from .problems import Problem, error, warning
from .shape import at
from .terms import TYPES, ForcedBinding, iri, term

if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Set as AbstractSet

    from .entries import Entry
    from .forced_bindings import Change

# What begins an IRI and is no prefix somebody forgot to declare.
_SCHEMES = re.compile(
    r"https?|urn|mailto|tel|file|ftp|data|did|geo|info|tag|wss?|mqtts?|coaps?|sip", re.IGNORECASE
)

_SAMPLES = {
    **dict.fromkeys(INTEGERS | {XSD + "decimal", XSD + "double", XSD + "float"}, "1"),
    XSD + "boolean": "true",
    XSD + "dateTime": "2000-01-01T00:00:00Z",
    XSD + "dateTimeStamp": "2000-01-01T00:00:00Z",
    XSD + "date": "2000-01-01",
    XSD + "time": "00:00:00",
}


def entry_problems(entry: Entry, namespaces: Mapping[str, str], *, is_update: bool) -> Iterator[Problem]:
    """Everything that is wrong with an entry of the right shape."""
    names = places.read(entry.sparql).names()
    bindings = [
        problem
        for name, declared in entry.forced_bindings.items()
        for problem in _binding(name, declared, names, namespaces, f"{entry.path}.forcedBindings.{name}")
    ]
    yield from bindings
    undeclared = _undeclared(entry.sparql, namespaces, at(entry.path, "sparql"))
    yield from undeclared.values()
    if not any(problem.severity == "error" for problem in bindings):
        # So that a missing prefix does not hide what else is wrong with the text.
        known = {**namespaces, **{prefix: f"urn:undeclared:{prefix}:" for prefix in undeclared}}
        yield from _text(entry, known, is_update=is_update)


def _binding(
    name: str, declared: ForcedBinding, names: frozenset[str], namespaces: Mapping[str, str], path: str
) -> Iterator[Problem]:
    if not is_variable_name(name):
        yield error(path, f"{name!r} is not the name of a variable")
    elif name not in names:
        yield warning(path, f"?{name} does not occur in the text{_close(name, names)}")
    if declared.type not in TYPES:
        yield error(at(path, "type"), f"{declared.type!r} is not a type; there are {', '.join(TYPES)}")
        return
    if declared.datatype is not None:
        yield from _datatype(declared.datatype, namespaces, at(path, "datatype"))
    yield from _default(name, declared, namespaces, path)


def _datatype(datatype: str, namespaces: Mapping[str, str], path: str) -> Iterator[Problem]:
    try:
        full = iri(datatype, namespaces)
    except ValueError:
        return  # the default, or the sample, can't be written with it either: reported there
    yield from _forgotten_prefix(datatype, namespaces, path)
    local = full.removeprefix(XSD)
    if full.startswith(XSD) and local not in XSD_NAMES:
        meant = next((known for known in XSD_NAMES if known.lower() == local.lower()), None)
        hint = f"; did you mean xsd:{meant}?" if meant else _close(local, XSD_NAMES)
        yield warning(path, f"XSD has no datatype {local}{hint}")


def _default(
    name: str, declared: ForcedBinding, namespaces: Mapping[str, str], path: str
) -> Iterator[Problem]:
    value = _sample(name, declared, namespaces) if declared.is_required else declared.value
    values = value if isinstance(value, tuple) else (value,)
    for item in values:
        try:
            term(item, declared, namespaces)
        except ProfileError as problem:
            yield error(at(path, "value"), problem.description)
            continue
        if isinstance(item, str) and declared.type == "uri" and not declared.is_required:
            yield from _forgotten_prefix(item, namespaces, at(path, "value"))
        if declared.type in {"literal", "typed-literal"} and declared.datatype:
            yield from _form(item, iri(declared.datatype, namespaces), at(path, "value"))


def _form(value: object, datatype: str, path: str) -> Iterator[Problem]:
    if isinstance(value, Mapping):
        return
    form = value if isinstance(value, str) else lexical(value, datatype)[0]
    if not syntax.is_valid(form, datatype):
        yield warning(path, f"{form!r} is not a value of {datatype.replace(XSD, 'xsd:')}")


def _forgotten_prefix(written: str, namespaces: Mapping[str, str], path: str) -> Iterator[Problem]:
    prefix, colon, local = written.partition(":")
    if written.startswith("<"):
        return  # it says itself that it is a full IRI
    if colon and prefix not in namespaces and not _SCHEMES.fullmatch(prefix) and not local.startswith("//"):
        yield warning(path, f"{prefix} is not a declared prefix; {written!r} is taken for a full IRI")


def _undeclared(sparql: str, namespaces: Mapping[str, str], path: str) -> dict[str, Problem]:
    known = namespaces.keys() | prologue.declared_anywhere(sparql)
    return {
        prefix: error(
            path,
            f"the prefix {prefix}: is not declared{_close(prefix, known)}",
            *syntax.place(sparql, token.start),
        )
        for prefix, token in prologue.used(sparql).items()
        if prefix not in known
    }


def _text(entry: Entry, namespaces: Mapping[str, str], *, is_update: bool) -> Iterator[Problem]:
    path, values = at(entry.path, "sparql"), sample_values(entry, namespaces)
    try:
        done = changes(
            entry.sparql, entry.forced_bindings, values, namespaces, path=f"{entry.path}.forcedBindings"
        )
        bound = splice(entry.sparql, done)
        prefixes = prologue.missing(bound, namespaces)
    except ProfileError as problem:
        yield error(problem.path, problem.description)
        return
    if not prologue.first_word(bound):
        yield error(path, f"there is no {'update' if is_update else 'query'} in it")
        return
    fault = _fault(prefixes + bound, is_update=is_update)
    if fault is None:
        return
    if _fault(prefixes + bound, is_update=not is_update) is None:
        here, there = ("a query", "queries") if is_update else ("an update", "updates")
        yield error(path, f"this is {here}; it belongs under {there}")
    elif fault.offset is None:
        yield error(path, fault.reason + _unbound(fault.reason, bound))
    else:
        offset = source_offset(done, fault.offset - len(prefixes))
        yield error(path, fault.reason + _bound_here(entry, offset), *syntax.place(entry.sparql, offset))


def _unbound(reason: str, bound: str) -> str:
    """Which variables are left, where Oxigraph only says that there may be none."""
    names = sorted(places.read(bound).names())
    return f": no value for ?{', ?'.join(names)}" if reason.startswith("Variables") and names else ""


def _bound_here(entry: Entry, offset: int) -> str:
    """Whose value the text found there is, as it is not in the source."""
    found = (token for token in tokens(entry.sparql) if token.kind == "variable" and token.start == offset)
    name = next((token.text[1:] for token in found), None)
    return f", a value of ?{name}" if name in entry.forced_bindings else ""


def source_offset(done: list[Change], offset: int) -> int:
    """The place in the source of a place in the text that these changes made of it."""
    grown = 0
    for start, end, replacement in done:
        if offset < start + grown:
            break
        if offset < start + grown + len(replacement):
            return start
        grown += len(replacement) - (end - start)
    return max(0, offset - grown)


def _fault(text: str, *, is_update: bool) -> syntax.Fault | None:
    return syntax.update_fault(text) if is_update else syntax.query_fault(text)


def sample_values(entry: Entry, namespaces: Mapping[str, str]) -> dict[str, object]:
    """A value for each variable that has no default."""
    return {
        name: _sample(name, declared, namespaces)
        for name, declared in entry.forced_bindings.items()
        if declared.is_required
    }


def _sample(name: str, declared: ForcedBinding, namespaces: Mapping[str, str]) -> str:
    """Some value of the declared type, for a variable that has no default."""
    match declared.type:
        case "uri":
            return f"<urn:sample:{name}>"
        case "bnode":
            return "_:sample"
    try:
        datatype = iri(declared.datatype or "xsd:string", namespaces)
    except ValueError:
        datatype = ""  # `term` will say so
    return _SAMPLES.get(datatype, "sample")


def _close(name: str, known: AbstractSet[str]) -> str:
    hint = near(name, known)
    return hint if "did you mean" in hint else ""
