"""What a row says of others that had its cores."""

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halftrip.analysis.flags import verdicts
from halftrip.analysis.summaries import count_marked, marked
from halftrip.results.usage import Culprit
from harness import runs

QUIET = runs.usage()
CULPRIT = Culprit(name="stress (process 1234)", share=0.97)
NOISE = np.random.default_rng(1).normal(20_000, 100, 400).round().astype(int)


def made(*ends, samples=NOISE, **changes):
    values = {"exchanges": 1, "samples": [int(time) for time in samples], "first": 20_000}
    return runs.measurement(half_ns=10_000.0, usage=ends or None, **(values | changes))


def disturbed(*measurements, **changes):
    """What the flag says, but for what it says of all."""
    run = runs.run(*measurements, **changes)
    flags = verdicts(run)[measurements[0].case]
    return {flag.seen.split("; initiator: ")[0] for flag in flags if flag.name == "disturbed"}


def spinning(waited, **core):
    """An end that never sleeps, and waits for its core so many seconds of one."""
    return runs.usage(1.0 - waited, 0.0, voluntary=0, involuntary=9, waited=waited, core=core)


def test_a_culprit_is_named_with_its_share():
    taken = spinning(0.48, others=0.5, culprit=CULPRIT)
    run = runs.run(made(QUIET, taken))
    (flag,) = verdicts(run)[run.measurements[0].case]
    assert flag.seen == (
        "others had core 1 (rank 1) for 48 % of the time; just after, stress (process 1234) had "
        "97 %; initiator: core lost 0 times; responder: core lost 9 times, waited 48 % of the "
        "time; 0 samples marked"
    )
    # Each end and each repetition counts.
    both = made(spinning(0.2, others=0.2), taken), made(taken, QUIET, repetition=1)
    (seen,) = disturbed(*both)
    assert seen.startswith("others had core 1 (rank 0) for 34 % of the time; just after, stress ")
    ends = made(spinning(0.2, others=0.2), taken)
    (seen,) = disturbed(ends)
    assert seen.startswith("others had core 1 (rank 0) for 20 % of the time; others had core 1 ")


def test_an_end_that_spins_is_judged_by_what_it_waited_for_its_core():
    assert disturbed(made(QUIET, spinning(0.11, others=0.2)))
    assert not disturbed(made(QUIET, spinning(0.09, others=0.9)))
    # Also where nothing is known of the core.
    unpinned = msgspec.structs.replace(spinning(0.3), core=None)
    seen = "others had the core of rank 0 for 30 % of the time"
    assert disturbed(made(unpinned, QUIET)) == {seen}


def test_an_end_whose_core_was_idle_meanwhile_had_no_rival():
    """It is kept from running by a limit, as a container's."""
    assert not disturbed(made(QUIET, spinning(0.5, others=0.01)))
    assert disturbed(made(QUIET, spinning(0.5, others=0.15))) == {
        "others had core 1 (rank 1) for 16 % of the time"
    }


def test_an_end_that_sleeps_is_judged_by_what_its_core_did():
    """It waits whenever it is woken up, whether others ran or not."""

    def asleep(others, watched=1.0, waited=0.5):
        return runs.usage(waited=waited, core={"others": others, "watched": watched})

    assert disturbed(made(QUIET, asleep(0.3)))
    assert not disturbed(made(QUIET, asleep(0.2)))
    # Three steps of the kernel's ticks may be nothing.
    assert disturbed(made(QUIET, asleep(0.031, watched=0.1)))
    assert not disturbed(made(QUIET, asleep(0.029, watched=0.1)))
    # As one that spins, where a kernel does not tell for how long it waited.
    silent = spinning(0.5, others=0.3)
    assert disturbed(made(QUIET, msgspec.structs.replace(silent, waited=None)))


def test_ranks_that_share_a_core_disturb_each_other_and_are_said_to():
    environments = (runs.environment(0), runs.environment(1, oversubscribed=True))
    assert not disturbed(made(QUIET, spinning(0.5)), environments=environments)


def test_a_rank_that_shares_its_core_hides_nobody_else():
    environments = (runs.environment(0, oversubscribed=True), runs.environment(1))
    assert disturbed(made(QUIET, spinning(0.5)), environments=environments)
    stolen = runs.usage(core={"stolen": 0.4})
    assert disturbed(made(stolen, QUIET), environments=environments)


def test_what_the_hypervisor_took_is_told():
    def stolen(seconds, watched=1.0):
        return runs.usage(core={"stolen": seconds, "watched": watched, "number": 3})

    said = {"the hypervisor had core 3 (rank 0) for 20 % of the time"}
    assert disturbed(made(stolen(0.2), QUIET)) == said
    assert disturbed(made(stolen(0.2), stolen(0.6))) == {
        "the hypervisor had core 3 (rank 0) for 20 % and core 3 (rank 1) for 60 % of the time"
    }
    assert not disturbed(made(stolen(0.09), QUIET))
    assert not disturbed(made(stolen(0.02, watched=0.1), QUIET))


@pytest.mark.parametrize("unknown", [(), (QUIET, QUIET)])
def test_what_is_not_known_disturbs_nothing(unknown):
    assert not disturbed(made(*unknown))


def test_where_nothing_is_known_of_the_cores_no_sample_is_counted_as_marked_or_not():
    assert count_marked([runs.measurement()]) is None
    assert count_marked([made(QUIET, QUIET)]) == 0
    assert count_marked([runs.measurement(), runs.measurement(preemptions=[(0, 0)])]) == 0


def test_as_many_of_the_longest_samples_of_a_block_are_marked_as_the_core_was_lost():
    samples = [100, 900, 100, 800, 100, 100, 700, 100, 600, 100]
    measurement = made(samples=samples, blocks=[5, 5], preemptions=[(1, 0), (0, 1)])
    assert np.flatnonzero(marked(measurement)).tolist() == [1, 6]
    # What is not longer than half of all was hardly hit.
    more = msgspec.structs.replace(measurement, preemptions=[(5, 5), (0, 0)])
    assert np.flatnonzero(marked(more)).tolist() == [1, 3]


def test_of_stolen_time_as_many_samples_are_marked_as_it_explains():
    samples = [1000] * 20
    samples[3], samples[7], samples[9], samples[11] = 9_001_000, 5_001_000, 4_001_000, 1500
    core = {"stolen": 0.014}
    measurement = made(QUIET, runs.usage(core=core), samples=samples)
    assert np.flatnonzero(marked(measurement)).tolist() == [3, 7]
    # With more of it, all that stand out; what is not half as long again does not.
    lots = made(QUIET, runs.usage(core={"stolen": 1.0}), samples=samples)
    assert np.flatnonzero(marked(lots)).tolist() == [3, 7, 9]
    assert not marked(made(QUIET, QUIET, samples=samples)).any()


def test_time_that_an_end_waited_for_its_core_is_explained_once():
    samples = [1000] * 20
    samples[3], samples[7], samples[9] = 9_001_000, 5_001_000, 4_001_000
    waited = spinning(0.0145)
    measurement = made(waited, QUIET, samples=samples)
    assert np.flatnonzero(marked(measurement)).tolist() == [3, 7]
    # The longest was hit when the core was lost; what is left of the time does for one more.
    lost = msgspec.structs.replace(measurement, blocks=[20], preemptions=[(1, 0)])
    assert np.flatnonzero(marked(lost)).tolist() == [3, 7]
    both = msgspec.structs.replace(measurement, blocks=[20], preemptions=[(1, 2)])
    assert np.flatnonzero(marked(both)).tolist() == [3, 7, 9]


def test_what_an_end_waits_when_it_is_woken_up_is_no_loss_unless_others_had_its_core():
    samples = [1000] * 20
    samples[3] = 9_001_000
    woken = runs.usage(waited=0.1)
    assert not marked(made(woken, QUIET, samples=samples)).any()
    rival = runs.usage(waited=0.1, core={"others": 0.5})
    assert np.flatnonzero(marked(made(rival, QUIET, samples=samples))).tolist() == [3]


@given(
    st.lists(st.integers(1, 10**9), max_size=60),
    st.lists(st.integers(1, 30), max_size=5),
    st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), max_size=5),
    st.none() | st.floats(0, 1),
)
def test_no_more_is_marked_than_is_known(samples, blocks, lost, stolen):
    end = runs.usage(core={"stolen": stolen})
    measurement = made(end, end, samples=samples, blocks=blocks, preemptions=lost)
    marks = marked(measurement)
    assert marks.shape == (len(samples),)
    if not samples:
        return
    excess = np.asarray(samples) - np.median(samples)
    assert (excess[marks] > 0).all()
    # The longest of all may have been hit when a core was lost; stolen time explains the rest.
    hits = sum(map(sum, lost))
    rest = np.sort(excess[marks])[::-1][hits:]
    assert rest.sum() <= (stolen or 0.0) * 1e9 * (1 + 1e-9)
