"""The fields of a case in a table: a field that varies has a column, the others are named once in
the heading."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from halftrip.results.case import Case
from halftrip.units import format_size


class Field(NamedTuple):
    """A field of a case: its name, and its value as text, empty where the case has no such field.
    The heading leaves it out where all cases have the `usual` value."""

    name: str
    of: Callable[[Case], str]
    usual: str | None = None
    # A simulated path has no buffers.
    is_of_buffers: bool = False


FIELDS = (
    Field("pattern", lambda case: case.pattern),
    Field("mode", lambda case: case.mode),
    Field("window", lambda case: str(case.window), "1"),
    Field("places", lambda case: case.message_places if case.window > 1 else "", "own",
          is_of_buffers=True),
    Field("touch", lambda case: case.touch, "none"),
    Field("buffers", lambda case: case.buffers, is_of_buffers=True),
    Field("pages", lambda case: case.both_ends("pages"), is_of_buffers=True),
    Field("memory", lambda case: case.both_ends("memory"), is_of_buffers=True),
    Field("cache", lambda case: case.cache, is_of_buffers=True),
    Field(
        "align", lambda case: str(case.align) if case.align else "page", "page", is_of_buffers=True
    ),
    Field("datatype", lambda case: case.datatype, "byte"),
    Field("rate", lambda case: f"{case.rate / 1e6:g} MB/s" if case.rate else "all it can",
          "all it can"),
    Field("verified", lambda case: "yes" if case.verify else "no", "no"),
    Field("ranks", lambda case: f"{case.pair[0]}-{case.pair[1]}"),
    Field("thread", lambda case: str(case.thread), "0"),
    Field("pairs at once", lambda case: str(case.concurrency), "1"),
)  # fmt: skip


def varying(cases: Iterable[Case]) -> list[Field]:
    """The fields in which these cases differ."""
    distinct = dict.fromkeys(cases)
    return [field for field in FIELDS if len(_values(field, distinct)) > 1]


def common(cases: Iterable[Case], simulated: bool) -> list[str]:
    """What these cases have in common and is not usual: names of fields, and their values."""
    distinct = dict.fromkeys(cases)
    found = {field: _values(field, distinct) for field in FIELDS}
    return [
        f"{field.name} {value}"
        for field, values in found.items()
        if len(values) == 1
        for value in values
        if value != field.usual and not (simulated and field.is_of_buffers)
    ]


def _values(field: Field, cases: Iterable[Case]) -> set[str]:
    return {field.of(case) for case in cases} - {""}


def name_of(case: Case, varying: Sequence[Field]) -> str:
    """A name for one of several cases, which differ in these fields, transport, wait and size."""
    values = [case.transport, case.both_ends("wait"), *(field.of(case) for field in varying)]
    return " ".join(value for value in [*values, format_size(case.size)] if value)
