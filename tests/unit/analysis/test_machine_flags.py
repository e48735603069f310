"""Flags about the machine and the ranks: bounds, cores, its state, and what disturbs."""

import numpy as np
import pytest

from halftrip.results.device import DeviceCopy
from halftrip.results.records import CopyTime, Notice
from halftrip.results.usage import BusiestTask
from harness import runs
from harness.flags import flags_of, noise, pingpong, seen

# above-bound


def test_a_message_waits_for_half_a_cache_line_round_trip_unless_the_peer_s_memory_is_written():
    def at(half_ns, **changes):
        return runs.measurement(half_ns=half_ns, **changes)

    found = seen(at(58.0))["above-bound"]
    assert found == "0.0580 us one way, where a cache line alone takes 0.0750 us"
    assert seen(at(62.0)) == {}
    assert seen(at(10.0, rtts=None)) == {}

    # Writing into memory of the peer need not wait for one.
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


def test_slices_both_ends_and_hosts_are_told_apart():
    taken = spinning(0.48, others=0.5, busiest_task=BUSY_TASK)
    both = made(spinning(0.2, others=0.2), taken), made(taken, QUIET, slice=1)
    found = disturbed(*both)
    assert found.startswith("other programs had 34 % of core 1 (just after, stress (process 1234) ")
    found = disturbed(made(spinning(0.2, others=0.2), taken))
    assert found.startswith("other programs had 20 % of core 1 and 48 % of core 1 (just after, ")
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


# mpi-warned


@pytest.mark.parametrize(
    ("transport", "kind", "launch", "lines", "warned"),
    [
        ("mpi", "printed", 0, ["a", "There is not enough space"], True),
        ("mpi4py", "printed", 0, ["WARNING: one"], True),
        ("shm", "printed", 0, ["WARNING: one"], False),
        ("mpi", "printed", 1, ["WARNING: one"], False),
        ("mpi", "printed", 0, ["Welcome"], False),
        ("mpi", "shortfall", 0, ["WARNING: one"], False),
    ],
)
def test_what_an_mpi_warned_of_is_a_flag_of_its_rows(transport, kind, launch, lines, warned):
    text = "mpiexec or its ranks printed: a."
    notice = Notice(rank=0, host="h", text=text, kind=kind, launch=launch, lines=lines)
    found = seen(pingpong(noise(), transport=transport), notices=(notice,))
    assert found == ({"mpi-warned": "the MPI itself warned: a"} if warned else {})


# slower-than-shm


@pytest.mark.parametrize(
    ("mpi", "shm", "changes", "is_slower"),
    [
        (5300, 50, {}, True),
        # As of a healthy one, at 8 B and at 64 KiB.
        (600, 50, {}, False),
        (5700, 1000, {}, False),
        # Between eight and that and 2 us.
        (9500, 1000, {}, False),
        (13000, 1000, {}, True),
        (5300, 50, {"size": 16}, False),
        (5300, 50, {"transport": "mpi4py"}, False),
        (5300, 50, {"rtts": (300.0, 302.0)}, False),
    ],
)
def test_an_mpi_that_does_not_go_through_shared_memory_is_noticed(mpi, shm, changes, is_slower):
    upper = [
        pingpong(noise(seed=k, middle=mpi), mpi, slice=k, **({"transport": "mpi"} | changes))
        for k in range(6)
    ]
    lower = [pingpong(noise(seed=k, middle=shm), shm, slice=k, rtts=None) for k in range(6)]
    if "rtts" in changes:
        lower = [pingpong(noise(seed=k, middle=shm), shm, slice=k) for k in range(6)]
    assert ("slower-than-shm" in seen(*upper, *lower)) == is_slower
