"""What a message costs, from what hardware counters have counted."""

import csv
import io

import pytest

from halftrip.analysis.counters import message_costs
from halftrip.report.document import document
from halftrip.results.counts import CountedSlice, Counts
from halftrip.results.run_file import load
from halftrip.views import details
from halftrip.views.cost import cost as cost_view
from harness.runs import configuration, measurement, run, save, usage
from harness.screens import text_of

PER_MESSAGE = [100, 101, 102, 103, 104, 105]


def counts(instructions, cycles, iterations=1000):
    return Counts(iterations=iterations, instructions=instructions, cycles=cycles, counted="all")


def counted(number, per_message, launch=0, responder=True, **settings):
    """A slice of 1000 ping-pongs, of two messages each, of 64 bytes."""
    each = counts(2000 * per_message, 1000 * per_message)
    return CountedSlice(
        configuration=configuration(size=64, **settings),
        slice=number,
        launch=launch,
        ends=(each, each if responder else None),
    )


def test_a_cost_is_of_each_message_with_an_interval_over_slices():
    initiator, responder = message_costs([counted(n, each) for n, each in enumerate(PER_MESSAGE)])
    assert initiator == responder
    assert tuple(initiator.instructions) == (102.5, 100, 105)
    assert tuple(initiator.cycles) == (51.25, 50, 52.5)
    assert (initiator.per_cycle, initiator.counted) == (2.0, "all")


def test_of_several_launches_their_medians_count():
    slices = [counted(n, 100 + 10 * launch, launch) for launch in range(6) for n in range(3)]
    cost, _ = message_costs(slices)
    assert tuple(cost.instructions) == (125, 100, 150)


def test_an_end_that_cannot_count_has_no_cost_and_a_single_slice_no_interval():
    initiator, responder = message_costs([counted(0, 100, responder=False)])
    assert responder is None
    assert initiator.instructions.value == 100
    assert not initiator.instructions.is_apart_from(1e9)
    assert message_costs([]) == (None, None)


def test_both_directions_at_once_are_messages_of_their_own():
    cost, _ = message_costs([counted(0, 100, pattern="bidirectional", window=10)])
    assert cost.instructions.value == pytest.approx(2 * 100 / (10 * 2))


@pytest.mark.parametrize("has_counted", [True, False])
def test_tables_and_csv_have_the_costs_of_a_run_that_counted(has_counted, tmp_path):
    """Written and read again."""
    slices = [counted(n, each) for n, each in enumerate(PER_MESSAGE)] if has_counted else []
    made = run(measurement(size=64, usage=(usage(), usage())), counted_slices=tuple(slices))
    of_run = document(load(save(made, tmp_path / "run.jsonl")))
    table = text_of(cost_view(of_run), 300)
    assert ("102 [100, 105]" in table) == has_counted
    assert ("per cycle" in table) == has_counted
    row = next(csv.DictReader(io.StringIO(details.csv(of_run))))
    names = ("instructions_per_message", "cycles_per_message_high", "instructions_per_byte")
    found = [row[f"responder_{name}"] for name in (*names, "counted")]
    assert found == (["102.5", "52.5", str(102.5 / 64), "all"] if has_counted else [""] * 4)
