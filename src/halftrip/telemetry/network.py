"""What has come and gone since the machine was started: by interface, by processor, by protocol."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from halftrip.kernel_files import Reader

Counts = dict[str, int]

_INTERFACES = "/sys/class/net"
_DEVICES = "/proc/net/dev"
# Its columns: those of what came, and behind them those of what went.
_CAME = {"bytes_in": 0, "packets_in": 1, "errors_in": 2, "drops_in": 3}
_WENT = {"bytes_out": 8, "packets_out": 9, "errors_out": 10, "drops_out": 11}
_SOFTNET = "/proc/net/softnet_stat"
# The columns of softnet_stat, in hexadecimal: packets that a processor has taken from its queue,
# that found no room there, and how often there was not the time to take all. Newer kernels add the
# number of the processor.
_SOFTNET_COLUMNS = {"processed": 0, "dropped": 1, "squeezed": 2}
_SOFTNET_PROCESSOR = 12
_HEXADECIMAL = re.compile(r"[0-9a-fA-F]{1,16}")
# What is read of the protocols, by file and protocol: the kernel's name, and ours.
_PROTOCOLS: dict[str, dict[str, dict[str, str]]] = {
    "/proc/net/snmp": {
        "Tcp": {
            "InSegs": "tcp_segments_in",
            "OutSegs": "tcp_segments_out",
            "RetransSegs": "tcp_retransmits",
            "InErrs": "tcp_errors",
        },
        "Udp": {
            "InDatagrams": "udp_datagrams_in",
            "OutDatagrams": "udp_datagrams_out",
            "InErrors": "udp_errors",
            "RcvbufErrors": "udp_receive_buffer_full",
            "SndbufErrors": "udp_send_buffer_full",
        },
    },
    "/proc/net/netstat": {
        "TcpExt": {
            "TCPTimeouts": "tcp_timeouts",
            "TCPFastRetrans": "tcp_fast_retransmits",
            "TCPBacklogDrop": "tcp_backlog_full",
        },
    },
}


def read_interfaces(reader: Reader) -> dict[str, Counts]:
    """By interface, what came and went. psutil has the same, but of none where one line is odd."""
    found: dict[str, Counts] = {}
    columns = _CAME | _WENT
    # Two lines of headings come first.
    for line in (reader.text(_DEVICES) or "").splitlines()[2:]:
        name, _, rest = line.rpartition(":")
        texts = rest.split()
        there = {own: texts[at] for own, at in columns.items() if at < len(texts)}
        counts = reader.counts(_DEVICES, name.strip(), list(there), list(there.values()))
        found[name.strip()] = counts
    return found


def read_softnet(reader: Reader) -> dict[str, Counts]:
    """By processor, what became of packets that it was handed."""
    found: dict[str, Counts] = {}
    for number, line in enumerate((reader.text(_SOFTNET) or "").splitlines()):
        columns = line.split()
        if not all(map(_HEXADECIMAL.fullmatch, columns)):
            reader.warn(_SOFTNET, f"line {number + 1} is {line[:40]!r}; left out")
            continue
        values = [int(column, 16) for column in columns]
        processor = values[_SOFTNET_PROCESSOR] if len(values) > _SOFTNET_PROCESSOR else number
        found[str(processor)] = {
            name: values[at] for name, at in _SOFTNET_COLUMNS.items() if at < len(values)
        }
    return found


def read_protocols(reader: Reader) -> Counts:
    """What TCP and UDP have counted, of all interfaces."""
    found: Counts = {}
    for path, protocols in _PROTOCOLS.items():
        lines = (reader.text(path) or "").splitlines()
        # Each line of names has one of values below.
        for above, below in zip(lines[::2], lines[1::2], strict=False):
            protocol, _, names = above.partition(":")
            same, _, values = below.partition(":")
            if same != protocol:
                reader.warn(path, f"{above[:20]!r} has no values below it; the rest is left out")
                break
            wanted = protocols.get(protocol)
            if wanted is None:
                continue
            texts = dict(zip(names.split(), values.split(), strict=False))
            there = [name for name in wanted if name in texts]
            counts = reader.counts(path, protocol, there, [texts[name] for name in there])
            found |= {wanted[name]: count for name, count in counts.items()}
    return found


class InterfaceInterrupts:
    """How often each processor was interrupted by each network interface that has interrupts."""

    _PATH = "/proc/interrupts"

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._interfaces = _interrupt_numbers(reader, reader.text(self._PATH) or "")
        numbers = "|".join(map(re.escape, self._interfaces))
        self._lines = re.compile(rf"^ *({numbers}):(.*)$", re.MULTILINE)

    def read(self) -> dict[str, Counts]:
        """By interface and processor."""
        if not self._interfaces:
            return {}
        text = self._reader.text(self._PATH) or ""
        processors = [name.removeprefix("CPU") for name in text.partition("\n")[0].split()]
        found: dict[str, Counts] = {}
        for number, rest in self._lines.findall(text):
            texts = rest.split()[: len(processors)]
            counts = self._reader.counts(self._PATH, f"{number} CPU", processors, texts)
            for interface in self._interfaces[number]:
                total = found.setdefault(interface, {})
                for processor, count in counts.items():
                    total[processor] = total.get(processor, 0) + count
        return found


def _interrupt_numbers(reader: Reader, interrupts: str) -> Mapping[str, list[str]]:
    """Of each interrupt that belongs to network interfaces, their names."""
    found: dict[str, list[str]] = {}
    root = reader.root.resolve()
    for interface in reader.names(_INTERFACES):
        device = root / _INTERFACES.lstrip("/") / interface / "device"
        # What is made up, as lo, has none.
        if not os.path.exists(device):
            continue
        device = device.resolve()
        for number in _interrupts_of(reader, root, device) or _called(
            interrupts, (interface, device.name)
        ):
            found.setdefault(number, []).append(interface)
    return found


def _interrupts_of(reader: Reader, root: Path, device: Path) -> list[str]:
    """Those that the kernel lists with the device."""
    # A virtio device is on a PCI device, to which the interrupts belong.
    is_virtio = (device / "subsystem").resolve().name == "virtio"
    place = "/" + os.path.relpath(device.parent if is_virtio else device, root)
    number = reader.number(f"{place}/irq")
    return reader.names(f"{place}/msi_irqs") or ([str(number)] if number else [])


def _called(interrupts: str, names: Sequence[str]) -> list[str]:
    """The interrupts that are called by one of these names, as eth0, eth0-rx-1 or virtio0-input.0,
    by the last words of their lines: of what is on no PCI bus nothing else is known."""
    either = "|".join(map(re.escape, names))
    line = rf"^ *(\d+):.*[ ,](?:{either})(?:[-.,@: ].*)?$"
    return re.findall(line, interrupts, re.MULTILINE)
