"""The usage of one end: shares, busy polling, and sums."""

import math

import pytest

from halftrip.results.usage import BusiestTask, add_usages
from harness import runs

A, B = (BusiestTask(name=name, share=0.5) for name in "ab")


def test_load_is_cpu_time_over_time():
    usage = runs.usage(0.5, 0.2, elapsed=2.0)
    assert usage.load == pytest.approx(0.25)
    assert usage.kernel_share == pytest.approx(0.4)
    asleep = runs.usage(0.0, 0.0)
    assert asleep.load == 0
    assert math.isnan(asleep.kernel_share)
    assert math.isnan(runs.usage(elapsed=0.0).load)


def test_full_load_without_system_time_is_busy_polling():
    def spins(*shares, **changes):
        return runs.usage(*shares, **({"voluntary": 0} | changes))

    assert spins(1.0, 0.0).is_busy_poll
    assert spins(0.97, 0.01).is_busy_poll
    assert not spins(1.0, 0.1).is_busy_poll
    # Ticks of 4 ms: 4 where 3.9 are expected tell nothing, 40 where 20 are tell something.
    assert spins(0.764, 0.0161, elapsed=0.7807).is_busy_poll
    assert not spins(3.84, 0.16, elapsed=4.0).is_busy_poll
    assert not spins(0.8, 0.0).is_busy_poll
    # Time without its core does not count.
    assert spins(0.5, 0.0, waited=0.49).is_busy_poll
    assert not spins(0.5, 0.0, waited=0.4).is_busy_poll
    assert spins(0.5, 0.0, waited=0.3, core={"steal": 0.2}).is_busy_poll
    assert not runs.usage(0.5, 0.0, waited=0.49, voluntary=500).is_busy_poll
    # A few voluntary switches are allowed.
    assert spins(1.0, 0.0, voluntary=3, involuntary=2).is_busy_poll
    assert not spins(1.0, 0.0, voluntary=30, involuntary=2).is_busy_poll
    # A single tick of a short row is no share.
    assert spins(0.05, 0.004, elapsed=0.05).is_busy_poll
    assert not spins(0.05, 0.008, elapsed=0.05).is_busy_poll
    assert not spins(0.0, 0.0, elapsed=0.0).is_busy_poll


def test_a_sum_has_what_all_parts_have_and_means_over_time():
    one = runs.usage(core={"hertz": 1e9, "watched": 3.0, "others": 0.5, "busiest_task": A})
    two = runs.usage(core={"hertz": 2e9, "watched": 1.0, "others": 0.9, "busiest_task": B})
    total = add_usages([one, two]).core
    assert total.hertz == pytest.approx(1.25e9)
    assert total.busiest_task == B
    assert total.watched == 4.0
    assert total.others == pytest.approx(1.4)
    known = runs.usage(waited=0.5, core={"others": 0.5, "number": 1})
    total = add_usages([known, known])
    assert (total.elapsed, total.waited) == (2 * known.elapsed, 1.0)
    assert total.load == pytest.approx(known.load)
    total = add_usages([known, runs.usage(core={"number": 1})])
    assert (total.waited, total.core.others) == (None, None)
    for core in (None, {"number": 0}):
        assert add_usages([known, runs.usage(core=core)]).core is None
