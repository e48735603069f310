"""What ends used, by their counters too, and the samples that they lost."""

import math

import numpy as np
import pytest

from halftrip.analysis.figure import fields
from halftrip.analysis.figures import FIGURES
from halftrip.analysis.rows import rows
from halftrip.analysis.usage import EndUsage, count_suspect, message_costs, suspect
from halftrip.results.counts import CountedSlice, Counts
from harness import runs
from harness.runs import configuration


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


# Neighbours that are not alike.
PER_MESSAGE = [100, 105, 101, 104, 102, 103]


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


def test_a_cost_is_of_each_message_with_an_interval_over_slices_or_launches():
    initiator, responder = message_costs([counted(n, each) for n, each in enumerate(PER_MESSAGE)])
    assert initiator == responder
    # Of six, each end is 5/14 of the way from the last value to the one before it.
    ends = (100 + 5 / 14, 105 - 5 / 14)
    assert tuple(initiator.instructions) == pytest.approx((102.5, *ends))
    assert tuple(initiator.cycles) == pytest.approx((51.25, ends[0] / 2, ends[1] / 2))
    assert (initiator.per_cycle, initiator.counted) == (2.0, "all")
    # Of several launches their medians count.
    slices = [
        counted(n, 10 * each - 900, launch)
        for launch, each in enumerate(PER_MESSAGE)
        for n in range(3)
    ]
    cost, _ = message_costs(slices)
    assert tuple(cost.instructions) == pytest.approx((125, 100 + 50 / 14, 150 - 50 / 14))
    # An end that cannot count has none, and a single slice no interval.
    initiator, responder = message_costs([counted(0, 100, responder=False)])
    assert responder is None
    assert initiator.instructions.value == 100
    assert not initiator.instructions.is_apart_from(1e9)
    assert message_costs([]) == (None, None)
    # Both directions at once are messages of their own.
    cost, _ = message_costs([counted(0, 100, pattern="bidirectional", window=10)])
    assert cost.instructions.value == pytest.approx(2 * 100 / (10 * 2))


QUIET = runs.usage()


def made(samples, *ends, **changes):
    return runs.measurement(iterations=1, samples=samples, usage=ends or None, **changes)


def suspects(*arguments, **changes):
    """The numbers of the suspect samples."""
    return np.flatnonzero(suspect(made(*arguments, **changes))).tolist()


def spikes(**heights):
    """Twenty samples of 1 us, but for those that are named, as ``s3=9_001_000``."""
    samples = [1000] * 20
    for name, ns in heights.items():
        samples[int(name[1:])] = ns
    return samples


def test_the_count_is_unknown_where_no_usage_is_known():
    assert count_suspect([runs.measurement()]) is None
    assert count_suspect([runs.measurement(usage=(QUIET, QUIET))]) == 0
    assert count_suspect([runs.measurement(), runs.measurement(usage=(QUIET, QUIET))]) == 0


def test_each_preemption_makes_the_longest_sample_of_its_block_suspect_if_one_shows_it():
    samples = [100, 900, 100, 800, 100, 100, 700, 100, 600, 100]
    two = {"counts": [5, 5], "preemptions": [(1, 0), (0, 1)]}
    assert suspects(samples, QUIET, QUIET, **two) == [1, 6]
    # Only samples longer than the median of all.
    many = {"counts": [5, 5], "preemptions": [(5, 5), (0, 0)]}
    assert suspects(samples, QUIET, QUIET, **many) == [1, 3]
    # Of half of the samples, which take no longer than noise has it.
    samples = np.random.default_rng(3).normal(20_000, 100, 400).astype(int)
    assert len(suspects(samples, QUIET, QUIET, preemptions=[(198, 0)])) <= 2
    samples[::40] += 1000
    found = suspects(samples, QUIET, QUIET, preemptions=[(198, 0)])
    assert {*range(0, 400, 40)} <= {*found}
    assert len(found) <= 12


def test_stolen_and_waited_time_make_as_many_samples_suspect_as_they_explain():
    samples = spikes(s3=9_001_000, s7=5_001_000, s9=4_001_000, s11=1500)
    assert suspects(samples, QUIET, runs.usage(core={"steal": 0.014})) == [3, 7]
    # With more of it, all that exceed the median by another median.
    assert suspects(samples, QUIET, runs.usage(core={"steal": 1.0})) == [3, 7, 9]
    assert suspects(samples, QUIET, QUIET) == []
    assert suspects([], QUIET, QUIET) == []
    # Time waited for a core is explained once.
    samples = spikes(s3=9_001_000, s7=5_001_000, s9=4_001_000)
    waited = runs.usage(1.0 - 0.0145, 0.0, voluntary=0, involuntary=9, waited=0.0145, core={})
    assert suspects(samples, waited, QUIET, preemptions=[(0, 0)]) == [3, 7]
    # The longest is explained by a preemption; what is left of the time explains one more.
    assert suspects(samples, waited, QUIET, preemptions=[(1, 0)]) == [3, 7]
    assert suspects(samples, waited, QUIET, preemptions=[(1, 2)]) == [3, 7, 9]
    # Waiting at a wake-up is no loss unless others had the core.
    samples = spikes(s3=9_001_000)
    assert suspects(samples, runs.usage(waited=0.1), QUIET) == []
    assert suspects(samples, runs.usage(waited=0.1, core={"others": 0.5}), QUIET) == [3]
