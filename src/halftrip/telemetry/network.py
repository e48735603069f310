"""Network counters since boot: by interface, by processor, by protocol."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from halftrip.kernel_files import Reader

InterfaceCounts = dict[str, int]

_INTERFACES = "/sys/class/net"
_DEVICES = "/proc/net/dev"
# The columns of /proc/net/dev: received, then sent.
_RECEIVED = {"bytes_in": 0, "packets_in": 1, "errors_in": 2, "drops_in": 3}
_SENT = {"bytes_out": 8, "packets_out": 9, "errors_out": 10, "drops_out": 11}
_SOFTNET = "/proc/net/softnet_stat"
# The columns of softnet_stat, in hexadecimal: packets that a processor took from its queue, packets
# that found no room there, and how often the time was too short to take all. Newer kernels add the
# number of the processor.
_SOFTNET_COLUMNS = {"processed": 0, "dropped": 1, "squeezed": 2}
_SOFTNET_PROCESSOR = 12
_HEXADECIMAL = re.compile(r"[0-9a-fA-F]{1,16}")
# The counters to read, by file and protocol: the kernel's name, and ours.
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
            "ListenOverflows": "tcp_listen_overflows",
        },
    },
}
# Of UDP over IPv6, in lines of a name and a value.
_SNMP6 = "/proc/net/snmp6"
_UDP6 = "Udp6"


def read_interfaces(reader: Reader) -> dict[str, InterfaceCounts]:
    """The traffic of each interface. psutil has the same, but none at all where one line is
    malformed."""
    found: dict[str, InterfaceCounts] = {}
    columns = _RECEIVED | _SENT
    # Two lines of headings come first.
    for line in (reader.text(_DEVICES) or "").splitlines()[2:]:
        name, _, rest = line.rpartition(":")
        texts = rest.split()
        present = {own: texts[at] for own, at in columns.items() if at < len(texts)}
        counts = reader.counts(_DEVICES, name.strip(), list(present), list(present.values()))
        found[name.strip()] = counts
    return found


def read_softnet(reader: Reader) -> dict[str, InterfaceCounts]:
    """The packets that each processor was handed, by processor."""
    found: dict[str, InterfaceCounts] = {}
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


def read_protocols(reader: Reader) -> InterfaceCounts:
    """The counters of TCP and UDP, over all interfaces, IPv4 and IPv6 together."""
    found: InterfaceCounts = {}
    for path, protocols in _PROTOCOLS.items():
        lines = (reader.text(path) or "").splitlines()
        # Below each line of names there is a line of values.
        for above, below in zip(lines[::2], lines[1::2], strict=False):
            protocol, _, names = above.partition(":")
            protocol_below, _, values = below.partition(":")
            if protocol_below != protocol:
                reader.warn(path, f"{above[:20]!r} has no values below it; the rest is left out")
                break
            own_names = protocols.get(protocol)
            if own_names is None:
                continue
            texts = dict(zip(names.split(), values.split(), strict=False))
            present = [name for name in own_names if name in texts]
            counts = reader.counts(path, protocol, present, [texts[name] for name in present])
            found |= {own_names[name]: count for name, count in counts.items()}
    for name, count in _read_udp6(reader).items():
        found[name] = found.get(name, 0) + count
    return found


def _read_udp6(reader: Reader) -> InterfaceCounts:
    """The counters of UDP over IPv6; those of TCP are of both."""
    pairs = (line.split() for line in (reader.text(_SNMP6) or "").splitlines())
    texts = dict(pair for pair in pairs if len(pair) == 2)
    own_names = _PROTOCOLS["/proc/net/snmp"]["Udp"]
    present = [name for name in own_names if _UDP6 + name in texts]
    counts = reader.counts(_SNMP6, _UDP6, present, [texts[_UDP6 + name] for name in present])
    return {own_names[name]: count for name, count in counts.items()}


class InterfaceInterrupts:
    """How often each processor was interrupted by each network interface that has interrupts."""

    _PATH = "/proc/interrupts"

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._interfaces = _interrupt_numbers(reader, reader.text(self._PATH) or "")
        numbers = "|".join(map(re.escape, self._interfaces))
        self._lines = re.compile(rf"^ *({numbers}):(.*)$", re.MULTILINE)

    def read(self) -> dict[str, InterfaceCounts]:
        """How often, by interface and processor."""
        if not self._interfaces:
            return {}
        text = self._reader.text(self._PATH) or ""
        processors = [name.removeprefix("CPU") for name in text.partition("\n")[0].split()]
        found: dict[str, InterfaceCounts] = {}
        for number, rest in self._lines.findall(text):
            texts = rest.split()[: len(processors)]
            counts = self._reader.counts(self._PATH, f"{number} CPU", processors, texts)
            for interface in self._interfaces[number]:
                total = found.setdefault(interface, {})
                for processor, count in counts.items():
                    total[processor] = total.get(processor, 0) + count
        return found


def _interrupt_numbers(reader: Reader, interrupts: str) -> Mapping[str, list[str]]:
    """The interrupts of network interfaces: by number, the names of the interfaces."""
    found: dict[str, list[str]] = {}
    root = reader.root.resolve()
    for interface in reader.names(_INTERFACES):
        device = root / _INTERFACES.lstrip("/") / interface / "device"
        # A virtual interface, such as lo, has no device.
        if not os.path.exists(device):
            continue
        device = device.resolve()
        for number in _listed_interrupts(reader, root, device) or _named_interrupts(
            interrupts, (interface, device.name)
        ):
            found.setdefault(number, []).append(interface)
    return found


def _listed_interrupts(reader: Reader, root: Path, device: Path) -> list[str]:
    """The interrupts that the kernel lists in the directory of the device."""
    # The interrupts of a virtio device belong to the PCI device that it is on.
    is_virtio = (device / "subsystem").resolve().name == "virtio"
    directory = "/" + os.path.relpath(device.parent if is_virtio else device, root)
    number = reader.number(f"{directory}/irq")
    return reader.names(f"{directory}/msi_irqs") or ([str(number)] if number else [])


def _named_interrupts(interrupts: str, names: Sequence[str]) -> list[str]:
    """The interrupts whose lines end in one of these names, such as eth0, eth0-rx-1 or
    virtio0-input.0: nothing else tells of devices that are not on a PCI bus."""
    either = "|".join(map(re.escape, names))
    line = rf"^ *(\d+):.*[ ,](?:{either})(?:[-.,@: ].*)?$"
    return re.findall(line, interrupts, re.MULTILINE)
