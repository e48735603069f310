"""The devices of a run and their own limits, in words, below its table."""

from __future__ import annotations

from collections.abc import Iterable

from halftrip.results.device import Device, DeviceCopy
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
    """The copies of each device, a line for each kind, and what it takes to wait for it."""
    lines = []
    by_kind: dict[str, list[DeviceCopy]] = {}
    for copy in run.device_copies:
        by_kind.setdefault(_kind(copy), []).append(copy)
    for kind, copies in by_kind.items():
        figures = [
            f"{format_size(size)} {significant(size / ns, 3)}" for size, ns in _by_size(copies)
        ]
        lines.append(f"bound: {kind}, GB/s: {', '.join(figures)}")
    for latency in run.device_latencies:
        said = f"{significant(latency.synchronize / 1e3, 3)} us for an idle stream"
        if latency.kernel is not None:
            said += f", {significant(latency.kernel / 1e3, 3)} us for an empty kernel"
        elif latency.refused:
            said += f"; no kernel was launched: {latency.refused}"
        lines.append(f"bound: to wait for {latency.memory} takes {said}")
    return lines


def _kind(copy: DeviceCopy) -> str:
    other = f" {copy.peer}" if copy.peer else ""
    host = f", {copy.host}" if copy.host else ""
    ways = ", both ways at once" if copy.both_ways else ""
    return f"copies of {copy.memory}, {copy.direction}{other}{host}{ways}"


def _by_size(copies: Iterable[DeviceCopy]) -> list[tuple[int, float]]:
    """The median time, ns, of the copies of each size."""
    times: dict[int, list[float]] = {}
    for copy in copies:
        times.setdefault(copy.size, []).append(copy.ns)
    return [(size, median(of_size)) for size, of_size in sorted(times.items())]
