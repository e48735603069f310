"""The devices of a run and their own limits, in words, below its table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from halftrip.results.device import Device, DeviceCopy, DeviceLatency
from halftrip.results.run import Run
from halftrip.stats.median import median
from halftrip.units import format_size, significant

STAND_IN = (
    "the CUDA driver of this run is a stand-in for tests: its figures say nothing of a device"
)


def stand_in(run: Run) -> list[str]:
    """That the driver is none, where it is none."""
    return [STAND_IN] if any(device.stand_in for device in run.devices) else []


def devices(run: Run) -> list[str]:
    """A line for each device, as the first rank and launch have found it, and one for each that was
    found in another state."""
    lines = stand_in(run)
    of_hosts = {each.rank: each.host for each in run.environments}
    several = len(set(of_hosts.values())) > 1
    for device in run.devices:
        host = f" on {of_hosts[device.rank]}" if several and device.rank in of_hosts else ""
        lines.append(f"{device.memory}{host}: {_described(device)}")
    return list(dict.fromkeys(lines))


def _described(device: Device) -> str:
    said = [device.name, device.pci, *_link(device)]
    if device.numa_node is not None and device.numa_node >= 0:
        said.append(f"NUMA node {device.numa_node}")
    said.append(f"driver {device.driver or '?'}, CUDA {device.cuda}")
    if device.power_limit is not None:
        said.append(f"{device.power_limit:.0f} W at most")
    if device.ecc is False:
        said.append("no ECC")
    if device.mig:
        said.append("MIG")
    if device.compute_mode != "default":
        said.append(f"compute mode {device.compute_mode}")
    return ", ".join(said)


def _link(device: Device) -> list[str]:
    """The link to the host, and the best that it may be where it is less."""
    generation, width = device.link_generation, device.link_width
    if generation is None or width is None:
        return []
    text = f"PCIe {generation} x{width}"
    best = (device.link_generation_max or generation, device.link_width_max or width)
    if best != (generation, width):
        text += f" (at most {best[0]} x{best[1]})"
    return [text]


def bounds(run: Run) -> list[str]:
    """The copies of each device, a line for each kind below that of the sizes, and what it takes to
    wait for it."""
    whose = _whose(run)
    by_device: dict[str, list[DeviceCopy]] = {}
    for copy in run.device_copies:
        by_device.setdefault(whose(copy), []).append(copy)
    lines = []
    for name, copies in by_device.items():
        sizes = sorted({copy.size for copy in copies})
        lines.append(
            f"bound: copies of {name}, GB/s, of {', '.join(format_size(size) for size in sizes)}:"
        )
        by_kind: dict[str, list[DeviceCopy]] = {}
        for copy in copies:
            by_kind.setdefault(_kind(copy), []).append(copy)
        lines += [f"{_INDENT}{kind}: {_rates(sizes, each)}" for kind, each in by_kind.items()]
    waits: dict[str, list[DeviceLatency]] = {}
    for latency in run.device_latencies:
        waits.setdefault(whose(latency), []).append(latency)
    return [*lines, *(_wait(name, found) for name, found in waits.items())]


_INDENT = "    "


def _whose(run: Run) -> Callable[[DeviceCopy | DeviceLatency], str]:
    """The name of a device, with the rank that has measured it where several ranks have: the same
    name may stand for another device there."""
    ranks = {each.rank for each in run.device_copies}
    several = len(ranks | {each.rank for each in run.device_latencies}) > 1
    return lambda each: f"{each.memory} of {run.names.rank(each.rank)}" if several else each.memory


def _kind(copy: DeviceCopy) -> str:
    where = f"to {copy.peer}" if copy.peer else copy.direction
    parts = [where, copy.host, "both ways at once" if copy.both_ways else ""]
    return ", ".join(filter(None, parts))


def _rates(sizes: Iterable[int], copies: Iterable[DeviceCopy]) -> str:
    """The median bandwidth of the copies of each size, in one direction."""
    times: dict[int, list[float]] = {}
    for copy in copies:
        times.setdefault(copy.size, []).append(copy.ns)
    return ", ".join(
        significant(size / median(times[size]), 3) if size in times else "?" for size in sizes
    )


def _wait(name: str, found: Sequence[DeviceLatency]) -> str:
    said = f"bound: {name}: {_median_us([each.synchronize for each in found])} for an idle stream"
    kernels = [each.kernel for each in found if each.kernel is not None]
    if kernels:
        return f"{said}, {_median_us(kernels)} for an empty kernel"
    refused = next((each.refused for each in found if each.refused), "")
    return f"{said}; no kernel was launched: {refused}" if refused else said


def _median_us(times: Sequence[float]) -> str:
    return f"{significant(median(times) / 1e3, 3)} us"
