"""The verdict on a row, and its cause: just within each limit, just beyond it, and which cause
comes first; of what kept an end from running, evidence that has it, and some close to it."""

import msgspec
import numpy as np
import pytest

from halftrip.results.records import WarmUp
from halftrip.results.usage import BusiestTask
from harness import runs
from harness.flags import dealt, flags_of, noise, pingpong, seen, verdict_of


def spread(width, k=10):
    """Slices whose interval, within the second and the ninth median, has this wider side."""
    levels = [0, -1, 1, -1, 0, 0, 1, -1, 1, 0][:k]
    return dealt(lambda n: noise(seed=n) * (1 + width * levels[n]))


@pytest.mark.parametrize(
    ("width", "word"),
    [(0.005, "ok"), (0.015, "ok"), (0.03, "caution"), (0.09, "caution"), (0.12, "no")],
)
def test_the_width_of_the_interval_decides(width, word):
    found = verdict_of(*spread(width))
    assert found.word == word
    assert found.width == pytest.approx(width, abs=0.004)
    assert (found.cause is None) == (word == "ok")


def test_without_an_interval_a_row_is_no_result():
    found = verdict_of(pingpong(noise()))
    assert found.word == "no"
    assert found.cause.name == "few slices"
    assert found.cause.seen == "it has 1 slice only"
    assert found.cause.advice == "allow more time with --time or --slices"
    limited = runs.planned(**runs.run().header.plan | {"max_duration": 10.0})
    found = verdict_of(pingpong(noise()), header=limited)
    assert found.cause.advice == "allow more time with --max-duration"


def test_levels_that_wander_are_told_from_two_in_most_slices():
    found = verdict_of(*dealt(lambda n: noise(seed=n) * (1 + 0.01 * n)))
    assert found.cause.name == "level wandered"
    assert found.cause.seen == "from 10.2 us to 10.7 us"

    def both(n):
        switched = np.repeat([0, 1, 0, 1], 100)
        return noise(seed=n) * (1 + 0.4 * np.roll(switched, 30 * n))

    found = verdict_of(*dealt(both))
    assert found.cause.name == "two levels"
    assert "50 % of the samples took" in found.cause.seen
    assert found.cause.seen.endswith("times")
    # Each in slices of its own is a level that wanders.
    apart = verdict_of(*dealt(lambda n: noise(seed=n) * (1 + 0.4 * (n % 2))))
    assert apart.cause.name == "level wandered"


def test_a_level_that_goes_with_the_cores_says_so():
    def slices(line):
        return [
            pingpong(noise(seed=n) * (1 + 0.02 * n), slice=n, rtts=(line(n), line(n)))
            for n in range(10)
        ]

    virtual = {"environments": runs.VIRTUAL}
    moved = verdict_of(*slices(lambda n: 100.0 + 10 * n), **virtual)
    assert moved.cause.name == "cores moved"
    assert moved.cause.seen.endswith(": the core-to-core round trip took 100 to 190 ns")
    # The other way round it explains nothing, and real cores do not move.
    falling = verdict_of(*slices(lambda n: 190.0 - 10 * n), **virtual)
    assert falling.cause.name == "level wandered"
    fixed = verdict_of(*slices(lambda n: 100.0 + 10 * n))
    assert fixed.cause.name == "level wandered"
    assert fixed.cause.seen.endswith(": the core-to-core round trip took 100 to 190 ns")


@pytest.mark.parametrize(
    ("core", "rank", "name"),
    [
        ({"others": 0.5}, {}, "CPU contention"),
        ({"steal": 0.3}, {}, "steal"),
        ({}, {"oversubscribed": True}, "oversubscribed"),
        ({}, {"core": None}, "unpinned"),
    ],
)
def test_what_ranks_had_of_their_cores_comes_first_however_wide_the_interval(core, rank, name):
    usage = (runs.usage(), runs.usage(core=core))
    ranks = (runs.environment(0), runs.environment(1, **rank))
    for rise, word in ((0.0, "caution"), (0.05, "no")):
        slices = dealt(lambda n, rise=rise: noise(seed=n) * (1 + rise * n), usage=usage)
        found = verdict_of(*slices, environments=ranks)
        assert (found.word, found.cause.name) == (word, name)


def test_too_little_time_or_samples_are_told_from_noise():
    slices = dealt(lambda n: noise(seed=n) * (1 + 0.01 * n), warm_up=WarmUp(9, 10_000, False))
    assert verdict_of(*slices).cause.name == "warming up"
    # Where the interval is narrow it did no harm.
    calm = dealt(lambda n: noise(seed=n), warm_up=WarmUp(9, 10_000, False))
    assert verdict_of(*calm).word == "ok"
    few = dealt(lambda n: np.random.default_rng(n).lognormal(9.2, 0.15, 5))
    assert verdict_of(*few).cause.name == "few samples"
    noisy = dealt(lambda n: np.random.default_rng(n).lognormal(9.2, 0.8, 400))
    assert verdict_of(*noisy).cause.name in ("noise", "level wandered")


def test_what_is_faster_than_a_cache_line_is_impossible():
    """Whatever else was seen."""
    for usage in (None, (runs.usage(core={"others": 0.5}), runs.usage(core={}))):
        found = verdict_of(*dealt(lambda n: noise(seed=n), rtts=(90_000.0,) * 2, usage=usage))
        assert (found.word, found.cause.name) == ("no", "impossible")


SLICES = 8


def task(share, owner=None, name="any (process 7)"):
    return BusiestTask(name=name, share=share, owner=owner)


def spins(waited=0.0, **core):
    """An end that never sleeps, and waits for its core for so much of a second; None: not known."""
    load = 1.0 - (waited or 0.0)
    return runs.usage(load, 0.0, voluntary=0, involuntary=9, waited=waited, core=core)


def sleeps(waited=0.3, **core):
    return runs.usage(0.3, 0.1, voluntary=20_000, waited=waited, core=core)


def cause_of(*ends, transport="shm", environments=None):
    """The cause of a row with a narrow interval, and what was seen, of which these are the ends."""
    calm = runs.usage(core={"number": 0})
    both = (calm, *ends) if len(ends) == 1 else ends
    row = [pingpong(noise(seed=n), slice=n, usage=both, transport=transport) for n in range(SLICES)]
    ranks = environments or (runs.environment(0), runs.environment(1))
    found = verdict_of(*row, environments=ranks)
    return (None, "") if found.cause is None else (found.cause.name, found.cause.seen)


@pytest.mark.parametrize(
    ("end", "name", "says"),
    [
        # The kernel's own cost of a switch, and interrupts of no more than chance, are no cause.
        (sleeps(unaccounted=0.6, others=0.02, interrupts=0.05), None, ""),
        # Nobody knows who had the core.
        (sleeps(unaccounted=0.6), None, ""),
        (sleeps(others=0.11), "CPU contention", "other programs had 11 % of core 1"),
        (sleeps(others=0.09), None, ""),
        # Less than three steps of 10 ms mean nothing.
        (
            sleeps(others=0.0039, watched=0.0125),
            "CPU contention",
            "other programs had 31 % of core 1",
        ),
        (sleeps(others=0.0036, watched=0.0125), None, ""),
        # An end that spins is judged likewise where its waits are not known.
        (spins(None, others=0.3), "CPU contention", "other programs had 30 % of core 1"),
        (
            sleeps(others=0.4, busiest_task=task(0.3)),
            "CPU contention",
            "other programs had 40 % of core 1 (just after, any (process 7) had 30 %)",
        ),
        # Not those that belong to the run.
        (
            sleeps(others=0.4, busiest_task=task(0.3, "run", "mpiexec (process 5)")),
            "own tasks",
            "this run's own mpiexec (process 5) had 40 % of core 1",
        ),
        (
            spins(0.4, others=0.4, busiest_task=task(0.3, "rank", "python (process 9)")),
            "own tasks",
            "another thread of rank 1 python (process 9) had 40 % of core 1",
        ),
        (sleeps(others=0.08, busiest_task=task(0.3, "run")), None, ""),
        # A quota: of two cores of its group, so that it counts more than this end has waited.
        (
            spins(0.48, others=0.0, throttled=0.9),
            "CPU quota",
            "rank 1 was throttled for 48 % of the time",
        ),
        # Whoever ran meanwhile had a core that it could not have.
        (spins(0.9, others=0.9, throttled=1.6), "CPU quota", "rank 1 was throttled for 90 % of"),
        (sleeps(0.5, others=0.0, throttled=0.4), "CPU quota", "rank 1 was throttled for 40 % of"),
        # Others of its group were throttled.
        (spins(0.01, others=0.0, throttled=0.9), None, ""),
        (spins(0.05, others=0.05, throttled=0.05), None, ""),
        # It was somebody else, and there is a quota that was not used up.
        (spins(0.5, others=0.5, throttled=0.0), "CPU contention", "other programs had 50 % of"),
        # One that spins is judged by its waits.
        (spins(0.11, others=0.2), "CPU contention", "other programs had 11 % of core 1"),
        (spins(0.09, others=0.9), None, ""),
        # What nothing explains is not said to be others.
        (
            spins(0.5),
            "waited for a core",
            "rank 1 was ready to run, and did not get core 1, for 50 % of the time",
        ),
        (
            spins(0.5, others=0.01),
            "waited for a core",
            "rank 1 was ready to run, and did not get core 1, for 49 % of the time",
        ),
        (
            spins(0.5, others=0.15),
            "waited for a core",
            "rank 1 was ready to run, and did not get core 1, for 35 % of the time; other programs",
        ),
        # Nothing may be known of the core.
        (
            msgspec.structs.replace(spins(0.3), core=None),
            "waited for a core",
            "rank 1 was ready to run, and did not get the core of rank 1, for 30 % of the time",
        ),
        (spins(0.08), None, ""),
        (sleeps(0.8, others=0.0), None, ""),
        (sleeps(interrupts=0.36), "interrupts", "interrupts had 36 % of core 1"),
        (
            sleeps(others=0.3, busiest_task=task(0.3, "kernel", "ksoftirqd/1")),
            "interrupts",
            "interrupts had 30 % of core 1",
        ),
        (sleeps(interrupts=0.09), None, ""),
        # In a tenth of a second ticks and steps tell nothing.
        (sleeps(interrupts=0.002, watched=0.0125), None, ""),
        (sleeps(interrupts=0.01, watched=0.0125), "interrupts", "interrupts had 80 % of core 1"),
        (
            spins(sibling=0.6),
            "SMT siblings",
            "another processor of the physical core of core 1 was busy for 60 % of the time",
        ),
        (spins(sibling=0.2), None, ""),
        (spins(sibling=0.003, watched=0.01), None, ""),
    ],
)
def test_a_cause_is_named_only_where_it_was_seen(end, name, says):
    found, said = cause_of(end)
    assert found == name
    assert said.startswith(says)


def test_interrupts_of_the_row_s_own_packets_are_no_cause():
    end = sleeps(interrupts=0.36)
    for transport in ("tcp", "udp", "zmq"):
        assert cause_of(end, transport=transport)[0] is None
    for transport in ("shm", "pipe", "mpi4py"):
        assert cause_of(end, transport=transport)[0] == "interrupts"
    hosts = (runs.environment(0, host="n1"), runs.environment(1, host="n2"))
    assert cause_of(end, transport="mpi", environments=hosts)[0] is None


@pytest.mark.parametrize(
    ("first", "second", "name"),
    [
        ([0, 1], [0, 1], "SMT siblings"),
        ([0, 2], [1, 3], None),
        ([0], [1], None),
        (None, None, None),
    ],
)
def test_ranks_on_one_physical_core(first, second, name):
    ranks = (runs.environment(0, siblings=first), runs.environment(1, siblings=second))
    found = cause_of(runs.usage(), runs.usage(), environments=ranks)
    said = "cores 0 and 1 of its ranks are one physical core" if name else ""
    assert found == (name, said)
    # Each of a host of its own has another core of that number.
    apart = (ranks[0], runs.environment(1, host="n2", siblings=second))
    assert cause_of(runs.usage(), runs.usage(), environments=apart)[0] is None
    # But not where these are containers of one machine.
    inside = [msgspec.structs.replace(each, machine="m") for each in apart]
    assert cause_of(runs.usage(), runs.usage(), environments=inside) == (name, said)


def test_a_flag_says_what_has_a_share_and_what_has_none():
    ranks = tuple(runs.environment(rank, siblings=[0, 1]) for rank in (0, 1))
    busy = runs.usage(core={"others": 0.4})
    measured = runs.measurement(usage=(busy, runs.usage(core={})))
    said = seen(measured, environments=ranks)["disturbed"]
    assert "other programs had 40 % of core 1" in said
    assert "are one physical core" in said


def test_segments_that_were_sent_again_are_told_with_spikes():
    spiky = noise(1000)
    spiky[::200] += 300_000

    def disturbed(*retransmits):
        ends = [runs.usage(core={"retransmits": count}) for count in retransmits]
        row = pingpong(spiky, usage=tuple(ends), transport="tcp")
        (flags,) = flags_of(runs.run(row)).values()
        (found,) = [flag for flag in flags if flag.name == "disturbed"]
        return found

    assert ", and TCP sent 40 segments again;" in disturbed(3, 40).seen
    assert disturbed(3, 40).advice.startswith("look for losses on the way")
    for none in ((0, 0), (None, None)):
        assert "TCP" not in disturbed(*none).seen
