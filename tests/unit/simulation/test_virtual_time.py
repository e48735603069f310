"""A simulated path does what its model says.

Shares and spreads are checked within five standard errors of what the model says."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from halftrip.simulation.path_model import (
    ClockModel,
    Modes,
    Noise,
    PathModel,
    Ramp,
    Segment,
    Spikes,
    Wander,
)
from halftrip.simulation.virtual_time import SimulatedPath
from halftrip.transports import simulated
from halftrip.transports.simulated import VirtualPath, iteration_seconds
from harness import runs
from harness.bench import process

STILL = Noise(kind="none")
ONE = 10e-6


def drawn(model, batches=20, count=5000):
    """The times of so many batches of so many iterations, s."""
    path = SimulatedPath(model)
    return np.concatenate([path.iterations(ONE, count)[0] for _ in range(batches)])


@pytest.mark.parametrize(
    ("noise", "correlation"),
    [
        (Noise(kind="lognormal", spread=0.3), 0.0),
        (Noise(kind="ar1", spread=0.3, correlation=0.6), 0.6),
        (Noise(kind="ar1", spread=0.05, correlation=0.95), 0.95),
    ],
)
def test_the_median_spread_and_correlation_of_noise(noise, correlation):
    """Across batches, too."""
    logs = np.log(drawn(PathModel(noise=noise)) / ONE)
    n = logs.size
    effective = n * (1 - correlation) / (1 + correlation)
    assert abs(np.median(logs)) < 5 * 1.2533 * noise.spread / math.sqrt(effective)
    squares = n * (1 - correlation**2) / (1 + correlation**2)
    assert logs.std() == pytest.approx(noise.spread, rel=5 / math.sqrt(2 * squares))
    lag1 = np.corrcoef(logs[:-1], logs[1:])[0, 1]
    assert abs(lag1 - correlation) < 5 * math.sqrt((1 - correlation**2) / n) + 1e-4


@pytest.mark.parametrize(("factor", "share"), [(0.5, 0.3), (1.5, 0.7), (4.0, 0.1)])
def test_the_slow_state_has_its_share_of_the_time(factor, share):
    """Of the time, not of the iterations: the slow state has fewer of these in the same time."""
    model = PathModel(noise=STILL, modes=Modes(factor=factor, share=share, dwell=1e-3))
    times = drawn(model, batches=40)
    slow = np.isclose(times, factor * ONE)
    assert np.all(slow | np.isclose(times, ONE))
    got = times[slow].sum() / times.sum()
    # Over n turns of two exponential times the share's variance is 2 (s (1 - s))**2 / n.
    turns = times.sum() * share / 1e-3
    assert abs(got - share) < 5 * share * (1 - share) * math.sqrt(2 / turns)


@pytest.mark.parametrize("factor", [1.5, 4.0])
def test_the_mean_duration_of_a_state(factor):
    """For `dwell` seconds on average as they pass, however slow everything is meanwhile."""
    model = PathModel(noise=STILL, modes=Modes(factor=factor, share=0.5, dwell=2e-3))
    times = drawn(model, batches=200)
    slow = np.isclose(times, factor * ONE)
    begins = np.flatnonzero(np.diff(slow.astype(int)) == 1) + 1
    dwells = times[slow].sum() / begins.size
    assert dwells == pytest.approx(2e-3, rel=5 / math.sqrt(begins.size) + factor * ONE / 2e-3)


def test_the_state_changes_during_a_timeout():
    """A second passes, and is a thousand turns: what follows it does not depend on what was."""
    model = PathModel(noise=STILL, modes=Modes(factor=2.0, share=0.5, dwell=1e-3), loss=0.5)
    path = SimulatedPath(model, timeout=1.0)
    times, lost = path.iterations(ONE, 4000)
    assert set(times[lost]) == {1.0}
    slow = np.isclose(times[~lost], 2 * ONE)
    after = slow[1:][np.diff(np.flatnonzero(~lost)) > 1]
    assert abs(after.mean() - 0.5) < 5 * 0.5 / math.sqrt(after.size)
    assert path.now == pytest.approx(times.sum())


def test_the_cache_line_round_trip_follows_the_state_only_with_moves_core_to_core():
    for moves in (False, True):
        modes = Modes(factor=2.0, share=0.5, dwell=1e-3, moves_core_to_core=moves)
        path = SimulatedPath(PathModel(noise=STILL, core_to_core=100e-9, modes=modes))
        pairs = [(path.iterations(ONE, 1)[0][0], path.core_to_core_rtt()) for _ in range(1000)]
        near = [rtt for time, rtt in pairs if math.isclose(time, ONE, rel_tol=1e-6)]
        far = [rtt for time, rtt in pairs if not math.isclose(time, ONE, rel_tol=1e-6)]
        assert np.median(near) == pytest.approx(100e-9, rel=0.01)
        assert np.median(far) == pytest.approx(200e-9 if moves else 100e-9, rel=0.01)


def test_the_shares_of_spikes_and_of_lost_messages():
    """What is lost takes the timeout."""
    model = PathModel(noise=STILL, spikes=Spikes(share=0.02, extra=1e-3))
    spiked = drawn(model) > 0.5e-3
    assert abs(spiked.mean() - 0.02) < 5 * math.sqrt(0.02 * 0.98 / spiked.size)
    assert np.allclose(drawn(model)[spiked], 1e-3 + ONE, rtol=1e-6, atol=0)
    path = SimulatedPath(PathModel(noise=STILL, loss=0.1), timeout=0.25)
    times, lost = path.iterations(ONE, 50_000)
    assert abs(lost.mean() - 0.1) < 5 * math.sqrt(0.1 * 0.9 / lost.size)
    assert np.all(times[lost] == 0.25)
    assert np.allclose(times[~lost], ONE, rtol=1e-6, atol=0)


@pytest.mark.parametrize("drift", [0.1, 2.0])
def test_drift_grows_with_the_time_that_has_passed(drift):
    """Of the usual time, for each second that has passed; across batches, too."""
    times = drawn(PathModel(noise=STILL, drift=drift))
    began = np.cumsum(times) - times
    assert np.allclose(times, ONE * (1 + drift * began), rtol=1e-4, atol=0)
    assert times[-1] > ONE * (1 + 0.9 * drift)


def test_the_first_iterations_take_longer_until_that_has_faded():
    path = SimulatedPath(PathModel(noise=STILL, first=1e-3, warm_up=100))
    times = np.concatenate([path.iterations(ONE, 150)[0], path.iterations(ONE, 850)[0]])
    assert times - ONE == pytest.approx(1e-3 * np.exp(-np.arange(1000) / 100), abs=1e-12)
    path.begin_configuration()
    assert path.iterations(ONE, 1)[0][0] == pytest.approx(ONE + 1e-3)


@given(st.floats(1e-9, 1e-3), st.floats(1e-7, 1e-2), st.integers(1, 200))
def test_a_coarse_clock_reads_whole_steps(step, one, count):
    path = SimulatedPath(
        PathModel(noise=Noise(kind="lognormal", spread=0.3), clock=ClockModel(step=step))
    )
    times, _ = path.iterations(one, count)
    read = path.read_clock(times)
    steps = read / step
    assert np.abs(steps - np.rint(steps)).max() < 1e-6 * max(1.0, steps.max())
    assert np.abs(np.cumsum(read) - np.cumsum(times)).max() <= step * (1 + 1e-9) + 1e-12


def test_each_launch_has_its_own_factor():
    model = PathModel(noise=STILL, launch=0.1)
    logs = [
        math.log(SimulatedPath(model, launch).iterations(ONE, 1)[0][0] / ONE)
        for launch in range(400)
    ]
    assert abs(np.mean(logs)) < 5 * 0.1 / math.sqrt(400)
    assert np.std(logs) == pytest.approx(0.1, rel=5 / math.sqrt(800))
    assert stats.kstest(np.array(logs) / 0.1, "norm").pvalue > 1e-4


def test_times_depend_on_the_seed_alone():
    assert np.array_equal(drawn(PathModel(seed=3), 2), drawn(PathModel(seed=3), 2))
    assert not np.array_equal(drawn(PathModel(seed=3), 2), drawn(PathModel(seed=4), 2))


MODEL = PathModel(
    latency=2e-6,
    bandwidth=10e9,
    segments=(Segment(start=4096, latency=5e-6), Segment(start=65536, bandwidth=20e9)),
)


def test_latency_and_bandwidth_of_each_segment():
    assert MODEL.one_way(0) == pytest.approx(2e-6)
    assert MODEL.one_way(4095) == pytest.approx(2e-6 + 4095 / 10e9)
    assert MODEL.one_way(4096) == pytest.approx(5e-6 + 4096 / 10e9)
    assert MODEL.one_way(1 << 20) == pytest.approx(5e-6 + (1 << 20) / 20e9)


BUSY = PathModel(
    latency=2e-6, bandwidth=1e9, send_overhead=0.3e-6, receive_overhead=0.4e-6, gap=0.5e-6
)
STREAM = {"pattern": "stream", "window": 8}


@pytest.mark.parametrize(
    ("model", "fields", "seconds"),
    [
        # Messages of a window follow each other at the bandwidth of their size.
        (MODEL, {"size": 1 << 20, "pattern": "stream", "window": 64},
         (5e-6 + 64 * (1 << 20) / 20e9 + 2e-6, 0.0)),
        # A delay hides all of a round trip but the overheads: the reply comes 5.3 us after the
        # send.
        (BUSY, {"size": 1000, "delay": 0}, (6e-6, 0.0)),
        (BUSY, {"size": 1000, "delay": 5300}, (6e-6, 0.0)),
        (BUSY, {"size": 1000, "delay": 5400}, (0.7e-6, 5.4e-6)),
        # One between sends hides the gap.
        (BUSY, {"size": 0} | STREAM, (4e-6 + 7 * 0.5e-6, 0.0)),
        (BUSY, {"size": 1000} | STREAM, (5e-6 + 7 * 1.5e-6, 0.0)),
        (BUSY, {"size": 0, "delay": 200} | STREAM, (4e-6 + 7 * 0.5e-6, 0.0)),
        (BUSY, {"size": 0, "delay": 1000} | STREAM, (4e-6 + 7 * 0.3e-6, 7e-6)),
    ],
)  # fmt: skip
def test_the_time_of_an_iteration_and_its_delays(model, fields, seconds):
    found = iteration_seconds(model, runs.configuration("simulated", **fields))
    assert found == pytest.approx(seconds)


def test_a_pareto_noise_has_a_floor_and_a_median_of_1():
    factors = drawn(PathModel(noise=Noise(kind="pareto", spread=0.1))) / ONE
    beyond = 0.1 * (2 ** (2 / 3) - 1)
    assert np.all(factors >= 1 / (1 + beyond))
    # The density of the median is that of a Pareto variable, 1.5 / 2 / 2 ** (2 / 3), and the rest
    # is its scale.
    density = 0.75 / 2 ** (2 / 3) * (1 + beyond) / 0.1
    assert abs(np.median(factors) - 1) < 5 / (2 * density * math.sqrt(factors.size))
    share = np.mean(factors * (1 + beyond) > 1 + 0.1 * (4 - 1))
    assert share == pytest.approx(4**-1.5, rel=5 / math.sqrt(factors.size * 4**-1.5))


# A level that wanders, and a path that warms up.


@pytest.mark.parametrize("time_constant", [1e-3, 20e-3])
def test_a_level_wanders_and_forgets_in_virtual_time(time_constant):
    wander = Wander(spread=0.02, time_constant=time_constant)
    model = PathModel(noise=STILL, wander=wander)
    batches, count = 40, 5000
    logs = np.log(drawn(model, batches=batches, count=count) / ONE)
    independent = batches * count * ONE / (2 * time_constant)
    assert abs(logs.mean()) < 5 * 0.02 / math.sqrt(independent)
    assert logs.std() == pytest.approx(0.02, rel=5 / math.sqrt(independent))
    # After half a time constant; across batches, too.
    lag = round(time_constant / ONE / 2)
    found = np.corrcoef(logs[:-lag], logs[lag:])[0, 1]
    assert found == pytest.approx(math.exp(-0.5), abs=5 / math.sqrt(independent))


def test_a_level_forgets_while_nothing_is_exchanged():
    model = PathModel(noise=STILL, wander=Wander(spread=0.1, time_constant=10e-3))
    path = SimulatedPath(model)

    def level():
        return float(np.log(path.iterations(ONE, 1)[0][0] / ONE)) / 0.1

    for rest, expected in ((0.0, 0.999), (10e-3, math.exp(-1)), (1.0, 0.0)):
        pairs = []
        for _ in range(2000):
            path.rest(1.0)
            before = level()
            path.rest(rest)
            pairs.append((before, level()))
        found = np.corrcoef(np.array(pairs).T)[0, 1]
        assert found == pytest.approx(expected, abs=5 / math.sqrt(2000))


@pytest.mark.parametrize("moves_core_to_core", [True, False])
def test_the_line_wanders_with_the_level_if_the_model_says_so(moves_core_to_core):
    wander = Wander(spread=0.3, time_constant=10e-3, moves_core_to_core=moves_core_to_core)
    path = SimulatedPath(PathModel(noise=STILL, wander=wander))
    pairs = []
    for _ in range(300):
        path.rest(1.0)
        pairs.append((path.iterations(ONE, 1)[0][0] / ONE, path.core_to_core_rtt() / 100e-9))
    found = np.corrcoef(np.log(pairs).T)[0, 1]
    assert found > 0.99 if moves_core_to_core else abs(found) < 0.3


@pytest.mark.parametrize("time_constant", [1e-3, 50e-3, 10.0])
def test_a_path_that_warms_up_gets_faster_by_its_time_constant(time_constant):
    model = PathModel(noise=STILL, ramp=Ramp(slower=0.3, time_constant=time_constant))
    times = drawn(model, batches=4)
    begins = np.concatenate(([0.0], np.cumsum(times)[:-1]))
    expected = ONE * (1 + 0.3 * np.exp(-begins / time_constant))
    assert np.allclose(times, expected, rtol=0.3 * ONE / time_constant + 1e-9)


@pytest.mark.parametrize(
    ("untimed", "iterations", "samples"), [(0, 1, 100), (250, 1000, 3), (1, 99, 5)]
)
def test_a_long_batch_is_computed_in_parts(monkeypatch, untimed, iterations, samples):
    """It takes no more memory than a short one."""

    def endpoint():
        path = VirtualPath(process(), PathModel(noise=STILL), initiates=True)
        return path.endpoint(runs.configuration(transport="simulated"))

    whole = endpoint().run(untimed, iterations, samples)
    monkeypatch.setattr(simulated, "_MOST_AT_ONCE", 99)
    made = []
    compute = SimulatedPath.iterations

    def count(self, one, number):
        made.append(number)
        return compute(self, one, number)

    monkeypatch.setattr(SimulatedPath, "iterations", count)
    parts = endpoint().run(untimed, iterations, samples)
    assert sum(made) == untimed + iterations * samples
    assert max(made) <= 99
    # Without noise both are the same, but for a rounding of sums.
    np.testing.assert_allclose(whole.times, parts.times, atol=2)
    assert whole.start == pytest.approx(parts.start, abs=2)
