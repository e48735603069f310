"""The flag disturbed: spikes, other tasks on the cores, and the hypervisor."""

import numpy as np

from halftrip.results.usage import BusiestTask
from harness import runs
from harness.flags import noise, pingpong, seen

QUIET = runs.usage()
BUSY_TASK = BusiestTask(name="stress (process 1234)", share=0.97)
NOISE = np.random.default_rng(1).normal(20_000, 100, 400).round().astype(int)


def made(*ends, samples=NOISE, **changes):
    """A row of single round trips of 20 us and the usage of both ends."""
    values = {"iterations": 1, "samples": samples, "first": 20_000}
    return runs.measurement(half_ns=10_000.0, usage=ends or None, **(values | changes))


def disturbed(*measurements, **changes):
    """What the flag says before its account of both ends, or None."""
    found = seen(*measurements, **changes).get("disturbed")
    return found and found.split("; initiator: ")[0]


def spinning(waited, **core):
    """An end that never sleeps, and waits for its core for so many seconds of one."""
    return runs.usage(1.0 - waited, 0.0, voluntary=0, involuntary=9, waited=waited, core=core)


# Spikes.


def spiky(share, n=1000, spikes=5, height=10.5):
    """`spikes` samples of `height` medians or more, which take about this share of the time."""
    times = noise(n)
    total = share * n * 10_000 / (1 - share)
    extra = total / spikes
    assert extra > (height - 1) * 10_000
    times[np.linspace(3, n - 3, spikes).astype(int)] += extra
    return times


def test_spikes_that_take_more_than_ten_percent_of_the_time():
    found = seen(pingpong(spiky(0.11)))["disturbed"]
    assert found == "5 samples of more than 10 medians took 11 % of the time"
    assert seen(pingpong(spiky(0.09))) == {}
    below = noise()
    below[::5] *= 9
    assert "disturbed" not in seen(pingpong(below))


def test_preemptions_and_waits_of_both_ends_are_told_with_the_spikes():
    def ends(waited=0.02):
        return runs.usage(), runs.usage(waited=waited)

    def one_spike(*preemptions):
        counts = [600, 400] if len(preemptions) == 2 else None
        row = pingpong(
            spiky(0.2, spikes=1), usage=ends(), counts=counts, preemptions=list(preemptions)
        )
        return seen(row)["disturbed"]

    assert one_spike((1, 0), (0, 3)) == (
        "1 sample of more than 10 medians took 20 % of the time; initiator: core lost 1 time; "
        "responder: core lost 3 times, waited 2.0 % of the time; 2 suspect samples"
    )
    assert "responder: core lost 1,234 times, waited" in one_spike((0, 1234))
    several = [pingpong(spiky(0.2), slice=n, usage=ends(), preemptions=[(n, 2)]) for n in (0, 1)]
    assert seen(*several)["disturbed"].endswith(
        "initiator: core lost 1 time; responder: core lost 4 times, waited 2.0 % of the time; "
        "5 suspect samples"
    )


# Other tasks.


def test_slices_and_both_ends_count():
    taken = spinning(0.48, others=0.5, busiest_task=BUSY_TASK)
    both = made(spinning(0.2, others=0.2), taken), made(taken, QUIET, slice=1)
    found = disturbed(*both)
    assert found.startswith("other programs had 34 % of core 1 (just after, stress (process 1234) ")
    found = disturbed(made(spinning(0.2, others=0.2), taken))
    assert found.startswith("other programs had 20 % of core 1 and 48 % of core 1 (just after, ")


def test_cores_of_several_hosts_are_told_apart():
    two = (runs.environment(0, host="n1"), runs.environment(1, host="n2"))
    taken = spinning(0.2, others=0.2)
    assert disturbed(made(taken, taken), environments=two) == (
        "other programs had 20 % of core 1 of n1 and 20 % of core 1 of n2"
    )
    stolen = runs.usage(core={"steal": 0.4})
    assert disturbed(made(stolen, QUIET), environments=two) == (
        "the hypervisor did not run core 1 of n1 for 40 % of the time"
    )


def test_a_shared_core_of_one_rank_hides_nothing_on_the_core_of_the_other():
    environments = (runs.environment(0, oversubscribed=True), runs.environment(1))
    assert not disturbed(made(spinning(0.5), QUIET), environments=environments)
    assert disturbed(made(QUIET, spinning(0.5)), environments=environments)
    stolen = runs.usage(core={"steal": 0.4})
    assert disturbed(made(stolen, QUIET), environments=environments)


# The hypervisor.


def test_stolen_time_is_told_by_core():
    def stolen(seconds, watched=1.0):
        return runs.usage(core={"steal": seconds, "watched": watched, "number": 3})

    one = "the hypervisor did not run core 3 for 20 % of the time"
    assert disturbed(made(stolen(0.2), QUIET)) == one
    both = "the hypervisor did not run core 3 for 20 % and core 3 for 60 % of the time"
    assert disturbed(made(stolen(0.2), stolen(0.6))) == both
    assert not disturbed(made(stolen(0.09), QUIET))
    assert not disturbed(made(stolen(0.02, watched=0.1), QUIET))
