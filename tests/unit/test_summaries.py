"""What a case comes to where the machine was in several states, and of old files."""

import math

import msgspec
import numpy as np
import pytest

from halftrip.analysis.summaries import (
    case_times,
    line_probes,
    line_states,
    one_way_times,
    summarize_case,
)
from halftrip.results.delivery import Delivery
from halftrip.results.records import LineBound
from halftrip.stats.states import State
from harness import runs


def blocks_of(*levels, lines, before=100.0, **changes):
    """Blocks of thirty round trips, each twice as long as its level."""
    samples = [2 * level for level in levels for _ in range(30)]
    values = {"exchanges": 1, "samples": samples, "line": LineBound(before, lines[-1])}
    return runs.measurement(**(values | {"blocks": [30] * len(levels), "lines": lines} | changes))


NEAR, FAR = 100.0, 250.0


def moved():
    """Near for two blocks, then far for one; in between it moved."""
    return blocks_of(1000, 1000, 1500, 3000, lines=[NEAR, NEAR, FAR, FAR])


def test_the_summary_is_of_the_state_in_which_most_samples_were_taken():
    summary = summarize_case([moved()])
    assert summary.latency == 1000
    assert summary.samples == 60
    assert summary.max == 1000
    (split,) = case_times([moved()]).split
    assert [times.tolist() for times in split] == [[1000.0] * 60, [3000.0] * 30]


def test_the_main_state_is_that_of_all_repetitions():
    far = blocks_of(3000, 3000, lines=[FAR, FAR], before=FAR, repetition=1)
    summary = summarize_case([moved(), far])
    assert summary.latency == 3000
    assert summary.samples == 90
    # A repetition that was never in it has none.
    near, rest = case_times([blocks_of(1000, lines=[NEAR]), far]).steady
    assert near.size == 0
    assert rest.size == 60
    assert summarize_case([blocks_of(1000, lines=[NEAR]), far]).latency == 3000


def test_one_odd_probe_discards_nothing():
    for lines in ([NEAR, NEAR, 140.0], [NEAR, 140.0, NEAR], [140.0, NEAR, NEAR]):
        assert summarize_case([blocks_of(1000, 1000, 1000, lines=lines)]).samples == 90


def test_a_launch_that_took_more_samples_has_no_more_to_say():
    calm = [blocks_of(1000, lines=[NEAR], launch=n) for n in range(3)]
    noisy = blocks_of(*[3000] * 9, lines=[FAR] * 9, before=FAR, launch=3)
    summary = summarize_case([*calm, noisy])
    assert summary.latency == 1000
    assert summary.samples == 90


def test_one_launch_of_several_has_no_interval_over_launches():
    near = runs.measurement(launch=0)
    alone = summarize_case([near])
    assert alone.low < alone.latency < alone.high
    nothing = msgspec.structs.replace(near, launch=1, samples=[], blocks=[], lines=[])
    assert math.isnan(summarize_case([near, nothing]).low)


def test_a_machine_in_one_state_keeps_all():
    one = blocks_of(1000, 1500, lines=[NEAR, 110.0])
    assert line_states([one]) == [State(100.0, 110.0)]
    assert case_times([one]).steady[0].size == 60


def test_of_old_files_the_line_is_known_before_and_after():
    old = msgspec.structs.replace(moved(), blocks=[], lines=[])
    assert line_probes(old) == [NEAR, FAR]
    # It moved, nobody knows when: all samples count.
    assert summarize_case([old]).samples == 120
    steady = msgspec.structs.replace(old, line=LineBound(FAR, FAR), repetition=1)
    other = msgspec.structs.replace(old, repetition=2)
    assert summarize_case([old, other, steady]).samples == 120
    assert case_times([old, other, steady]).steady[0].size == 0


@pytest.mark.parametrize("changes", [{"blocks": []}, {"lines": []}, {"lines": [NEAR, FAR]}])
def test_blocks_without_their_lines_are_as_in_an_old_file(changes):
    odd = msgspec.structs.replace(moved(), **changes)
    assert line_probes(odd) == [NEAR, FAR]
    assert summarize_case([odd]).samples == 120


def test_where_no_line_is_known_all_counts():
    unknown = msgspec.structs.replace(moved(), line=None)
    assert line_probes(unknown) == []
    assert line_states([unknown]) == []
    assert summarize_case([unknown]).samples == 120


def test_launches_count_alike_however_many_samples_each_took():
    launches = [
        runs.measurement(exchanges=1, samples=[2 * level] * count, launch=n, line=None)
        for n, (level, count) in enumerate([(1000, 500), (1100, 10), (1200, 10)])
    ]
    assert summarize_case(launches).latency == 1100


def test_the_first_exchange_is_that_of_the_first_measurement():
    both = [runs.measurement(first=5000), runs.measurement(first=100, repetition=1)]
    assert summarize_case(both).first == 2500


def test_samples_of_many_messages_are_divided_among_them():
    one = runs.measurement(exchanges=10, samples=[2000])
    assert one_way_times(one).tolist() == [100.0]
    case = msgspec.structs.replace(one.case, pattern="stream", window=4)
    assert one_way_times(msgspec.structs.replace(one, case=case)).tolist() == [50.0]


def test_of_no_time_there_is_no_bandwidth():
    nothing = runs.measurement(samples=[0] * 30)
    assert math.isnan(summarize_case([nothing]).bandwidth)
    case = msgspec.structs.replace(nothing.case, pattern="stream", window=4, transport="udp")
    lost = Delivery(sent=10, lost=5, late=0)
    lossy = msgspec.structs.replace(nothing, case=case, delivery=lost)
    assert math.isnan(summarize_case([lossy]).bandwidth)


def test_what_is_left_out_is_no_part_of_the_interval():
    noisy = np.random.default_rng(1).normal(2000, 20, 60).astype(int).tolist()
    one = msgspec.structs.replace(moved(), samples=[*noisy, *[3000] * 30, *[6000] * 30])
    summary = summarize_case([one])
    assert 990 < summary.low <= summary.latency <= summary.high < 1010
