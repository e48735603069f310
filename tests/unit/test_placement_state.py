"""--placement-state: only what is measured in the wanted state of the machine counts."""

import numpy as np
import pytest

from halftrip.analysis.flags import verdicts
from halftrip.analysis.summaries import case_times, line_states, one_way_times, summarize_case
from halftrip.measure.placement_filter import WantedState
from halftrip.measure.setup import Stage
from halftrip.plan.path_model_table import parse_truth
from halftrip.results.records import Failure, LineBound, Measurement, Skip
from harness import runs
from unit.test_session import walk

ALLOWED = 0.1


def moving(share, seed=1):
    """Cores that are far apart for the share of the time; then all takes three times as long."""
    return {
        "latency": "2us",
        "noise": {"kind": "lognormal", "spread": 0.02},
        "modes": {"factor": 3.0, "share": share, "dwell": "0.1s", "moves_line": True},
        "seed": seed,
    }


def measure(table, **keys):
    keys = {"transport": "simulated", "sizes": "8", "time": f"{ALLOWED}s", "ci": "none"} | keys
    sink, _ = walk(None, simulated=table, **keys)
    return sink


def one_way_ns(truth):
    return parse_truth(truth).one_way(8) * 1e9


@pytest.mark.parametrize("seed", range(1, 4))
@pytest.mark.parametrize(("wanted", "factor"), [("near", 1.0), ("far", 3.0)])
def test_the_wanted_state_is_what_is_measured(wanted, factor, seed):
    truth = moving(0.4, seed)
    sink = measure(truth, placement_state=wanted, repetitions=12)
    assert sink.those(Failure) == []
    # Until the other state is met for the first time, there is nothing to choose from.
    for measurement in sink.those(Measurement)[-6:]:
        times = one_way_times(measurement)
        assert np.median(times) == pytest.approx(factor * one_way_ns(truth), rel=0.01)
        # And as much of it as without any choice.
        assert sum(measurement.samples) >= 0.9 * ALLOWED * 1e9
        # No summary has to leave out any of it.
        assert len(line_states([measurement])) == 1
        assert len(measurement.lines) == len(measurement.blocks)
        assert sum(measurement.blocks) == len(measurement.samples)
        assert summarize_case([measurement]).samples == len(measurement.samples)
        # A block in the midst of which the cores moved there and back is rare.
        assert np.mean(np.abs(times / np.median(times) - 1.0) < 0.2) > 0.95


def test_without_a_wish_a_row_is_of_the_state_that_was_there_most():
    truth = moving(0.3)
    found = measure(truth, repetitions=12).those(Measurement)
    known = case_times(found)
    assert len(known.states) == 2
    near, far = (sum(times[state].size for times in known.split) for state in range(2))
    assert 0 < far < near
    summary = summarize_case(found)
    assert summary.latency == pytest.approx(one_way_ns(truth), rel=0.01)
    assert summary.samples == near


@pytest.mark.parametrize("wanted", ["near", "far"])
def test_where_there_is_only_one_state_it_is_both(wanted):
    truth = moving(0.0)
    (measurement,) = measure(truth, placement_state=wanted).those(Measurement)
    assert np.median(one_way_times(measurement)) == pytest.approx(one_way_ns(truth), rel=0.01)


def test_a_state_that_never_comes_is_waited_for_in_vain_but_not_for_ever(monkeypatch):
    monkeypatch.setattr(Stage, "survey_line", lambda *_: [100.0] * 16 + [300.0] * 16)
    sink = measure(moving(0.0), placement_state="far", sizes="8,64")
    assert sink.those(Measurement) == []
    reason = "--placement-state far: never long enough in that state, in which the line takes "
    assert [f.reason for f in sink.those(Failure)] == [f"{reason}300 to 300 ns"] * 2


def test_what_counted_while_nothing_better_was_known_counts_no_more(monkeypatch):
    """The fast state is met in the midst of a case; what had been kept of the slow one goes."""
    monkeypatch.setattr(Stage, "survey_line", lambda *_: [300.0] * 3)
    truth = moving(0.0)
    (measurement,) = measure(truth, placement_state="near").those(Measurement)
    assert len(line_states([measurement])) == 1
    assert measurement.line.before == pytest.approx(100, rel=0.1)
    assert np.median(one_way_times(measurement)) == pytest.approx(one_way_ns(truth), rel=0.01)
    assert sum(measurement.samples) >= 0.9 * ALLOWED * 1e9


def test_ranks_that_have_no_line_between_them_are_skipped_with_the_reason():
    sink, _ = walk((0, 0), placement_state="near")
    assert sink.those(Measurement) == []
    (skip,) = sink.those(Skip)
    assert skip.reason == ("--placement-state: there is no line to tell by: the ranks share a core")


def test_a_real_line_is_looked_at():
    sink, _ = walk(None, placement_state="near")
    assert len(sink.those(Measurement)) == 2
    assert all(m.lines for m in sink.those(Measurement))


def test_a_row_from_before_the_wanted_state_was_known_is_flagged():
    early = runs.measurement(size=8, line=LineBound(300.0, 302.0))
    late = runs.measurement(size=64, line=LineBound(100.0, 102.0))
    run = runs.run(early, late)

    def flagged():
        return [case.size for case, flags in verdicts(run).items()
                if "other-state" in [flag.name for flag in flags]]  # fmt: skip

    assert flagged() == []
    run.head.plan["placement_state"] = "near"
    assert flagged() == [8]
    run.head.plan["placement_state"] = "far"
    assert flagged() == [64]


def test_what_was_seen_once_or_twice_is_no_state_for_ever():
    state = WantedState("far")
    state.note([100.0] * 30 + [300.0, 310.0])
    state.note([100.0] * 60)
    assert state.known == (100.0, 100.0)
    # What was there for a while is still one, however long ago.
    state.note([300.0] * 10)
    state.note([100.0] * 500)
    assert state.known == (300.0, 310.0)
