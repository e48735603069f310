"""Whether a bend has moved with a setting: by the steps of two curves at two places."""

import numpy as np
import pytest

from halftrip.analysis.bend_kinds import Prediction
from halftrip.analysis.proof import Shown, curve_times, judge, judge_curves
from halftrip.analysis.states import run_states
from halftrip.plan.around import sizes_around
from harness.runs import measurement, run

OLD, NEW = Prediction(4040, 4096), Prediction(8136, 8192)
SIZES = sizes_around([OLD[:2], NEW[:2]])


def curve(seed, jumps, noise=0.02, launches=6, page=0.0):
    """A curve with a slope, jumps by these factors above these sizes, and one of `page` at each
    4096 bytes; a launch as a whole is up to 10 % off."""
    random = np.random.default_rng(seed)
    levels = 1 + 0.1 * random.random(launches)
    found = {}
    for size in SIZES:
        time = 1000 + 0.2 * size + page * (size // 4096)
        for place, factor in jumps.items():
            time *= factor if size > place else 1
        found[size] = list(time * levels * np.exp(noise * random.standard_normal(launches)))
    return found


def judged(old, new, count, **options):
    """What is judged of so many pairs of curves with these jumps."""
    return [
        judge(curve(2 * seed, old, **options), curve(2 * seed + 1, new, **options), OLD, NEW)
        for seed in range(count)
    ]


@pytest.mark.parametrize("factor", [1.8, 1.2, 0.7])
@pytest.mark.parametrize("page", [0.0, 100.0])
@pytest.mark.parametrize(("place", "outcome"), [(8136, "moved"), (4040, "stayed")])
def test_a_bend_that_moves_is_proved_and_one_that_stays_has_another_cause(
    factor, page, place, outcome
):
    outcomes = [each.outcome for each in judged({4040: factor}, {place: factor}, 100, page=page)]
    assert outcomes.count(outcome) >= 95
    assert set(outcomes) <= {outcome, "unknown"}


@pytest.mark.parametrize(
    ("old", "new", "noise", "reason"),
    [
        # A flat curve without noise has no bend; of one with noise that cannot be told.
        ({}, {}, 0.005, "no bend: with the old value"),
        ({}, {8136: 1.5}, 0.005, "no bend: with the old value"),
        ({}, {}, 0.05, "no clear jump there: measure where nothing else runs"),
        ({4040: 1.5}, {}, 0.005, "none is at the new one: the setting ends it"),
        ({4040: 1.5}, {}, 0.05, "not clearly at the new one: measure where nothing else runs"),
    ],
)
def test_what_is_not_there_or_disappears_tells_nothing(old, new, noise, reason):
    found = judged(old, new, 50, noise=noise)
    assert [each.outcome for each in found].count("unknown") >= 46
    said = [reason in (each.reason or "") for each in found]
    assert sum(said) >= (46 if noise < 0.01 else 25)


def test_noise_and_too_little_around_a_place_tell_nothing():
    noisy = judged({4040: 1.3}, {4040: 1.3}, 50, noise=0.5)
    assert [each.outcome for each in noisy].count("unknown") >= 46
    whole = curve(1, {4040: 1.5})
    for short in (
        {size: times for size, times in whole.items() if size < 5000},
        {size: times[:1] for size, times in whole.items()},
        {},
    ):
        proof = judge(whole, short, OLD, NEW)
        assert proof.outcome == "unknown"
        assert proof.reason.startswith("too few")


def test_the_times_are_those_of_launches_else_of_slices():
    rows = [
        measurement(size=size, half_ns=size, launch=launch, slice=slice_)
        for size in (100, 200)
        for launch in (0, 1)
        for slice_ in (0, 1, 2)
    ]
    curve_ = rows[0].configuration.curve
    assert {size: len(times) for size, times in curve_times(run(*rows), curve_).items()} == {
        100: 2, 200: 2,
    }  # fmt: skip
    first = [row for row in rows if row.launch == 0]
    found = curve_times(run(*first), curve_)
    assert {size: len(times) for size, times in found.items()} == {100: 3, 200: 3}
    assert found[200][0] == pytest.approx(200, rel=0.02)


def moving(jumps, seed, states, launches=24):
    """A run of the curve with these jumps, each slice in one of these `states` of the cores, of
    which the far one takes twice as long."""
    random = np.random.default_rng(seed)
    times = curve(seed, jumps, launches=launches)
    rtts = {size: random.choice(states, launches).tolist() for size in SIZES}
    return run(
        *(
            measurement(
                size=size,
                half_ns=times[size][launch] * (2.0 if rtts[size][launch] > 200 else 1.0),
                launch=launch,
                rtts=(rtts[size][launch],) * 2,
            )
            for launch in range(launches)
            for size in SIZES
        )
    )


def test_a_bend_is_proved_by_the_times_of_one_state_of_the_machine():
    old, new = (moving({at: 1.3}, at, (92.0, 278.0)) for at in (4040, 8136))
    own = old.measurements[0].configuration.curve
    # The times of both states together tell nothing.
    assert judge(curve_times(old, own), curve_times(new, own), OLD, NEW).outcome == "unknown"
    shown = [Shown.of(each, own) for each in (old, new, moving({8136: 1.3}, 3, (278.0,)))]
    proof, state = judge_curves(*shown[:2], (OLD, NEW))
    assert (proof.outcome, state) == ("moved", shown[0].state)
    # One of the runs was in the other state alone.
    near = min(run_states(old).of(own).states, key=lambda each: each.value)
    proof, state = judge_curves(shown[0]._replace(state=near), shown[2], (OLD, NEW), near)
    assert (proof.outcome, state) == ("unknown", near)
    assert proof.reason == "only one of both curves was measured while cores were near (92 ns)"
