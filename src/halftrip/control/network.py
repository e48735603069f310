"""How the ranks of one host are reached from other hosts."""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from halftrip.errors import UsageError
from halftrip.texts import printable


class Network(msgspec.Struct, frozen=True):
    """The addresses and ports for connections between hosts.

    `interface` is the name of an interface, an address of this host, or a network as 10.1.0.0/16:
    only such addresses are told to others, and connections begin at one of them; None: any.
    `ports` are the first and the last port that may be listened on; None: any. `reached_at` are
    the addresses at which others reach this host, where that is known better than from its own.
    Where there are `partners`, no other host is called, whoever says so.
    """

    interface: str | None = None
    ports: tuple[int, int] | None = None
    reached_at: tuple[str, ...] = ()
    partners: tuple[str, ...] = ()

    @property
    def addresses(self) -> tuple[str, ...]:
        """The addresses that other hosts are told. Raises UsageError if `interface` has none."""
        return self.reached_at or own_addresses(self.interface)

    @property
    def port_range(self) -> Iterable[int]:
        """The ports to try; 0: any that is free."""
        return (0,) if self.ports is None else range(self.ports[0], self.ports[1] + 1)

    def may_call(self, host: str) -> bool:
        """Whether a connection may be made to this address."""
        return not self.partners or _plain(host) in map(_plain, (*self.partners, *own_addresses()))

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


# Of the longest list of addresses that is shown, so many interfaces.
_MOST_SHOWN = 12
# What to do where a connection between ranks is not let through.
PORTS_ADVICE = "ports that a firewall has to let through are chosen by --data-ports"
# Any address, and any port.
ANY = Network()


def own_addresses(interface: str | None = None) -> tuple[str, ...]:
    """The IP addresses by which other hosts may reach this one, those of IPv4 first; if it has no
    others, link-local ones of IPv6, with their zones, and loopback. With `interface`, those of this
    interface, address or network alone; raises UsageError if there is none."""
    if interface is not None:
        try:
            return interface_addresses(interface)
        except UsageError as error:
            raise UsageError(f"--interface: {socket.gethostname()}: {error}") from None
    owned = [address for each in addresses_by_interface().values() for address in each]
    loopback = [a for a in owned if a.startswith("127.") or a == "::1"]
    # A link-local IPv6 address has a meaning on its link alone.
    links = [address for address in owned if address.startswith("fe80")]
    wide = _ordered(a for a in owned if a not in (*loopback, *links))
    return wide or (*_ordered(links), *_ordered(loopback))


def interface_addresses(spec: str) -> tuple[str, ...]:
    """The IP addresses of this host that fit `spec`: the name of an interface, an address, or a
    network as 10.1.0.0/16; those of IPv4 first. Link-local ones are left out unless no others fit;
    those of IPv6 have their zone, as fe80::1%eth1, without which they cannot be used.

    Raises UsageError if none fits.
    """
    owned = addresses_by_interface()
    spec = spec[1:-1] if spec.startswith("[") and spec.endswith("]") else spec
    fitting = [
        address
        for name, addresses in owned.items()
        for address in addresses
        if name == spec or _is_within(address, spec)
    ]
    usable = [each for each in fitting if not ipaddress.ip_address(each).is_link_local]
    if not fitting:
        there = [f"{name} {' '.join(each)}" for name, each in owned.items() if each]
        if len(there) > _MOST_SHOWN:
            there[_MOST_SHOWN:] = [f"{len(there) - _MOST_SHOWN} more"]
        what = (
            "has no IP address" if spec in owned else "is no interface, IP address or network here"
        )
        raise UsageError(
            f"'{printable(spec, 60)}' {what}; there are: {printable(', '.join(there)) or 'none'}"
        )
    return _ordered(usable or fitting)


def addresses_by_interface() -> dict[str, list[str]]:
    """The IP addresses of each interface."""
    # Ranks on one host need no addresses.
    import psutil

    found: dict[str, list[str]] = {}
    for label, addresses in psutil.net_if_addrs().items():
        # An address of IPv4 may have a label, as eth0:1, in place of the interface's name.
        own = found.setdefault(label.partition(":")[0], [])
        own.extend(
            each.address for each in addresses if each.family in (socket.AF_INET, socket.AF_INET6)
        )
    return found


def _is_within(address: str, spec: str) -> bool:
    """Whether `address` is `spec`, or belongs to the network `spec`."""
    try:
        if "%" in spec:
            # Two interfaces may have the same link-local address.
            return ipaddress.ip_address(address) == ipaddress.ip_address(spec)
        network = ipaddress.ip_network(spec if "/" in spec else plain_address(spec), strict=False)
    except ValueError:
        return False
    return ipaddress.ip_address(address.partition("%")[0]) in network


def _ordered(addresses: Iterable[str]) -> tuple[str, ...]:
    """Each once, those of IPv4 first."""
    return tuple(sorted(dict.fromkeys(addresses), key=lambda address: ":" in address))


def place_of(address: str, port: int) -> tuple[Any, ...]:
    """What a socket is bound or connected to: an IP address, which may have a zone, of which a pair
    of address and port would lose it, or none (any). Raises OSError for what is no address."""
    if not address:
        return (address, port)
    flags = socket.AI_NUMERICHOST
    return socket.getaddrinfo(address, port, type=socket.SOCK_STREAM, flags=flags)[0][4]


def address_in(place: Sequence[Any]) -> str:
    """The IP address of a socket's own or other end, with its zone, and as IPv4 if it is one in
    IPv6."""
    address, scope = plain_address(place[0]), place[3] if len(place) > 3 else 0
    if not scope:
        return address
    try:
        return f"{address}%{socket.if_indextoname(scope)}"
    except OSError:
        return f"{address}%{scope}"


def with_zones(address: str) -> tuple[str, ...]:
    """The same address on each link that it may be on: that of its zone, if this host has it, and,
    as another host's zones are none of this one, all others. An address of wider scope is alone."""
    bare, _, zone = address.partition("%")
    if not bare.startswith("fe80:"):
        return (address,)
    zones = {
        own.partition("%")[2]
        for addresses in addresses_by_interface().values()
        for own in addresses
        if own.startswith("fe80:")
    }
    ordered = sorted(zones, key=lambda each: (each != zone, each))
    return tuple(f"{bare}%{each}" for each in ordered) or (address,)


def _plain(host: str) -> str:
    """The plain address, or the name, of a host."""
    try:
        return plain_address(host)
    except ValueError:
        return host


def plain_address(address: str) -> str:
    """An address without its zone, and as IPv4 if it is one in IPv6."""
    parsed = ipaddress.ip_address(address.partition("%")[0])
    return str(getattr(parsed, "ipv4_mapped", None) or parsed)


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
