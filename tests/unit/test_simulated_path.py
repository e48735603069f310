"""The simulated path does what its truth says; and whatever truth there is can be told."""

import math

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from halftrip.errors import UsageError
from halftrip.plan.path_model_table import parse_truth, truth_record
from halftrip.plan.plan import make_plan, plan_layer, plan_record, python_layer
from halftrip.results.case import Case
from halftrip.simulation.path_model import Modes, Noise, Segment, Spikes, Ticking, Truth
from halftrip.simulation.virtual_time import Path
from halftrip.transports.simulated import exchange_seconds

STILL = Noise(kind="none")
ONE = 10e-6


def drawn(truth: Truth, batches: int = 20, count: int = 5000) -> np.ndarray:
    """The times of so many batches of so many exchanges, s."""
    path = Path(truth)
    return np.concatenate([path.exchanges(ONE, count)[0] for _ in range(batches)])


@pytest.mark.parametrize(
    ("noise", "correlation"),
    [
        (Noise(kind="lognormal", spread=0.3), 0.0),
        (Noise(kind="ar1", spread=0.3, correlation=0.6), 0.6),
        (Noise(kind="ar1", spread=0.05, correlation=0.95), 0.95),
    ],
)
def test_noise_has_the_median_spread_and_correlation_of_its_truth(noise, correlation):
    """Over the bounds of batches, too. All within five standard errors."""
    logs = np.log(drawn(Truth(noise=noise)) / ONE)
    n = logs.size
    effective = n * (1 - correlation) / (1 + correlation)
    assert abs(np.median(logs)) < 5 * 1.2533 * noise.spread / math.sqrt(effective)
    squares = n * (1 - correlation**2) / (1 + correlation**2)
    assert logs.std() == pytest.approx(noise.spread, rel=5 / math.sqrt(2 * squares))
    lag1 = np.corrcoef(logs[:-1], logs[1:])[0, 1]
    assert abs(lag1 - correlation) < 5 * math.sqrt((1 - correlation**2) / n) + 1e-4


def test_without_noise_every_exchange_takes_the_same():
    assert drawn(Truth(noise=STILL)) == pytest.approx(ONE, rel=1e-12)


@pytest.mark.parametrize("factor", [0.5, 1.5, 4.0])
@pytest.mark.parametrize("share", [0.1, 0.3, 0.7])
def test_modes_have_their_share_of_the_time(factor, share):
    """Of the time, not of the exchanges: the slow state has fewer of these in the same time."""
    truth = Truth(noise=STILL, modes=Modes(factor=factor, share=share, dwell=1e-3))
    times = drawn(truth, batches=100)
    slow = np.isclose(times, factor * ONE)
    assert np.all(slow | np.isclose(times, ONE))
    got = times[slow].sum() / times.sum()
    # Over n turns of two exponential times the share's variance is 2 (s (1 - s))**2 / n.
    turns = times.sum() * share / 1e-3
    assert abs(got - share) < 5 * share * (1 - share) * math.sqrt(2 / turns)


@pytest.mark.parametrize("factor", [1.5, 4.0])
def test_a_state_lasts_as_long_as_it_should(factor):
    """For `dwell` seconds on average as they pass, however slow everything is meanwhile."""
    truth = Truth(noise=STILL, modes=Modes(factor=factor, share=0.5, dwell=2e-3))
    times = drawn(truth, batches=200)
    slow = np.isclose(times, factor * ONE)
    begins = np.flatnonzero(np.diff(slow.astype(int)) == 1) + 1
    dwells = times[slow].sum() / begins.size
    assert dwells == pytest.approx(2e-3, rel=5 / math.sqrt(begins.size) + factor * ONE / 2e-3)


def test_states_shorter_than_an_exchange_keep_their_share():
    truth = Truth(noise=STILL, modes=Modes(factor=2.0, share=0.3, dwell=1e-6))
    slow = np.isclose(drawn(truth, batches=4), 2 * ONE)
    # An exchange is in the state of its beginning.
    assert abs(slow.mean() - 0.3) < 5 * math.sqrt(0.3 * 0.7 / slow.size)


def test_states_go_on_while_a_lost_message_is_waited_for():
    """A second passes, and is a thousand turns: what follows it does not depend on what was."""
    truth = Truth(noise=STILL, modes=Modes(factor=2.0, share=0.5, dwell=1e-3), loss=0.5)
    path = Path(truth, timeout=1.0)
    times, lost = path.exchanges(ONE, 4000)
    assert set(times[lost]) == {1.0}
    slow = np.isclose(times[~lost], 2 * ONE)
    after = slow[1:][np.diff(np.flatnonzero(~lost)) > 1]
    assert abs(after.mean() - 0.5) < 5 * 0.5 / math.sqrt(after.size)
    assert path.now == pytest.approx(times.sum())


def test_the_line_moves_with_the_state_only_where_it_is_told_to():
    for moves in (False, True):
        modes = Modes(factor=2.0, share=0.5, dwell=1e-3, moves_line=moves)
        path = Path(Truth(noise=STILL, line=100e-9, modes=modes))
        pairs = [(path.exchanges(ONE, 1)[0][0], path.line()) for _ in range(2000)]
        near = [line for time, line in pairs if time == pytest.approx(ONE)]
        far = [line for time, line in pairs if time != pytest.approx(ONE)]
        assert np.median(near) == pytest.approx(100e-9, rel=0.01)
        assert np.median(far) == pytest.approx(200e-9 if moves else 100e-9, rel=0.01)


def test_spikes_have_their_share():
    truth = Truth(noise=STILL, spikes=Spikes(share=0.02, extra=1e-3))
    spiked = drawn(truth) > 0.5e-3
    assert abs(spiked.mean() - 0.02) < 5 * math.sqrt(0.02 * 0.98 / spiked.size)
    assert drawn(truth)[spiked] == pytest.approx(1e-3 + ONE)


def test_lost_messages_have_their_share_and_take_a_timeout():
    path = Path(Truth(noise=STILL, loss=0.1), timeout=0.25)
    times, lost = path.exchanges(ONE, 50_000)
    assert abs(lost.mean() - 0.1) < 5 * math.sqrt(0.1 * 0.9 / lost.size)
    assert np.all(times[lost] == 0.25)
    assert times[~lost] == pytest.approx(ONE)


@pytest.mark.parametrize("drift", [0.1, 2.0])
def test_drift_is_a_share_of_each_second(drift):
    """Of the usual time, for each second that has passed; over the bounds of batches, too."""
    times = drawn(Truth(noise=STILL, drift=drift))
    began = np.cumsum(times) - times
    assert times == pytest.approx(ONE * (1 + drift * began), rel=1e-4)
    assert times[-1] > ONE * (1 + 0.9 * drift)


def test_drift_and_modes_go_together():
    truth = Truth(noise=STILL, drift=1.0, modes=Modes(factor=3.0, share=0.4, dwell=2e-3))
    times = drawn(truth)
    factors = times / ONE / (1 + np.cumsum(times) - times)
    slow = np.isclose(factors, 3.0, rtol=1e-3)
    assert np.all(slow | np.isclose(factors, 1.0, rtol=1e-3))
    turns = times.sum() * 0.4 / 2e-3
    share = times[slow].sum() / times.sum()
    assert abs(share - 0.4) < 5 * 0.4 * 0.6 * math.sqrt(2 / turns)


def test_what_is_first_takes_longer_and_that_fades():
    path = Path(Truth(noise=STILL, first=1e-3, warm_up=100))
    times = np.concatenate([path.exchanges(ONE, 150)[0], path.exchanges(ONE, 850)[0]])
    assert times - ONE == pytest.approx(1e-3 * np.exp(-np.arange(1000) / 100), abs=1e-12)
    path.begin_case()
    assert path.exchanges(ONE, 1)[0][0] == pytest.approx(ONE + 1e-3)


def test_without_a_warm_up_only_the_first_takes_longer():
    times, _ = Path(Truth(noise=STILL, first=1e-3)).exchanges(ONE, 10)
    assert times == pytest.approx([ONE + 1e-3] + [ONE] * 9)


@given(st.floats(1e-9, 1e-3), st.floats(1e-7, 1e-2), st.integers(1, 200))
def test_a_clock_moves_on_in_steps_and_is_never_further_off(step, one, count):
    path = Path(Truth(noise=Noise(kind="lognormal", spread=0.3), clock=Ticking(step=step)))
    times, _ = path.exchanges(one, count)
    read = path.read_clock(times)
    steps = read / step
    assert np.abs(steps - np.rint(steps)).max() < 1e-6 * max(1.0, steps.max())
    assert np.abs(np.cumsum(read) - np.cumsum(times)).max() <= step * (1 + 1e-9) + 1e-12


def test_a_clock_without_steps_says_what_is():
    path = Path(Truth())
    times, _ = path.exchanges(ONE, 100)
    assert path.read_clock(times) is times


def test_each_launch_has_a_factor_of_its_own():
    truth = Truth(noise=STILL, launch=0.1)
    logs = [math.log(Path(truth, launch).exchanges(ONE, 1)[0][0] / ONE) for launch in range(400)]
    assert abs(np.mean(logs)) < 5 * 0.1 / math.sqrt(400)
    assert np.std(logs) == pytest.approx(0.1, rel=5 / math.sqrt(800))
    assert stats.kstest(np.array(logs) / 0.1, "norm").pvalue > 1e-4


def test_the_same_truth_gives_the_same_times_and_another_seed_others():
    assert np.array_equal(drawn(Truth(seed=3), 2), drawn(Truth(seed=3), 2))
    assert not np.array_equal(drawn(Truth(seed=3), 2), drawn(Truth(seed=4), 2))


def test_no_exchanges_take_no_time():
    path = Path(Truth())
    times, lost = path.exchanges(ONE, 0)
    assert (times.size, lost.size, path.now) == (0, 0, 0.0)


TRUTH = Truth(
    latency=2e-6,
    bandwidth=10e9,
    segments=(Segment(start=4096, latency=5e-6), Segment(start=65536, bandwidth=20e9)),
)


def test_a_message_takes_what_its_segment_says():
    assert TRUTH.one_way(0) == pytest.approx(2e-6)
    assert TRUTH.one_way(4095) == pytest.approx(2e-6 + 4095 / 10e9)
    assert TRUTH.one_way(4096) == pytest.approx(5e-6 + 4096 / 10e9)
    assert TRUTH.one_way(1 << 20) == pytest.approx(5e-6 + (1 << 20) / 20e9)


def test_a_window_follows_at_the_bandwidth_of_its_size():
    case = Case(transport="simulated", pattern="stream", size=1 << 20, wait="spin", window=64)
    bytes_ = 64 * (1 << 20)
    assert exchange_seconds(TRUTH, case) == pytest.approx(5e-6 + bytes_ / 20e9 + 2e-6)


json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["latency", "segments", "from", "noise", "kind", "modes", "x"]),
            inner,
            max_size=3,
        )
    ),
)


@given(json)
def test_whatever_is_told_is_a_truth_or_one_line(table):
    lines = refusal(table).splitlines()
    assert len(lines) <= 1


def refusal(table: object) -> str:
    """What is wrong with it, or nothing. Raises whatever is no UsageError."""
    try:
        parse_truth(table)
    except UsageError as error:
        return str(error)
    return ""


shares = st.floats(0, 1, exclude_max=True)
seconds = st.floats(0, 3600)
positive = st.floats(1e-9, 3600)
bandwidths = st.floats(1e3, 1e15)
truths = st.builds(
    Truth,
    latency=positive,
    bandwidth=bandwidths,
    segments=st.lists(
        st.builds(
            Segment,
            start=st.integers(0, 10**18),
            latency=st.none() | positive,
            bandwidth=st.none() | bandwidths,
        ),
        max_size=3,
    ).map(tuple),
    noise=st.builds(
        Noise,
        kind=st.sampled_from(["none", "lognormal", "ar1"]),
        spread=st.floats(0, 1),
        correlation=shares,
    ),
    spikes=st.builds(Spikes, share=shares, extra=seconds),
    modes=st.builds(
        Modes,
        factor=st.floats(1e-3, 1e3),
        share=shares,
        dwell=st.floats(1e-6, 3600),
        moves_line=st.booleans(),
    ),
    drift=st.floats(0, 10),
    first=seconds,
    warm_up=st.integers(0, 10**9),
    clock=st.builds(Ticking, step=st.floats(0, 1e-3), claimed=st.floats(0, 1e-3)),
    loss=shares,
    launch=st.floats(0, 1),
    line=positive,
    seed=st.integers(0, 10**18),
)


@given(truths)
def test_a_truth_is_read_from_its_record(truth):
    assert parse_truth(truth_record(truth)) == truth
    written = msgspec.json.decode(msgspec.json.encode(truth_record(truth)))
    assert parse_truth(written) == truth


@given(truths)
def test_a_plan_keeps_its_truth(truth):
    plan = make_plan(python_layer({"simulated": truth_record(truth)}))
    assert plan.simulated == truth
    assert plan.transport == ("simulated",)
    assert make_plan(plan_layer(plan)).simulated == truth
    assert make_plan(python_layer(plan_record(plan))).simulated == truth
