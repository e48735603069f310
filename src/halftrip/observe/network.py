"""What has come and gone since the machine was started: by interface, by processor, by protocol."""

from __future__ import annotations

import os
from collections.abc import Mapping

from halftrip.observe.reading import Reader

Counts = dict[str, int]

_SOFTNET = "/proc/net/softnet_stat"
# The columns of softnet_stat, in hexadecimal: packets that a processor has taken from its queue,
# that found no room there, and how often there was not the time to take all. Newer kernels add the
# number of the processor.
_SOFTNET_COLUMNS = {"processed": 0, "dropped": 1, "squeezed": 2}
_SOFTNET_PROCESSOR = 12
# What is read of the protocols: file, protocol, the kernel's name, and ours.
_PROTOCOLS = (
    ("/proc/net/snmp", "Tcp", "InSegs", "tcp_segments_in"),
    ("/proc/net/snmp", "Tcp", "OutSegs", "tcp_segments_out"),
    ("/proc/net/snmp", "Tcp", "RetransSegs", "tcp_retransmits"),
    ("/proc/net/snmp", "Tcp", "InErrs", "tcp_errors"),
    ("/proc/net/snmp", "Udp", "InDatagrams", "udp_datagrams_in"),
    ("/proc/net/snmp", "Udp", "OutDatagrams", "udp_datagrams_out"),
    ("/proc/net/snmp", "Udp", "InErrors", "udp_errors"),
    ("/proc/net/snmp", "Udp", "RcvbufErrors", "udp_receive_buffer_full"),
    ("/proc/net/snmp", "Udp", "SndbufErrors", "udp_send_buffer_full"),
    ("/proc/net/netstat", "TcpExt", "TCPTimeouts", "tcp_timeouts"),
    ("/proc/net/netstat", "TcpExt", "TCPFastRetrans", "tcp_fast_retransmits"),
    ("/proc/net/netstat", "TcpExt", "TCPBacklogDrop", "tcp_backlog_full"),
)


def read_softnet(reader: Reader) -> dict[str, Counts]:
    """By processor, what became of packets that it was handed."""
    found: dict[str, Counts] = {}
    for number, line in enumerate((reader.text(_SOFTNET) or "").splitlines()):
        columns = line.split()
        try:
            values = [int(column, 16) for column in columns]
        except ValueError:
            reader.warn(_SOFTNET, f"line {number + 1} is {line[:40]!r}; left out")
            continue
        processor = values[_SOFTNET_PROCESSOR] if len(values) > _SOFTNET_PROCESSOR else number
        found[str(processor)] = {
            name: values[at] for name, at in _SOFTNET_COLUMNS.items() if at < len(values)
        }
    return found


def read_protocols(reader: Reader) -> Counts:
    """What TCP and UDP have counted, of all interfaces."""
    tables = {path: _pairs(reader, path) for path, *_ in _PROTOCOLS}
    found = {}
    for path, protocol, name, own in _PROTOCOLS:
        text = tables[path].get(protocol, {}).get(name)
        value = None if text is None else reader.count(path, f"{protocol} {name}", text)
        if value is not None:
            found[own] = value
    return found


def _pairs(reader: Reader, path: str) -> dict[str, dict[str, str]]:
    """By protocol, the columns of a file in which each line of names has one of values below."""
    lines = (reader.text(path) or "").splitlines()
    tables: dict[str, dict[str, str]] = {}
    for names, values in zip(lines[::2], lines[1::2], strict=False):
        protocol, *columns = names.split()
        if values.split()[:1] != [protocol]:
            reader.warn(path, f"{names[:20]!r} has no values below it; the rest is left out")
            break
        tables[protocol.rstrip(":")] = dict(zip(columns, values.split()[1:], strict=False))
    return tables


class InterfaceInterrupts:
    """How often each processor was interrupted by each network interface that has interrupts."""

    _PATH = "/proc/interrupts"

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._interfaces = _interrupt_numbers(reader)

    def read(self) -> dict[str, Counts]:
        """By interface and processor."""
        if not self._interfaces:
            return {}
        first, *lines = (self._reader.text(self._PATH) or "").splitlines() or [""]
        processors = [name.removeprefix("CPU") for name in first.split()]
        found: dict[str, Counts] = {}
        for line in lines:
            number, _, rest = line.strip().partition(":")
            interface = self._interfaces.get(number)
            if interface is None:
                continue
            counts = found.setdefault(interface, {})
            for processor, text in zip(processors, rest.split(), strict=False):
                value = self._reader.count(self._PATH, f"{number} of CPU{processor}", text)
                if value is not None:
                    counts[processor] = counts.get(processor, 0) + value
        return found


def _interrupt_numbers(reader: Reader) -> Mapping[str, str]:
    """Of each interrupt that belongs to a network interface, that interface's name."""
    found: dict[str, str] = {}
    directory = reader.root / "sys/class/net"
    interfaces = sorted(directory.iterdir()) if directory.is_dir() else []
    for interface in interfaces:
        # A virtio device is on a PCI device, to which the interrupts belong.
        for place in ("device", "device/.."):
            numbers = interface / place / "msi_irqs"
            if numbers.is_dir():
                found |= dict.fromkeys(os.listdir(numbers), interface.name)
                break
        else:
            number = reader.number(f"/sys/class/net/{interface.name}/device/irq")
            if number:
                found[str(number)] = interface.name
    return found
