"""Very many ranks: no rank keeps or sends more for there being more pairs."""

import math

import pytest

from halftrip.clock import Clock
from halftrip.kernel_files import Reader
from halftrip.measure.walk import SliceTurn
from halftrip.plan.configurations import settings
from halftrip.plan.layers import make_plan, python_layer
from halftrip.results.records import Measurement
from halftrip.simulation.path_model import PathModel
from halftrip.telemetry.process import Meter
from harness.crowd import Crowd

SIZES = [5, 200, pytest.param(3_000, marks=pytest.mark.extended)]


@pytest.mark.parametrize("size", SIZES)
def test_state_and_messages_of_a_rank_do_not_grow_with_the_pairs(size):
    model = {"latency": "2us"}
    plan = make_plan(
        python_layer(
            {"simulated": model, "sizes": "8", "pairs": "all", "time": "0.1ms", "ci": "none"}
        )
    )
    assert isinstance(plan.simulated, PathModel)
    (setting,) = settings(plan, {"simulated": {"wait": ("spin",)}})
    turns = [SliceTurn(round=number, setting=setting, number=0) for number in (0, 1, size // 2)]
    parts = {"clock": Clock(), "meter": Meter(Reader(), whole=True)}
    crowd = Crowd(size, plan, parts, turns).run()

    # Everybody meets everybody in as few rounds as there are partners.
    assert crowd.rounds == size - 1 + size % 2

    talking = size // 2
    met = set()
    for reports in crowd.reports:
        records = [record for report in reports for record in report.records]
        assert all(isinstance(record, Measurement) for record in records)
        pairs = [record.configuration.pair for record in records]
        assert len(set(pairs)) == len(pairs) == talking
        assert {record.configuration.concurrency for record in records} == {talking}
        met.update(pairs)
    assert len(met) == len(turns) * talking
    most = 4 * math.log2(size)
    if size < 1000:
        # The two ranks of a pair have some 20 messages for each other, however few ranks there are.
        most += 20
    assert max(max(sent.values()) for sent in crowd.sent) <= most
    assert crowd.kept <= len(turns)
    assert crowd.open_pairs == (0 if size > 129 else len(turns))
