"""The history of rows over several runs."""

import math

import pytest

from halftrip.analysis.doubts import Doubt, changes, doubt_at
from halftrip.analysis.environments import Change
from halftrip.analysis.history import CORE_TO_CORE, history
from halftrip.analysis.run_figures import run_figures
from harness import histories, runs
from harness.histories import KERNELS, contended, dated, figures, weekly
from harness.moving import moving


@pytest.fixture(scope="module")
def changed():
    """Twenty runs, two of whose rows take a tenth longer from the twelfth on."""
    return figures(weekly(20, step_at=12))


def test_what_changed_when_by_how_much_and_with_what(changed):
    found = history(changed)
    (event,) = found.events
    assert (event.direction, event.first, len(event.rows)) == ("slower", 12, 2)
    assert event.before < 12 <= event.high
    assert event.environment == [Change("kernel", *KERNELS)]
    for row in found.changed:
        (change,) = row.changes
        assert row.configuration.transport == "mpi"
        assert change.low <= 12 <= change.high
        assert change.difference.low <= 1.1 <= change.difference.high


def test_nothing_is_found_where_nothing_changed():
    found = history(figures(weekly(20)))
    assert found.events == []
    assert all(1.03 < row.detectable < 1.2 for row in found.rows)


def test_a_row_counts_in_the_runs_that_have_it():
    made = figures(weekly(20, step_at=12))
    without = [
        each._replace(figures={}) if number in {3, 13} else each for number, each in enumerate(made)
    ]
    (event,) = history(without).events
    assert (event.before, event.first) == (11, 12)
    assert 3 not in history(without).rows[0].figures


@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_too_few_runs_have_no_changes(count):
    found = history(figures(weekly(count, step_at=2, factor=3.0)))
    assert len(found.runs) == count
    assert not found.events
    assert all(row.detectable is None for row in found.rows)


def test_of_empty_messages_the_time_counts():
    made = runs.run(runs.measurement("tcp", 0, pattern="stream", window=4))
    ((_, figure),) = run_figures("a", made).figures.items()
    assert 0 < figure.value < math.inf


@pytest.mark.parametrize(("pattern", "bandwidth"), [("stream", 1e9), ("bidirectional", 2e9)])
def test_bandwidth_is_that_of_both_directions_with_its_interval(pattern, bandwidth):
    slices = runs.slices("tcp", 1000, levels=[500.0] * 6, pattern=pattern)
    (alone,) = run_figures("a", runs.run(slices[0])).figures.values()
    assert math.isnan(alone.low)
    (figure,) = run_figures("a", runs.run(*slices)).figures.values()
    assert figure.value == pytest.approx(bandwidth, rel=0.02)
    assert figure.low < figure.value < figure.high


def test_another_core_to_core_round_trip_is_named():
    def run(number):
        far = number >= 8
        made = runs.measurement(half_ns=150.0 if far else 100.0, rtts=(122.0,) if far else (100.0,))
        return dated(runs.run(made), number)

    (event,) = history(figures(map(run, range(16)))).events
    assert event.environment == [Change(CORE_TO_CORE, "100 ns", "122 ns")]


def test_a_row_in_a_state_is_doubted_by_its_slices_in_that():
    near, far = Doubt("ok", None, 0.0, 90.0), Doubt("no", "steal", 0.2, 280.0)
    assert doubt_at([near, far], 95.0) == near
    assert doubt_at([near, far], 300.0) == far
    assert doubt_at([near, far], math.nan) == far
    assert doubt_at([], 90.0) is None
    one = history(figures([dated(moving(launches=10), number) for number in range(2)]))
    for row in one.rows:
        found = [one.runs[0].doubts[row.configuration], one.doubt(row, 0)]
        assert (row.quantity is None) == (len(found[0]) == 1)
        if row.quantity is not None:
            assert found[1].level == pytest.approx(row.level, rel=0.1)


def test_only_what_most_rows_of_a_level_have_is_a_fact():
    once = [contended(number, since=8 if number in (3, 9) else 99) for number in range(16)]
    assert not history(figures(once)).events
    ok, other = Doubt("ok", None, 0.05), Doubt("no", "steal", 0.14)
    assert changes([ok] * 3, [ok, other]) == changes([], [other]) == changes([ok], []) == []
    assert changes([ok, other, ok], [ok, other, other]) == [Change("cause", "none", "steal")]
    unknown = ok._replace(others=math.nan)
    assert changes([unknown], [ok._replace(others=0.9)]) == []


def test_what_differs_between_most_runs_explains_nothing():
    def run(number):
        made = runs.measurement(half_ns=150.0 if number >= 8 else 100.0, seed=number)
        ranks = tuple(runs.environment(rank, host=f"pod-{number}") for rank in (0, 1))
        return dated(runs.run(made, environments=ranks), number)

    (event,) = history(figures(map(run, range(16)))).events
    assert event.environment == []


def test_changes_in_other_directions_are_events_of_their_own():
    def run(number):
        factor = 1.3 if number >= 8 else 1.0
        both = [runs.measurement("shm", 8, half_ns=100 * factor, seed=number),
                runs.measurement("tcp", 8, half_ns=9000 / factor, seed=number)]  # fmt: skip
        return dated(runs.run(*both), number)

    found = history(figures(map(run, range(16))))
    assert {event.direction for event in found.events} == {"slower", "faster"}


def test_the_samples_of_a_run_are_not_kept():
    (kept,) = figures(histories.weekly(1))
    assert not kept.run.measurements
    assert kept.run.environments
