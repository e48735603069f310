"""How fast each rank, and each device, copies: measured beside the messages of a launch."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from halftrip.measure.bounds import copy_sizes, copy_time
from halftrip.measure.device_bounds import measure_devices
from halftrip.results.configuration import Configuration
from halftrip.results.device import DeviceCopy, DeviceLatency
from halftrip.results.records import CopyTime

if TYPE_CHECKING:
    from halftrip.measure.setup import Setup

# A copy by the kernel is hardly faster in any larger one.
_LARGEST_OF_KERNEL = 4 << 20
# Below it libraries copy twice; a slice has so many samples of a copy, some 0.5 ms each.
LEAST_COPIED, _BESIDE_SAMPLES = 64 << 10, 5


def copy_beside(setup: Setup, configuration: Configuration, same_host: bool) -> float | None:
    """The time of one copy of a message by the kernel, ns, which bounds one that goes so: what
    holds at the moment. None where a message of the configuration cannot, or a small one is not
    copied so, or where its memory is not as that which is copied here: on another node, or in huge
    pages; and where others talk meanwhile, who would be disturbed."""
    is_bounded = (
        setup.transport(configuration).capabilities.copied_once
        and same_host
        and setup.plan.threads * configuration.concurrency == 1
        and LEAST_COPIED <= configuration.size <= _LARGEST_OF_KERNEL
        and all((end.memory, end.pages) == ("host", "4K") for end in configuration.ends)
    )
    if not is_bounded:
        return None
    try:
        return copy_time(configuration.size, setup.clock, by_kernel=True, samples=_BESIDE_SAMPLES)
    except OSError:
        # A container may not allow it.
        return None


def measure_copies(
    setup: Setup,
    launch: int,
    record: Callable[[CopyTime | DeviceCopy | DeviceLatency], None],
    note: Callable[[int, Sequence[str]], None],
) -> None:
    """Measures how fast a rank copies, while the others rest, and then how fast the devices do
    whose memory is in the plan. All ranks call this; rank 0 records what each has found, and notes
    why there is no more of some."""
    group = setup.group
    # A device is at its fastest with all messages of a window at once.
    real = [setting for setting in setup.plans.settings if not setting.is_simulated]
    under_way = max(each.bytes_in_flight for each in real)
    # Cores differ, and what else runs beside them: another rank in every other launch.
    turn = launch % min(2, group.size)
    if turn in setup.absent:
        turn = 0
    sizes = copy_sizes(max(each.size for each in real)) if group.rank == turn else []
    copies = [CopyTime(rank=turn, size=size, ns=copy_time(size, setup.clock)) for size in sizes]
    if any(each.capabilities.copied_once for each in setup.transports.values()):
        # A container may not allow it.
        with contextlib.suppress(OSError):
            copies += [
                CopyTime(rank=turn, size=s, ns=copy_time(s, setup.clock, True), by_kernel=True)
                for s in sizes
                if s <= _LARGEST_OF_KERNEL
            ]
    for found_by_rank in group.gather(copies, list[CopyTime]) or []:
        for copy_of_host in found_by_rank:
            record(copy_of_host)
    group.barrier()
    devices = [each for each in setup.devices if each.rank not in setup.absent]
    found = measure_devices(group, devices, setup.hosts, under_way, setup.clock)
    for rank, measured in enumerate(found):
        for copy in measured.copies:
            record(copy)
        for latency in measured.latencies:
            record(latency)
        note(rank, measured.reasons)
