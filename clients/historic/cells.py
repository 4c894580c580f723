"""What a reference names in a row, as Spark has it: a text, a JSON value, or a typed column of Parquet and ORC."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - the name by which all know it
from pyspark.sql import types as T  # noqa: N812 - likewise

from .moments import moment, moment_of
from .numbers_read import DOUBLES, SPACE, XSD, canonical, decimal, double, inline_double, kind, let, plain
from .plan import Moment, Number
from .reasons import Reason

if TYPE_CHECKING:
    from .plan import Reading

Flag = tuple[Reason, Column]
_INTEGRAL: Final = (T.ByteType, T.ShortType, T.IntegerType, T.LongType)
_FLOATING: Final = (T.FloatType, T.DoubleType)
# Whole numbers beyond 64 bits are decimals of a JSON value; with fewer digits it was written with a point.
_DATE_TIME: Final = f"{XSD}dateTime"
_BIG_INTEGER: Final = r"^DECIMAL\((?:19|2[0-9]|3[0-8]),0\)"


@dataclass(frozen=True, slots=True)
class Read:
    """A value's text, its datatype where it has one of its own (an IRI, or a column of IRIs and nulls), and what breaks it."""

    text: Column
    datatype: str | Column | None = None
    broken: tuple[Flag, ...] = field(default=())


class Keep(Protocol):
    """Makes a column of its own of something that is used often; later steps may use it, steps before can't."""

    def __call__(self, step: int, name: str, column: Column) -> Column:
        """The column, by a name; `step` is when it can be made."""
        ...


def inline(step: int, name: str, column: Column) -> Column:  # noqa: ARG001 - a `Keep`
    """Within lambdas there are no columns."""
    return column


def read(
    value: Column, type_: T.DataType, reading: Reading | None, datatype: str | None, keep: Keep = inline
) -> Read:
    """A value of this type, read as the plan says; nulls stay null and break nothing."""
    if isinstance(type_, T.VariantType):
        return _json(value, reading, datatype, keep)
    if isinstance(type_, T.TimestampType | T.TimestampNTZType | T.DateType) and isinstance(reading, Moment):
        written = moment_of(value, has_zone=isinstance(type_, T.TimestampType), zone=reading.zone)
        return Read(written, datatype or _DATE_TIME, _null((Reason.IMPOSSIBLE_TIME), value, written))
    if reading is None:
        if isinstance(type_, _FLOATING):
            shown = keep(1, "raw", _spelled(value, type_)[0])
            return Read(_double(shown, keep, "raw"), f"{XSD}double")
        return _natural(value, type_)
    text, own, broken = _spelled(value, type_)
    text = keep(1, "raw", text)
    if isinstance(reading, Moment):
        return _moment(text, own, reading, datatype, broken, keep)
    return _number(text, own, reading, datatype, broken, keep)


def _natural(value: Column, type_: T.DataType) -> Read:
    """R2RML's natural mapping (10.2)."""
    if isinstance(type_, _INTEGRAL):
        return Read(value.cast("string"), f"{XSD}integer")
    if isinstance(type_, T.DecimalType):
        return Read(decimal(value.cast("string")), f"{XSD}decimal")
    if isinstance(type_, T.BooleanType):
        return Read(value.cast("string"), f"{XSD}boolean")
    if isinstance(type_, T.DateType):
        return Read(value.cast("string"), f"{XSD}date")
    if isinstance(type_, T.TimestampType | T.TimestampNTZType):
        return Read(moment_of(value, has_zone=isinstance(type_, T.TimestampType), zone=""), _DATE_TIME)
    if isinstance(type_, T.BinaryType):
        return Read(F.hex(value), f"{XSD}hexBinary")
    if isinstance(type_, T.StringType | T.CharType | T.VarcharType):
        return Read(value)
    return Read(F.lit(None).cast("string"), None, ((Reason.NOT_A_VALUE, value.isNotNull()),))


def _json(value: Column, reading: Reading | None, datatype: str | None, keep: Keep) -> Read:
    """RML's natural mapping of JSON, or a reading of its text or number."""
    told = keep(1, "type", F.schema_of_variant(value))
    text = keep(1, "raw", F.try_variant_get(value, "$", "string"))
    composite = F.coalesce(told.rlike("^(?:OBJECT|ARRAY)"), F.lit(False))
    broken = ((Reason.NOT_A_VALUE, composite),)
    is_whole = told.isin("BIGINT", "INT", "SMALLINT", "TINYINT") | told.rlike(_BIG_INTEGER)
    is_number = is_whole | told.rlike("^(?:DECIMAL|DOUBLE|FLOAT)")
    if isinstance(reading, Moment):
        return _moment(F.when(~composite, text), is_number, reading, datatype, broken, keep)
    if isinstance(reading, Number):
        made = _number(F.when(~composite, text), is_number, reading, datatype, broken, keep)
        if datatype is not None:
            return made
        own = F.when(is_whole, f"{XSD}integer").when(is_number, f"{XSD}double").otherwise(F.lit(None))
        written = F.when(is_number & ~is_whole, _double(text, keep, "raw")).otherwise(made.text)
        return Read(written, F.coalesce(own, F.lit(made.datatype)), made.broken)
    is_double = is_number & ~is_whole
    return Read(
        F.when(is_double, _double(text, keep, "raw")).when(~composite, text),
        F.when(is_whole, f"{XSD}integer")
        .when(is_double, f"{XSD}double")
        .when(told == "BOOLEAN", f"{XSD}boolean"),
        broken,
    )


def _number(  # noqa: PLR0913, PLR0917 - what is known of one value
    text: Column,
    own: bool | Column,
    reading: Number,
    datatype: str | None,
    broken: tuple[Flag, ...],
    keep: Keep,
) -> Read:
    """`own` is whether it is a number of the source's own, which is taken as it is."""
    spelled = text if own is True else plain(text, reading)
    if isinstance(own, Column):
        spelled = F.when(own, text).otherwise(spelled)
    if own is not False and datatype not in DOUBLES:
        spelled = F.when(F.lit(own) & text.rlike("[Ee.]"), _without_power(text)).otherwise(spelled)
    spelled = keep(2, f"spelled {reading} {datatype in DOUBLES}", spelled)
    if datatype is not None:
        written = (
            _double(spelled, keep, f"{reading}{own is False}{datatype in DOUBLES}")
            if datatype in DOUBLES
            else canonical(spelled, datatype)
        )
        return Read(written, datatype, (*broken, *_null(Reason.BAD_NUMBER, text, written)))
    as_double = _double(spelled, keep, f"{reading}{own is False}{datatype in DOUBLES}")
    kind_ = kind(spelled, as_double)
    written = F.when(kind_ == f"{XSD}double", as_double).otherwise(decimal(spelled))
    return Read(written, kind_, (*broken, *_null(Reason.BAD_NUMBER, text, written)))


def _moment(  # noqa: PLR0913, PLR0917 - what is known of one value
    text: Column,
    own: bool | Column,
    reading: Moment,
    datatype: str | None,
    broken: tuple[Flag, ...],
    keep: Keep,
) -> Read:
    if own is not False:
        spelled = F.regexp_replace(_without_power(text), r"\.?0+\z", "")
        text = F.when(F.lit(own) & text.rlike(r"[Ee.]"), spelled).otherwise(text)
    text = keep(2, "moment", F.btrim(text, F.lit(SPACE)))
    written = moment(text, reading, keep)
    return Read(written, datatype or _DATE_TIME, (*broken, *_null(Reason.IMPOSSIBLE_TIME, text, written)))


def _spelled(value: Column, type_: T.DataType) -> tuple[Column, bool, tuple[Flag, ...]]:
    """The value's text as it came, whether that is a number of the source's own, and what is no value."""
    if isinstance(type_, (*_INTEGRAL, *_FLOATING, T.DecimalType)):
        return F.replace(value.cast("string"), F.lit("Infinity"), F.lit("INF")), True, ()
    found = _natural(value, type_)
    return found.text, False, found.broken


def _double(text: Column, keep: Keep, name: str) -> Column:
    if keep is inline:
        return let(text, inline_double)
    return double(text, lambda shown: keep(3, f"double of {name}", shown))


def _without_power(text: Column) -> Column:
    """`1.5E10` written out; with at most 18 digits after the point, rounded half up."""
    return text.try_cast("decimal(38,18)").cast("string")


def _null(reason: Reason, before: Column, after: Column) -> tuple[Flag, ...]:
    """Something that is null now and was not."""
    return ((reason, before.isNotNull() & after.isNull()),)
