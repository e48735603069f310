"""Which host this is, and how others reach it."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import psutil


def host_identity() -> str:
    """A text that is the same in two processes only if they can share memory, pipes and abstract
    sockets.

    The name of the host is not enough: two containers on one machine can have the same name, and
    two network namespaces on one machine are different hosts to each other.
    """
    boot = Path("/proc/sys/kernel/random/boot_id")
    parts = [socket.gethostname(), boot.read_text().strip() if boot.exists() else ""]
    for namespace in ("net", "pid", "ipc"):
        try:
            parts.append(os.readlink(f"/proc/self/ns/{namespace}"))
        except OSError:
            parts.append("")
    return " ".join(parts)


def own_addresses() -> tuple[str, ...]:
    """The IP addresses by which other hosts may reach this one; loopback if it has no others."""
    addresses = [
        address.address
        for interface in psutil.net_if_addrs().values()
        for address in interface
        if address.family in (socket.AF_INET, socket.AF_INET6)
        # A link-local IPv6 address is useless without its interface.
        and not address.address.startswith("fe80")
    ]
    loopback = [a for a in addresses if a.startswith("127.") or a == "::1"]
    return tuple(a for a in addresses if a not in loopback) or tuple(loopback)
