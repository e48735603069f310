"""How the ranks of one host are reached from other hosts."""

from __future__ import annotations

import errno
import ipaddress
import socket
from collections.abc import Iterable

import msgspec
import psutil

from halftrip.errors import UsageError
from halftrip.texts import printable


class Network(msgspec.Struct, frozen=True):
    """The addresses and ports for connections between hosts.

    `interface` is the name of an interface, an address of this host, or a network as 10.1.0.0/16:
    only such addresses are told to others, and connections begin at one of them; None: any.
    `ports` are the first and the last port that may be listened on; None: any. `reached_at` are
    the addresses at which others reach this host, where that is known better than from its own.
    """

    interface: str | None = None
    ports: tuple[int, int] | None = None
    reached_at: tuple[str, ...] = ()

    @property
    def addresses(self) -> tuple[str, ...]:
        """The addresses that other hosts are told. Raises UsageError if `interface` has none."""
        return self.reached_at or own_addresses(self.interface)

    @property
    def port_range(self) -> Iterable[int]:
        """The ports to try; 0: any that is free."""
        return (0,) if self.ports is None else range(self.ports[0], self.ports[1] + 1)

    def no_port(self) -> OSError:
        """The error for the case that none of `port_range` is free."""
        first, last = self.ports or (0, 0)
        said = f"none of the ports {first} to {last} is free" if first < last else "it is taken"
        return OSError(errno.EADDRINUSE, said)

    def bound_to(self, peer: str) -> str | None:
        """The address at which a connection to the address `peer` begins; None: the kernel
        chooses. Raises UsageError if `interface` has none."""
        if self.interface is None:
            return None
        is_ipv6 = ":" in peer
        own = own_addresses(self.interface)
        return next((each for each in own if (":" in each) == is_ipv6), None)


# Any address, and any port.
ANY = Network()


def own_addresses(interface: str | None = None) -> tuple[str, ...]:
    """The IP addresses by which other hosts may reach this one, those of IPv4 first; loopback if
    it has no others. With `interface`, those of this interface, address or network alone; raises
    UsageError if there is none."""
    found = [
        (name, address.address.partition("%")[0])
        for name, addresses in psutil.net_if_addrs().items()
        for address in addresses
        if address.family in (socket.AF_INET, socket.AF_INET6)
        # A link-local IPv6 address is useless without its interface.
        and not address.address.startswith("fe80")
    ]
    if interface is None:
        addresses = [address for _, address in found]
        loopback = [a for a in addresses if a.startswith("127.") or a == "::1"]
        return _ordered(a for a in addresses if a not in loopback) or _ordered(loopback)
    chosen = _ordered(address for name, address in found if _fits(name, address, interface))
    if not chosen:
        there = ", ".join(f"{name} {address}" for name, address in found)
        host = socket.gethostname()
        raise UsageError(f"--interface {printable(interface)}: not on {host}, which has {there}")
    return chosen


def _ordered(addresses: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(dict.fromkeys(addresses), key=lambda address: ":" in address))


def _fits(name: str, address: str, wanted: str) -> bool:
    if name == wanted:
        return True
    try:
        return ipaddress.ip_address(address) in ipaddress.ip_network(wanted, strict=False)
    except ValueError:
        return False
