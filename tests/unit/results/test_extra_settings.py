"""Settings of plug-ins in a run file, which may have been written by anybody."""

import csv
import io
import json

import msgspec
import pytest

from halftrip.analysis.figure import names
from halftrip.analysis.figures import FIGURES
from halftrip.analysis.rows import rows
from halftrip.export import parquet
from halftrip.report.document import document
from halftrip.report.fields import common, varying
from halftrip.results.reading import decode
from halftrip.results.run_file import encode
from halftrip.views import details
from harness import runs
from harness.screens import text


def measured(*extra, **fields):
    return runs.measurement(extra=extra, **fields)


def test_rows_that_differ_in_one_are_apart_and_it_has_the_last_column():
    run = runs.run(measured(("depth", 10)), measured(("depth", 9)), measured(transport="tcp"))
    found = [dict(row.configuration.extra).get("depth") for row in rows(run)]
    assert found == [9, 10, None]
    shown = list(csv.reader(io.StringIO(text(details.csv, run))))
    assert shown[0] == [*names(FIGURES), "depth"]
    assert [line[-1] for line in shown[1:]] == ["9", "10", ""]
    in_json = json.loads(text(details.json, run))["rows"]
    assert [row.get("depth", "none") for row in in_json] == ["9", "10", "none"]


def test_a_table_names_it():
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
