"""Flags about the machine and the ranks: bounds, cores, and its state."""

import pytest

from halftrip.analysis.flags import flags_by_configuration
from halftrip.results.records import CopyTime
from harness import runs
from harness.flags import noise, pingpong, seen

# above-bound


def test_a_message_is_not_faster_than_half_a_cache_line_round_trip():
    def at(half_ns, **changes):
        return runs.measurement(half_ns=half_ns, **changes)

    found = seen(at(58.0))["above-bound"]
    assert found == "0.0580 us one way, where a cache line alone takes 0.0750 us"
    assert seen(at(62.0)) == {}
    assert seen(at(10.0, rtts=None)) == {}


def test_writing_into_memory_of_the_peer_need_not_wait_for_a_cache_line():
    def row(**changes):
        return runs.measurement(half_ns=10.0, **changes)

    assert seen(row(pattern="put", mode="onesided")) == {}
    assert seen(row(pattern="stream", window=64)) == {}
    assert "above-bound" in seen(row(pattern="stream"))


def test_bandwidth_is_not_above_that_of_memcpy():
    copies = (CopyTime(rank=0, size=65536, ns=6553.6), CopyTime(rank=0, size=4096, ns=819.2))

    def at(rate, **changes):
        return pingpong(noise(middle=1e6), 1e6, size=round(rate * 1e6), **changes)

    found = seen(at(12.6), copy_times=copies)["above-bound"]
    assert found == "12.6 GB/s, where memory is copied at 10.0 GB/s at best (64K)"
    assert seen(at(12.4), copy_times=copies) == {}
    # Between hosts nothing is copied within one memory.
    assert seen(at(12.6, rtts=None), copy_times=copies) == {}


def test_samples_of_no_time_are_not_above_a_bound():
    nothing = pingpong([0] * 400, pattern="put", mode="onesided")
    assert set(seen(nothing)) == {"coarse-clock"}


# unpinned, oversubscribed


def test_rows_are_flagged_by_how_their_own_ranks_were_placed():
    def ranks(**changes):
        known = [runs.environment(rank) for rank in range(2)]
        return {"environments": (*known, runs.environment(2, **changes))}

    inside = runs.measurement(pair=(0, 2))
    assert seen(inside, **ranks(core=None)) == {"unpinned": "rank 2 could move from core to core"}
    assert seen(inside, **ranks(oversubscribed=True)) == {
        "oversubscribed": "rank 2 shares core 2 with another rank"
    }
    both = seen(inside, **ranks(oversubscribed=True, core=None))
    assert both["oversubscribed"] == "rank 2 shares its cores with another rank"
    assert seen(runs.measurement(), **ranks(core=None, oversubscribed=True)) == {}
    assert seen(inside, environments=()) == {}


@pytest.mark.parametrize(
    ("changes", "name"),
    [({"core": None}, "unpinned"), ({"oversubscribed": True}, "oversubscribed")],
)
def test_each_placement_flag_comes_alone(changes, name):
    environments = (runs.environment(0), runs.environment(1, **changes))
    assert set(seen(runs.measurement(), environments=environments)) == {name}


# other-state


def test_a_row_of_another_state_than_requested_is_flagged():
    far = pingpong(noise(), rtts=(300.0, 302.0))
    again = [pingpong(noise(seed=n), size=64, rtts=(150.0, 152.0), slice=n) for n in range(2)]
    run = runs.run(far, *again)
    run.header.plan["ci"] = "none"
    near = again[0]
    assert flags_by_configuration(run) == {far.configuration: (), near.configuration: ()}
    run.header.plan["placement_state"] = "near"
    found = flags_by_configuration(run)
    (flag,) = found[far.configuration]
    assert flag.name == "other-state"
    assert flag.seen.startswith(
        "measured before it was known that core to core can take 150 to 152 ns"
    )
    assert found[near.configuration] == ()
    run.header.plan["placement_state"] = "far"
    found = flags_by_configuration(run)
    assert [flag.name for flag in found[near.configuration]] == ["other-state"]
    assert found[far.configuration] == ()
