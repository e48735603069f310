"""--placement-state: only blocks between two probes in the requested state count.

Ranks are threads of this process, and measure a simulated path whose cores move."""

import re

import numpy as np
import pytest

from halftrip.analysis.summaries import summarize_configuration
from halftrip.measure.placement_filter import PlacementFilter, PlacementState
from halftrip.plan.path_model_table import parse_path_model
from halftrip.results.block import RoundTrips
from halftrip.results.records import Failure, Measurement
from halftrip.stats.series import rtt_states
from harness import runs
from harness.plans import walk

ALLOWED = 0.05


def moving(share, seed=1, latency="20us", dwell=ALLOWED):
    """Cores that are far apart for this share of the time, for `dwell` seconds on average;
    everything takes three times as long then."""
    return {
        "latency": latency,
        "noise": {"kind": "lognormal", "spread": 0.02},
        "modes": {"factor": 3.0, "share": share, "dwell": f"{dwell}s", "moves_core_to_core": True},
        "seed": seed,
    }


def measure(table, **keys):
    """The records of a plan over that path."""
    keys = {"transport": "simulated", "sizes": "8", "time": f"{ALLOWED}s", "ci": "none"} | keys
    records, _ = walk(simulated=table, **keys)
    return records


def one_way_ns(table):
    return parse_path_model(table).one_way(8) * 1e9


def states_of(measurement):
    return rtt_states([measurement])


@pytest.mark.parametrize(("requested", "seed"), [("near", 1), ("far", 3)])
def test_only_the_requested_state_is_measured(requested, seed):
    table, slices = moving(0.4, seed), 5
    records = measure(table, placement_state=requested, slices=slices, time=f"{ALLOWED * slices}s")
    assert records.of(Failure) == []
    measured = records.of(Measurement)
    assert [each.slice for each in measured] == list(range(slices))
    expected = one_way_ns(table) * (3.0 if requested == "far" else 1.0)
    # Before the other state is seen for the first time, any state is accepted.
    for measurement in measured[-(slices // 2) :]:
        times = measurement.one_way_times
        assert np.median(times) == pytest.approx(expected, rel=0.01)
        # As much time as without a requested state.
        assert measurement.samples.sum() >= 0.9 * ALLOWED * 1e9
        # Its summary leaves nothing out.
        assert len(states_of(measurement)) == 1
        assert all(block.core_to_core_rtt is not None for block in measurement.blocks)
        assert summarize_configuration([measurement]).samples == measurement.samples.size
        # A block in which the cores moved there and back is rare.
        assert np.mean(np.abs(times / np.median(times) - 1.0) < 0.2) > 0.95


def surveyed(monkeypatch, *rtts):
    """Every pair is surveyed with these round trips."""

    def survey(placement, probe, rest):
        if placement._state is None:
            placement._state = PlacementState(placement._requested)
            placement._state.add(rtts)

    monkeypatch.setattr(PlacementFilter, "survey", survey)


def test_a_state_that_never_comes_back_is_given_up(monkeypatch):
    """At the last slice: until then it may come back."""
    surveyed(monkeypatch, *[100.0] * 16, *[300.0] * 16)
    records = measure(moving(0.0), placement_state="far", sizes="8,64", time="6ms", slices=3)
    assert records.of(Measurement) == []
    reason = (
        "--placement-state far: never long enough in that state, "
        "in which the core-to-core round trip takes 300 to 300 ns"
    )
    assert [(f.reason, f.slice) for f in records.of(Failure)] == [(reason, 2)] * 2


def test_blocks_kept_before_a_better_state_was_known_are_dropped(monkeypatch):
    """The near state is seen in the course of a slice: blocks of the far state are dropped."""
    surveyed(monkeypatch, *[300.0] * 3)
    table = moving(0.0)
    first, *_ = measured = measure(table, placement_state="near", slices=2).of(Measurement)
    assert len(states_of(first)) == 1
    assert first.core_to_core_rtts[0] == pytest.approx(100, rel=0.1)
    times = np.concatenate([each.one_way_times for each in measured])
    assert np.median(times) == pytest.approx(one_way_ns(table), rel=0.01)
    assert all(each.samples.sum() >= 0.9 * ALLOWED / 2 * 1e9 for each in measured)


def test_the_round_trips_of_a_real_pair_are_probed(monkeypatch):
    """A busy machine may not be in the fastest state that was seen for long enough."""
    monkeypatch.setattr("halftrip.measure.bounds.COPY_SIZES", ())
    records, _ = walk(placement_state="near", sizes="8,64", time="2ms")
    for failure in records.of(Failure):
        assert re.search(r"core-to-core round trip takes \d+ to \d+ ns", failure.reason)
    measured = records.of(Measurement)
    assert {each.configuration.size for each in (*measured, *records.of(Failure))} == {8, 64}
    for measurement in measured:
        assert len(measurement.core_to_core_rtts) == 1 + len(measurement.blocks)
        assert all(rtt > 0 for rtt in measurement.core_to_core_rtts)


# Without ranks.


def test_states_seen_once_or_twice_are_forgotten_and_others_are_not():
    state = PlacementState("far")
    state.add([100.0] * 30 + [300.0, 310.0])
    state.add([100.0] * 60)
    assert state.known == (100.0, 100.0)
    # A state that lasted for a while stays known, however long ago it was.
    state.add([300.0] * 10)
    state.add([100.0] * 500)
    assert state.known == (300.0, 310.0)


def surveyed_filter(requested, *rtts):
    """A filter whose survey of a tenth of a second saw these round trips, then None."""
    probes, rests = iter(rtts), []
    placement = PlacementFilter(requested)
    with pytest.raises(RuntimeError, match="surveyed"):
        placement.accepted(blocks_of(MOVED))
    for _ in range(2):
        placement.survey(lambda: next(probes, None), rests.append)
        assert sum(rests) == pytest.approx(0.1)
    return placement


def blocks_of(*rtts):
    """Blocks of one sample, with the round trips before and after each."""
    (block,) = runs.blocks([1000], rtts=None)
    return [
        type(block)(times=block.times, core_to_core_rtt=RoundTrips(*ends) if ends else None)
        for ends in rtts
    ]


MOVED = (100.0, 300.0)


@pytest.mark.parametrize(
    ("requested", "accepted"),
    [("near", [True, False, False, True]), ("far", [False, True, False, False])],
)
def test_a_block_counts_if_both_its_probes_are_in_the_state(requested, accepted):
    placement = surveyed_filter(requested, *[100.0] * 16, *[300.0] * 16)
    assert placement.accepted(blocks_of((100.0, 100.0), (300.0, 300.0), MOVED, (100.0, 100.0))) == (
        accepted
    )
    assert placement.accepted(blocks_of(None)) == [False]
