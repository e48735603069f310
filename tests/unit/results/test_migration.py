"""Measurements of older formats: what is known of the whole stands in the first block."""

import msgspec
import pytest

from halftrip.analysis.summaries import summarize_configuration
from halftrip.results import migration
from halftrip.results.block import encode_array
from halftrip.results.usage import BusiestTask
from halftrip.stats.series import by_state, rtt_states
from harness import runs

NEAR, FAR = 100.0, 250.0


def old(rtts=(NEAR, FAR), **changes):
    """A ping-pong of an old file, 30 round trips of each length; `rtts` before and after all."""
    values = {
        "record": "measurement",
        "case": {"transport": "shm", "size": 8, "wait": "spin"},
        "repetition": 0,
        "at": 0.0,
        "first": 5000,
        "warm_up": {"exchanges": 10, "ns": 1000, "settled": True},
        "exchanges": 1,
        "stopped": "converged",
        "line": None if rtts is None else {"before": rtts[0], "after": rtts[1]},
        "samples": [2 * time for time in (1000, 1000, 1500, 3000) for _ in range(30)],
    }
    return migration.migrate(msgspec.json.encode(values | changes), 4)


def old_usage(usage):
    """As it stands in a file of format 4."""
    fields = msgspec.to_builtins(usage)
    if "core" in fields and "busiest_task" in fields["core"]:
        fields["core"]["culprit"] = fields["core"].pop("busiest_task")
    return fields


def test_blocks_and_round_trips_of_format_3():
    rtts = [NEAR, NEAR, FAR, FAR]
    measured = old(blocks=[30] * 4, lines=rtts, rtts=(NEAR, FAR))
    assert [block.times.size for block in measured.blocks] == [30] * 4
    assert measured.core_to_core_rtts == [NEAR, *rtts]
    states = rtt_states([measured.series])
    assert [times.size for times in by_state([measured.series], states)] == [60, 30]


@pytest.mark.parametrize("changes", [
    {}, {"blocks": [30] * 4}, {"lines": [NEAR] * 4}, {"blocks": [30] * 4, "lines": [NEAR, FAR]},
    {"blocks": [30, 30], "lines": [NEAR, FAR]},
])  # fmt: skip
def test_without_matching_blocks_and_round_trips_there_is_one_block(changes):
    measured = old(**changes)
    assert [block.times.size for block in measured.blocks] == [120]
    assert measured.core_to_core_rtts == [NEAR, FAR]
    # The cores moved, it is not known when: all samples count.
    assert summarize_configuration([measured]).samples == 120


def test_one_block_in_one_state_belongs_to_it():
    slices = [old(), old(repetition=2), old(rtts=(FAR, FAR), repetition=1)]
    series = [measured.series for measured in slices]
    assert [times.size for times in by_state(series, rtt_states(series))] == [0, 120]


def test_blocks_without_round_trips_are_kept():
    measured = old(rtts=None, blocks=[30, 90])
    assert [block.times.size for block in measured.blocks] == [30, 90]
    assert measured.core_to_core_rtts == []


def test_settings_of_a_case_become_those_of_both_ends():
    case = {"transport": "tcp", "size": 8, "wait": "block", "pages": "huge", "company": 3}
    measured = old(case=case | {"pair": (1, 2)})
    assert measured.configuration == runs.configuration(
        "tcp", 8, "block", pages="huge", memory="host", concurrency=3, pair=(1, 2)
    )


def test_usage_is_that_of_all_blocks_and_preemptions_that_of_each():
    core = {"others": 0.5, "busiest_task": BusiestTask(name="stress (process 7)", share=0.9)}
    usage = runs.usage(waited=0.1, involuntary=6, instructions=9, core=core)
    ends = (old_usage(usage), old_usage(runs.usage(involuntary=2)))
    rtts = {"blocks": [60, 60], "lines": [NEAR, NEAR]}
    measured = old(usage=ends, preemptions=[(5, 0), (1, 2)], **rtts)
    lost = [tuple(end.involuntary for end in block.usage) for block in measured.blocks]
    assert lost == [(5, 0), (1, 2)]
    assert measured.usage == (usage, runs.usage(involuntary=2))
    assert measured.cores == (usage.core, None)


def test_usage_without_preemptions_of_each_block_stands_in_the_first():
    ends = (old_usage(runs.usage(involuntary=6)), old_usage(runs.usage(involuntary=2)))
    measured = old(usage=ends, preemptions=[(1, 1)], blocks=[60, 60], lines=[NEAR, NEAR])
    lost = [tuple(end.involuntary for end in block.usage) for block in measured.blocks]
    assert lost == [(6, 2), (0, 0)]
    assert measured.usage == (runs.usage(involuntary=6), runs.usage(involuntary=2))


@pytest.mark.parametrize("median", [10_000.0, 10_000.5])
def test_medians_of_the_responder_are_kept(median):
    measured = old(peer_ns=median, arrival_ns=(median, 2 * median))
    assert measured.peer_median == median
    assert measured.receive_medians == (median, 2 * median)
    assert old().peer_median is None
    assert old().receive_medians is None


def test_the_core_of_one_end_keeps_its_figures_where_that_of_the_other_is_not_known():
    measured = runs.measurement(usage=None)
    fields = msgspec.json.decode(msgspec.json.encode(measured, enc_hook=encode_array))
    core = {"number": 1, "watched": 1.0, "stolen": 0.5, "others": 0.1}
    old = fields | {"record": "measurement", "cores": [None, core], "blocks": []}
    old["case"] = old.pop("configuration")
    found = migration.migrate(msgspec.json.encode(old), 6)
    assert found.cores[0] is None
    assert found.cores[1].steal == 0.5
