"""Places in JSON values (Spark's variants), one step or many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812 - the name by which all know it

from .errors import SourceError

if TYPE_CHECKING:
    from pyspark.sql import Column


END: Final = "\u2404 end"


def wrapped(text: Column) -> Column:
    """A text as the first of two JSON values, the second of which is `END`; null where it is no JSON.

    Spark stops reading behind a value, whatever follows: what stands behind the text tells that it came to its end.
    """
    return F.try_parse_json(F.concat(F.lit("["), text, F.lit(f',"{END}"]')))


def unwrapped(value: Column) -> Column:
    """What `wrapped` has wrapped; null where more than one value was in it."""
    is_whole = F.try_variant_get(value, "$[1]", "string") == END
    return F.when(is_whole, F.try_variant_get(value, "$[0]", "variant"))


def json_at(value: Column, steps: tuple[str | int, ...], type_: str) -> Column:
    """What stands at a place in a JSON value; null where there is none, or it is of another type."""
    path = "".join(f"[{step}]" if isinstance(step, int) else _member(step) for step in steps)
    return F.try_variant_get(value, f"${path}", type_)


def all_of(values: Column) -> Column:
    """The elements of the arrays, and the members of the objects, in an array of JSON values."""

    def inside(value: Column) -> Column:
        return F.coalesce(
            F.try_variant_get(value, "$", "array<variant>"),
            F.map_values(F.try_variant_get(value, "$", "map<string,variant>")),
            F.array().cast("array<variant>"),
        )

    return F.flatten(F.transform(values, inside))


def at_each(values: Column, step: str | int) -> Column:
    """What stands at a place in each of an array of JSON values, with nulls where there is nothing."""
    return F.transform(values, lambda value: json_at(value, (step,), "variant"))


def _member(name: str) -> str:
    """Spark's paths have no escapes: a name with one kind of quote stands in the other."""
    if name.isidentifier() and name.isascii():
        return f".{name}"
    if '"' in name and "'" in name:
        raise SourceError(f"the member {name!r} has both kinds of quotes in its name, which can't be read")
    return f"['{name}']" if "'" not in name else f'["{name}"]'
