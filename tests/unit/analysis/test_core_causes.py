"""What kept an end from running: for each cause, evidence that has it, and some that is close to it
and has not."""

import msgspec
import pytest

from halftrip.results.usage import BusiestTask
from harness import runs
from harness.flags import flags_of, noise, pingpong, seen, verdict_of

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
