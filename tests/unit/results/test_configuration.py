"""What follows from the settings of a configuration, those of plug-ins, too, which may have been
written by anybody; and what ranks are called."""

import csv
import io
import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halftrip.analysis.figure import names
from halftrip.analysis.figures import FIGURES
from halftrip.analysis.rows import rows
from halftrip.export import parquet
from halftrip.report.document import document
from halftrip.report.fields import common, varying
from halftrip.results.names import Names
from halftrip.results.patterns import SHAPES
from halftrip.results.reading import decode
from halftrip.results.run_file import encode
from halftrip.views import details
from harness import runs
from harness.runs import configuration
from harness.screens import text

KINDS = [(pattern, mode) for pattern, shape in SHAPES.items() for mode in shape.modes]


@given(st.sampled_from(KINDS), st.integers(1, 256), st.integers(0, 1 << 22), st.integers(0, 1000))
def test_messages_and_bytes_in_flight_are_those_of_a_window(kind, window, size, iterations):
    pattern, mode = kind
    made = configuration("tcp", size, pattern=pattern, mode=mode, window=window)
    assert made.bytes_in_flight == window * size
    assert made.messages_in(iterations) == iterations * window
    assert made.has_window == (window > 1)
    assert made.kind == ("tcp", pattern, mode, window)


@pytest.mark.parametrize(("pattern", "mode"), KINDS)
def test_the_round_trip_beside_it_differs_in_nothing_else(pattern, mode):
    made = configuration("tcp", 8, pattern=pattern, mode=mode, window=4, buffers="same")
    beside = made.round_trip
    assert beside.kind == ("tcp", "pingpong", "blocking", 1)
    assert msgspec.structs.replace(beside, pattern=pattern, mode=mode, window=4) == made


def test_ranks_are_called_by_what_tells_them_apart():
    """On one host, by numbers."""
    names = Names({0: "n1", 1: "n1"})
    assert (names.rank(1), names.of_host(1)) == ("rank 1", "")
    assert (names.pair((0, 1)), names.pairs([(0, 1), (0, 1)])) == ("0-1", "ranks 0-1")
    # With a host each, by it.
    names = Names({0: "n1", 1: "n2", 2: "n3"})
    assert (names.rank(1), names.of_host(1)) == ("n2", " of n2")
    assert names.pairs([(0, 1), (1, 2)]) == "n1 to n2, n2 to n3"
    # Of several on a host both are said.
    names = Names({0: "n1", 1: "n1", 2: "n2", 3: "n2"})
    assert (names.rank(2), names.of_host(2)) == ("rank 2 of n2", " of n2")
    assert names.pairs([(0, 2)]) == "ranks 0-2"
    # One that nobody has described has its number; so has each where hosts have the same name, as
    # containers may have it.
    assert Names({0: "box", 1: "box"}).pairs([(0, 1)]) == "ranks 0-1"
    names = Names({0: "n1", 1: "n2"})
    assert (names.rank(7), names.of_host(7)) == ("rank 7", "")
    assert Names({}).pair((0, 1)) == "0-1"


def measured(*extra, **fields):
    return runs.measurement(extra=extra, **fields)


def test_rows_that_differ_in_one_are_apart_and_named_by_it():
    run = runs.run(measured(("depth", 10)), measured(("depth", 9)), measured(transport="tcp"))
    found = [dict(row.configuration.extra).get("depth") for row in rows(run)]
    assert found == [9, 10, None]
    shown = list(csv.reader(io.StringIO(text(details.csv, run))))
    assert shown[0] == [*names(FIGURES), "depth"]
    assert [line[-1] for line in shown[1:]] == ["9", "10", ""]
    in_json = json.loads(text(details.json, run))["rows"]
    assert [row.get("depth", "none") for row in in_json] == ["9", "10", "none"]
    configurations = [measured(("depth", value)).configuration for value in (9, 10)]
    assert [field.name for field in varying(configurations)] == ["depth"]
    assert "depth 9" in common(configurations[:1], simulated=False)


def test_names_and_values_that_nobody_expects():
    extra = (("latency_ns", "faster"), ("mixed", 1), ("red\x1b[31m", True))
    run = runs.run(measured(*extra), measured(("mixed", "one")), measured(("mixed", 1.5)))
    assert decode(encode(run.measurements[0])) == run.measurements[0]
    in_json = json.loads(text(details.json, run))["rows"]
    assert all(isinstance(row["latency_ns"], float) for row in in_json)
    assert "\x1b" not in text(details.csv, run)
    pytest.importorskip("pyarrow")
    assert parquet.files(document(run))


@pytest.mark.parametrize("value", ["[1]", "1" + "0" * 40, "null", '{"a":1}'])
def test_a_value_that_none_can_have(value):
    line = encode(measured(("depth", 7))).replace(b'["depth",7]', f'["depth",{value}]'.encode())
    with pytest.raises(msgspec.DecodeError):
        decode(line)
