"""Figures of what a configuration cost both ends."""

import math

import pytest

from halftrip.analysis.figure import fields
from halftrip.analysis.figures import FIGURES
from halftrip.analysis.rows import rows
from halftrip.analysis.usage import EndUsage
from harness import runs


@pytest.mark.parametrize(
    ("changes", "payload"),
    [
        ({}, 2 * 1000 * 1000),
        ({"pattern": "stream", "window": 64}, 64 * 1000 * 1000),
        ({"pattern": "bidirectional", "window": 64}, 2 * 64 * 1000 * 1000),
        ({"pattern": "exchange"}, 2 * 1000 * 1000),
    ],
)
def test_cpu_time_is_divided_by_all_payload(changes, payload):
    configuration = runs.configuration("tcp", 1000, "block", **changes)
    usage = runs.usage(0.5, iterations=1000)
    all_of_it, half = (EndUsage(configuration, usage, delivered) for delivered in (1.0, 0.5))
    assert all_of_it.cpu_per_gigabyte == pytest.approx(0.5 / payload * 1e9)
    assert half.cpu_per_gigabyte == pytest.approx(1.0 / payload * 1e9)
    nothing = runs.configuration("tcp", 0, "block", **changes)
    assert math.isnan(EndUsage(nothing, usage, 1.0).cpu_per_gigabyte)


def test_figures_that_do_not_exist_are_none():
    known, unknown = (
        fields(FIGURES, row)
        for usage in ((runs.usage(), runs.usage(core={"hertz": 2e9})), None)
        for row in rows(runs.run(runs.measurement("tcp", 0, "block", usage=usage)))
    )
    of_ends = [name for name in unknown if name.startswith(("initiator_", "responder_"))]
    assert {unknown[name] for name in of_ends} == {None}
    assert known["responder_frequency_hz"] == 2e9
    assert known["initiator_frequency_hz"] is None
    assert known["initiator_cpu_s_per_gb"] is None
    assert known["initiator_load"] == pytest.approx(0.5)
