"""Flags about the machine and the ranks: bounds, cores, and its state."""

import pytest

from halftrip.results.device import DeviceCopy
from halftrip.results.records import CopyTime
from harness import runs
from harness.flags import flags_of, noise, pingpong, seen

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
    # Nor what a device writes, unless it is staged.
    direct = runs.measurement("cuda-ipc", half_ns=10.0, memory="cuda@0")
    assert "above-bound" not in seen(direct, devices=TWO)
    assert "a cache line alone takes" in seen(row(memory="cuda@0", staging=0))["above-bound"]


def test_bandwidth_is_not_above_that_of_memcpy():
    copies = (CopyTime(rank=0, size=65536, ns=6553.6), CopyTime(rank=0, size=4096, ns=819.2))

    def at(rate, **changes):
        return pingpong(noise(middle=1e6), 1e6, size=round(rate * 1e6), **changes)

    found = seen(at(12.6), copy_times=copies)["above-bound"]
    assert found == "12.6 GB/s, where rank 0 copies memory at 10.0 GB/s at best (64K)"
    assert seen(at(12.4), copy_times=copies) == {}
    # The best of both ends, and of all launches, of which others may have slowed some.
    other = CopyTime(rank=1, size=65536, ns=5000.0)
    assert seen(at(12.6), copy_times=(*copies, other, copies[0])) == {}
    # Between hosts nothing is copied within one memory.
    assert seen(at(12.6, rtts=None), copy_times=copies) == {}


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


# other-state


def test_a_row_of_another_state_than_requested_is_flagged():
    far = pingpong(noise(), rtts=(300.0, 302.0))
    again = [pingpong(noise(seed=n), size=64, rtts=(150.0, 152.0), slice=n) for n in range(2)]
    run = runs.run(far, *again)
    run.header.plan["ci"] = "none"
    near = again[0]
    assert flags_of(run) == {far.configuration: (), near.configuration: ()}
    run.header.plan["placement_state"] = "near"
    found = flags_of(run)
    (flag,) = found[far.configuration]
    assert flag.name == "other-state"
    assert flag.seen.startswith(
        "measured before it was known that core to core can take 150 to 152 ns"
    )
    assert found[near.configuration] == ()
    run.header.plan["placement_state"] = "far"
    found = flags_of(run)
    assert [flag.name for flag in found[near.configuration]] == ["other-state"]
    assert found[far.configuration] == ()


# above-bound, in the memory of devices


def copy(gb_per_s, direction="device to device", **changes):
    """A copy of 32 MiB of cuda@0, at so many GB/s."""
    size = 32 << 20
    values = {"rank": 0, "memory": "cuda@0", "direction": direction, "host": "", "size": size}
    return DeviceCopy(**(values | {"ns": size / gb_per_s} | changes))


def over_link(gb_per_s, direction="host to device", host="pinned", **changes):
    return copy(gb_per_s, direction, host=host, **changes)


# Two devices, as both ranks see them; memcpy is slower than all of their copies.
TWO = tuple(
    runs.device(rank=rank, memory=f"cuda@{index}", index=index, uuid=f"GPU-{index}")
    for rank in range(2)
    for index in range(2)
)
SLOW_MEMCPY = (CopyTime(rank=0, size=65536, ns=65536.0),)


def on_device(rate, copies, transport="cuda-ipc", memory="cuda@0", devices=TWO, **changes):
    """What the flag says of a ping-pong of 1 MB at so many GB/s."""
    changes = {"memory": memory, "transport": transport, **changes}
    row = pingpong(noise(middle=1e6 / rate), 1e6 / rate, size=1_000_000, **changes)
    found = seen(row, copy_times=SLOW_MEMCPY, devices=devices, device_copies=tuple(copies))
    return found.get("above-bound")


def test_within_a_device_its_own_copies_are_the_bound():
    others = [
        copy(90.0, peer="cuda@1"), copy(90.0, memory="cuda@1"), over_link(90.0),
        copy(90.0, both_ways=True), copy(5.0, size=1 << 20, ns=(1 << 20) / 5.0),
    ]  # fmt: skip
    copies = [copy(10.0), *others]
    found = on_device(12.6, copies)
    assert found == "12.6 GB/s, where cuda@0 copies device to device at 10.0 GB/s at best (32M)"
    assert on_device(12.4, copies) is None
    assert on_device(12.6, others[:-1]) is None
    # Short copies do not bound a window of messages.
    assert on_device(12.6, others[-1:]) is not None
    assert on_device(12.6, others[-1:], pattern="stream", window=64) is None


@pytest.mark.parametrize("memory", ["cuda@0:cuda@1", "cuda@1:cuda@0"])
def test_between_devices_it_is_the_copies_between_these(memory):
    copies = [copy(10.0, peer="cuda@1"), copy(90.0), copy(90.0, memory="cuda@1")]
    found = on_device(12.6, copies, memory=memory)
    assert found == "12.6 GB/s, where cuda@0 copies to cuda@1 at 10.0 GB/s at best (32M)"
    assert on_device(12.4, copies, memory=memory) is None


@pytest.mark.parametrize("staging", [0, 512 << 10])
def test_staged_messages_are_bound_by_the_slower_link(staging):
    copies = [
        over_link(10.0), over_link(8.0, "device to host"), over_link(90.0, host="pageable"),
        over_link(20.0, memory="cuda@1"), copy(90.0),
    ]  # fmt: skip

    def row(rate, memory):
        return on_device(rate, copies, "shm", memory, staging=staging)

    found = row(12.6, "cuda@0:cuda@1")
    assert found == "12.6 GB/s, where cuda@0 copies host to device at 10.0 GB/s at best (32M)"
    assert row(12.4, "cuda@0:cuda@1") is None
    assert row(12.6, "cuda@0:host") == found
    assert row(24.0, "cuda@1") is None
    assert "cuda@1 copies" in row(26.0, "cuda@1")
    # As does a library that takes pointers of devices.
    assert on_device(12.6, copies, "mpi", "cuda@0:host") == found
    assert on_device(12.4, copies, "mpi", "cuda@0:host") is None


@pytest.mark.parametrize("memory", ["cuda", "cuda@0", "cuda@GPU-0", "cuda@0000:3b:00.0"])
def test_a_device_is_known_by_all_of_its_names(memory):
    devices = tuple(runs.device(rank=rank, uuid="GPU-0") for rank in range(2))
    assert "at 10.0 GB/s" in on_device(12.6, [copy(10.0)], memory=memory, devices=devices)
    others = tuple(
        runs.device(rank=rank, uuid="GPU-1", index=1, pci="0000:5e:00.0", memory="cuda@1")
        for rank in range(2)
    )
    assert on_device(12.6, [copy(10.0)], memory=memory, devices=others) is None


def test_no_bound_is_known_without_such_copies_or_of_other_memory():
    assert on_device(12.6, []) is None
    assert on_device(12.6, [copy(10.0)], devices=()) is None
    for memory in ("managed", "managed:cuda@0", "of-a-plug-in", "of-a-plug-in:cuda@0"):
        assert on_device(90.0, [copy(10.0), over_link(10.0)], "mpi", memory) is None
    assert "rank 0 copies memory at 1.00 GB/s" in on_device(
        12.6, [copy(90.0)], "shm", "pinned:host"
    )
