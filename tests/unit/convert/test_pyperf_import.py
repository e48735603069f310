"""pyperf: each benchmark is a curve; runs are launches, and values slices."""

import json

import pytest

from halftrip.errors import UsageError
from harness.files import ROOT
from harness.imports import imported_run

SAMPLE = ROOT / "tests" / "golden" / "imports" / "pyperf" / "two-benchmarks.json"


def test_every_value():
    found = json.loads(SAMPLE.read_text())
    run = imported_run(SAMPLE.read_bytes())
    expected = {
        (each["metadata"]["name"], launch, number): value
        for each in found["benchmarks"]
        for launch, launched in enumerate(each["runs"])
        for number, value in enumerate(launched["values"])
    }
    got = {
        (each.configuration.variant[0][1], each.launch, each.slice): each
        for each in run.measurements
    }
    assert got.keys() == expected.keys()
    for place, value in expected.items():
        assert float(got[place].reported.figures["value"]) == value
        assert got[place].iterations == 1024
        assert got[place].samples[0] / 1024 / 2 == pytest.approx(1e9 * value, abs=1e-3)
        assert got[place].configuration.known_size is None
    assert {source.version for source in run.sources} == {"2.10.0"}
    assert run.sources[0].hosts == ["node1"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"unit":"second"', '"unit":"byte"', "no times"),
        ('"copy_4096"', '"pipe_bytes_64"', "a second time"),
        ('"values":[3.', '"values":[-3.', "negative"),
        ('"loops":1024', '"loops":0', "is 0"),
        ('"date":"2026-11-24', '"date":"2026-13-24', "no date"),
        ('"values":[', '"values":["x",', "no number"),
    ],
)
def test_what_is_no_result(old, new, said):
    text = SAMPLE.read_text()
    assert old in text
    with pytest.raises(UsageError, match=said):
        imported_run(text.replace(old, new))


def test_a_text_that_is_cut_off():
    with pytest.raises(UsageError, match="no JSON"):
        imported_run(SAMPLE.read_text()[:900])
