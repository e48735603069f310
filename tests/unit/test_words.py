"""docs/words.md and the code have the same words."""

import re
from typing import Literal, get_args, get_origin, get_type_hints

import msgspec

from halftrip.analysis.flags import NAMES
from halftrip.plan.options import OPTIONS
from halftrip.registry import TRANSPORTS
from halftrip.report.fields import FIELDS
from halftrip.results import records
from halftrip.views import columns, cost, details, layers, tails
from harness import runs
from harness.files import ROOT
from harness.screens import text

PAGE = ROOT / "docs" / "words.md"
# What concerns a run that exists is no key of a plan.
OF_A_RUN = {"resume", "again"}
OF_EVERY_TABLE = {"transport"}
OF_LAYERS = {"layer", "over"}
OF_VERDICTS = {"ok", "caution", "no"}


def options():
    return {name.replace("_", "-") for name in OPTIONS} | OF_A_RUN


def headings():
    """The headings of tables."""
    shown = [
        *columns.latency_columns(rtt=False),
        *columns.latency_columns(rtt=True),
        *columns.RATE_COLUMNS,
        *columns.DELIVERY_COLUMNS,
        *columns.LAUNCH_COLUMNS,
        columns.VERIFIED,
        columns.VERDICT,
        columns.CAUSE,
        *FIELDS,
        *cost._COLUMNS,
        *layers._TIMES,
        *layers._RATES,
    ]
    many = runs.measurement(samples=range(1000, 31_000), iterations=1)
    of_tails = text(tails.tails, runs.run(many)).splitlines()[0]
    return {each.name for each in shown} | set(of_tails.split()) | OF_EVERY_TABLE | OF_LAYERS


def csv_columns():
    return set(text(details.csv, runs.run(runs.measurement("shm", 8))).splitlines()[0].split(","))


def structures(kind, found):
    """All records of a run file and what they hold, by a walk over the types of their fields."""
    is_value = isinstance(kind, type) and issubclass(kind, (msgspec.Struct, tuple))
    if is_value and kind not in found and hasattr(kind, "__annotations__"):
        found.add(kind)
        for each in get_type_hints(kind).values():
            structures(each, found)
    for each in get_args(kind):
        structures(each, found)
    return found


def fields():
    """The names of fields of a run file, and the kinds of its records."""
    found = structures(records.Record, set())
    names = {name for kind in found for name in get_type_hints(kind)}
    tags = {kind.__struct_config__.tag for kind in get_args(records.Record)}
    assert {"core_to_core_rtt", "steal", "after"} <= names
    return names | tags


def values():
    """The names that fields of a configuration can have as their values."""
    kinds = structures(records.Record, set())
    hints = [hint for kind in kinds for hint in get_type_hints(kind).values()]
    literals = [hint for hint in hints if get_origin(hint) is Literal]
    return {value for hint in literals for value in get_args(hint)} | {*TRANSPORTS, *NAMES}


def quoted(cell):
    return re.findall(r"`([^`]*)`", cell)


def table_rows():
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    return [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in lines
        if not line.startswith("| word")
    ]


def test_every_word_of_the_page_is_one_of_the_code():
    known = [options(), headings(), csv_columns(), fields()]
    everything = {*set().union(*known), *values(), *OF_VERDICTS, "total"}
    found = table_rows()
    assert len(found) > 30
    for word, meaning, *places in found:
        assert [name for name in quoted(meaning) if name not in everything] == [], word
        assert len(places) == len(known), word
        for place, names in zip(places, known, strict=True):
            assert quoted(place) or place == "-", word
            said = [name.removeprefix("--") for name in quoted(place)]
            assert [name for name in said if name not in names] == [], word
