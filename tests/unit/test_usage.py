"""What an end has spent, and what follows from it."""

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halftrip.analysis.summaries import cpu_per_gigabyte, usage_figures
from halftrip.results.case import Case
from halftrip.results.usage import Culprit, add_usages
from harness import runs

A, B = (Culprit(name=name, share=0.5) for name in "ab")


def test_load_is_cpu_time_over_time():
    usage = runs.usage(0.5, 0.2, elapsed=2.0)
    assert usage.load == pytest.approx(0.25)
    assert usage.kernel_share == pytest.approx(0.4)
    asleep = runs.usage(0.0, 0.0)
    assert asleep.load == 0
    assert math.isnan(asleep.kernel_share)
    assert math.isnan(runs.usage(elapsed=0.0).load)


def test_full_load_without_system_time_is_a_busy_poll():
    def spins(*shares, **changes):
        return runs.usage(*shares, **({"voluntary": 0} | changes))

    assert spins(1.0, 0.0).is_busy_poll
    assert spins(0.97, 0.01).is_busy_poll
    assert not spins(1.0, 0.1).is_busy_poll
    assert not spins(0.8, 0.0).is_busy_poll
    # It cannot run while others have its core.
    assert spins(0.5, 0.0, waited=0.49).is_busy_poll
    assert not spins(0.5, 0.0, waited=0.4).is_busy_poll
    assert spins(0.5, 0.0, waited=0.3, core={"stolen": 0.2}).is_busy_poll
    assert not runs.usage(0.5, 0.0, waited=0.49, voluntary=500).is_busy_poll
    # Now and then it waits for something all the same.
    assert spins(1.0, 0.0, voluntary=3, involuntary=2).is_busy_poll
    assert not spins(1.0, 0.0, voluntary=30, involuntary=2).is_busy_poll
    # Of a short row a single tick is no share.
    assert spins(0.05, 0.004, elapsed=0.05).is_busy_poll
    assert not spins(0.05, 0.008, elapsed=0.05).is_busy_poll
    assert not spins(0.0, 0.0, elapsed=0.0).is_busy_poll


@pytest.mark.parametrize(
    ("changes", "payload"),
    [
        ({}, 2 * 1000 * 1000),
        ({"pattern": "stream", "window": 64}, 64 * 1000 * 1000),
        ({"pattern": "bidirectional", "window": 64}, 2 * 64 * 1000 * 1000),
        ({"pattern": "exchange"}, 2 * 1000 * 1000),
    ],
)
def test_cpu_time_is_told_of_all_payload(changes, payload):
    case = Case(transport="tcp", size=1000, wait="block", **changes)
    usage = runs.usage(0.5, exchanges=1000)
    assert cpu_per_gigabyte(case, usage) == pytest.approx(0.5 / payload * 1e9)
    assert cpu_per_gigabyte(case, usage, 0.5) == pytest.approx(1.0 / payload * 1e9)
    nothing = msgspec.structs.replace(case, size=0)
    assert math.isnan(cpu_per_gigabyte(nothing, usage))


def test_figures_that_do_not_exist_are_none_and_named():
    case = Case(transport="tcp", size=0, wait="block")
    known = usage_figures(case, (runs.usage(), runs.usage(core={"hertz": 2e9})))
    assert known.keys() == usage_figures(case, None).keys()
    assert set(usage_figures(case, None).values()) == {None}
    assert known["responder_frequency_hz"] == 2e9
    assert known["initiator_frequency_hz"] is None
    assert known["initiator_cpu_s_per_gb"] is None
    assert known["initiator_load"] == pytest.approx(0.5)


maybe = st.none() | st.floats(0, 10)
cores = st.none() | st.fixed_dictionaries(
    {"others": maybe, "stolen": maybe, "hertz": maybe, "joules": maybe, "number": st.integers(0, 1)}
)
usages = st.builds(runs.usage, waited=maybe, instructions=st.none() | st.integers(0, 9), core=cores)


@given(st.lists(usages, min_size=1, max_size=5))
def test_what_is_not_known_of_all_is_not_known_of_the_sum(those):
    total = add_usages(those)
    assert total.elapsed == pytest.approx(sum(usage.elapsed for usage in those))
    assert total.load == pytest.approx(0.5)
    assert (total.waited is None) == any(usage.waited is None for usage in those)
    assert (total.instructions is None) == any(usage.instructions is None for usage in those)
    numbers = {None if usage.core is None else usage.core.number for usage in those}
    if len(numbers) > 1 or None in numbers:
        assert total.core is None
    else:
        assert total.core.watched == pytest.approx(len(those))
        unknown = any(usage.core.others is None for usage in those)
        assert (total.core.others is None) == unknown


def test_a_frequency_is_the_mean_over_time_and_the_worst_culprit_is_named():
    one = runs.usage(core={"hertz": 1e9, "watched": 3.0, "others": 0.5, "culprit": A})
    two = runs.usage(core={"hertz": 2e9, "watched": 1.0, "others": 0.9, "culprit": B})
    total = add_usages([one, two]).core
    assert total.hertz == pytest.approx(1.25e9)
    assert total.culprit == B


def test_what_cannot_be_read_is_absent_from_a_file():
    written = msgspec.json.decode(msgspec.json.encode(runs.usage(core={})))
    assert not {"waited", "instructions", "cycles", "counted"} & written.keys()
    assert written["core"] == {"number": 1, "watched": 1.0}
