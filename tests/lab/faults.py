"""Faults of a network, made on a host: what goes to it or from it is lost."""

from __future__ import annotations

import ipaddress
import subprocess

from lab.hosts import Host, Lab

# Programs of classic BPF with the actions of tc-bpf(8): they drop (2) what is longer, the second
# only from one address, and let all else pass (0).
_DROP_LONGER = "4,128 0 0 0,37 0 1 {length},6 0 0 2,6 0 0 0"
_DROP_LONGER_FROM = "6,128 0 0 0,37 0 3 {length},32 0 0 26,21 0 1 {source},6 0 0 2,6 0 0 0"
_ETHERNET_HEADER = 14


def narrow(lab: Lab, host: Host, mtu: int) -> None:
    """Drops packets of more than `mtu` bytes to this host and from it, in silence, as a hop does
    that is not allowed to say so."""
    length = mtu + _ETHERNET_HEADER
    source = int(ipaddress.ip_address(host.address))
    for each in lab.hosts:
        # A virtual device takes many segments in one packet.
        each.ip("link", "set", each.device, "gso_max_segs", "1")
        # Where they arrive: what the sender's own device drops, TCP knows of.
        each.tc("qdisc", "add", "dev", each.device, "clsact")
        program = _DROP_LONGER if each is host else _DROP_LONGER_FROM
        each.tc("filter", "add", "dev", each.device, "ingress", "protocol", "ip", "bpf", "da",
                "bytecode", program.format(length=length, source=source))  # fmt: skip


def close_ports(
    host: Host,
    ports: tuple[int, int],
    source: str | None = None,
    protocols: tuple[str, ...] = ("tcp", "udp"),
) -> None:
    """What comes to these ports, from `source` alone if that is given, is dropped in silence, as a
    firewall does it."""
    first, last = ports
    origin = () if source is None else ("from", source)
    for protocol in protocols:
        host.ip("rule", "add", "pref", "1", "iif", host.device, *origin, "ipproto", protocol,
                "dport", f"{first}-{last}", "blackhole")  # fmt: skip
    # The table of the host's own addresses goes before all rules, unless it is moved.
    listed = host.ip("rule", "show")
    if "0:" in listed:
        host.ip("rule", "add", "pref", "2", "lookup", "local")
        host.ip("rule", "del", "pref", "0")


def processes(host: Host) -> set[str]:
    """What runs on a host."""
    listed = subprocess.run(
        ["ip", "netns", "pids", host.name], check=True, capture_output=True, text=True
    )
    return set(listed.stdout.split())
