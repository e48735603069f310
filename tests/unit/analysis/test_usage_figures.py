"""Figures of what a configuration cost both ends."""

import math

import pytest

from halftrip.analysis.usage import cpu_per_gigabyte, usage_figures
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
    assert cpu_per_gigabyte(configuration, usage) == pytest.approx(0.5 / payload * 1e9)
    assert cpu_per_gigabyte(configuration, usage, 0.5) == pytest.approx(1.0 / payload * 1e9)
    nothing = runs.configuration("tcp", 0, "block", **changes)
    assert math.isnan(cpu_per_gigabyte(nothing, usage))


def test_figures_that_do_not_exist_are_none():
    configuration = runs.configuration("tcp", 0, "block")
    known = usage_figures(configuration, (runs.usage(), runs.usage(core={"hertz": 2e9})))
    assert known.keys() == usage_figures(configuration, None).keys()
    assert set(usage_figures(configuration, None).values()) == {None}
    assert known["responder_frequency_hz"] == 2e9
    assert known["initiator_frequency_hz"] is None
    assert known["initiator_cpu_s_per_gb"] is None
    assert known["initiator_load"] == pytest.approx(0.5)
