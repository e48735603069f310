"""The usage of one end: shares, busy polling, and sums."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

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


maybe = st.none() | st.floats(0, 10)
cores = st.none() | st.fixed_dictionaries(
    {"others": maybe, "steal": maybe, "hertz": maybe, "joules": maybe, "number": st.integers(0, 1)}
)
usages = st.builds(runs.usage, waited=maybe, core=cores)


@given(st.lists(usages, min_size=1, max_size=5))
def test_a_sum_has_only_figures_that_all_parts_have(parts):
    total = add_usages(parts)
    assert total.elapsed == pytest.approx(sum(usage.elapsed for usage in parts))
    assert total.load == pytest.approx(0.5)
    assert (total.waited is None) == any(usage.waited is None for usage in parts)
    numbers = {None if usage.core is None else usage.core.number for usage in parts}
    if len(numbers) > 1 or None in numbers:
        assert total.core is None
    else:
        assert total.core.watched == pytest.approx(len(parts))
        unknown = any(usage.core.others is None for usage in parts)
        assert (total.core.others is None) == unknown


def test_a_sum_has_the_mean_frequency_over_time_and_the_busiest_task_of_the_worst_part():
    one = runs.usage(core={"hertz": 1e9, "watched": 3.0, "others": 0.5, "busiest_task": A})
    two = runs.usage(core={"hertz": 2e9, "watched": 1.0, "others": 0.9, "busiest_task": B})
    total = add_usages([one, two]).core
    assert total.hertz == pytest.approx(1.25e9)
    assert total.busiest_task == B
