"""Names of hosts, as a user, a file, Slurm or PBS lists them."""

from __future__ import annotations

import ipaddress
import os
import re
import stat
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from halftrip.errors import UsageError, system_reason

# A name, maybe with a user; never an option of the command that gets it.
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,254}", re.ASCII)
# The zone of an address is the name of an interface, or its number.
_ZONE = re.compile(r"[A-Za-z0-9_.@-]{1,64}", re.ASCII)
# A list of hosts as Slurm writes it: node[1-4,07]-eth0.
_RANGES = re.compile(r"([^\[\]]*)\[([0-9,-]+)\](.*)", re.ASCII)
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?", re.ASCII)
# How many ranks: of MPICH, Intel MPI and Slurm.
_SLOTS = re.compile(r"(.*?)[:*](\d{1,5})", re.ASCII)
# What follows a host in a file: of Open MPI and its relatives, how many ranks, and how many at
# most, which holds where nothing else is said; of MPICH, too, who logs in, and what is not for us.
_KEYS = {
    **dict.fromkeys(("slots", "count", "cpu", "cpus"), "slots"),
    **dict.fromkeys(("max_slots", "max_cpus"), "most"),
    **dict.fromkeys(("user", "username", "user_name"), "user"),
    **dict.fromkeys(("binding", "ifname", "port", "boards", "sockets", "cores"), ""),
}
_LARGEST_FILE = 1 << 20
# Where a server listens unless it is told otherwise.
DEFAULT_PORT = 5201
_PEER = re.compile(r"(?:\[([^\[\]]+)\]|([^\[\]:\s]+))(?::(\d{1,5}))?", re.ASCII)
# As many as `plan.cost` lets be ranks.
_MOST = 4096
# Where a scheduler says which hosts it has given: a list, and a file with a line for each rank.
_SLURM_HOSTS = "SLURM_JOB_NODELIST"
_PBS_FILE = "PBS_NODEFILE"


def hosts(value: Any) -> tuple[str, ...]:
    """A reader of hosts, each as often as it is to have ranks: ``a,b``, ``a:2,b:2``,
    ``node[1-4,7]``, or ``all`` that the scheduler has given. Raises UsageError."""
    if value == "all":
        return _of_scheduler(os.environ)
    items = _items(value) if isinstance(value, str) else value
    if not isinstance(items, list | tuple):
        raise UsageError(f"{value!r} is not known; name hosts as a,b or node[1-4], or all")
    return _limited(name for item in items for name in _named(str(item)))


def hostfile(value: Any) -> tuple[str, ...]:
    """A reader of the path of a file with a host in each line, which may have a number of ranks:
    ``a``, ``a:2`` or ``a slots=2``. Raises UsageError."""
    try:
        if not stat.S_ISREG(os.stat(str(value)).st_mode):
            # A pipe may have no writer.
            raise UsageError(f"{value}: not a regular file; it has a host in each line")
        with open(str(value), encoding="utf-8") as file:
            text = file.read(_LARGEST_FILE + 1)
    except OSError as error:
        raise UsageError(f"{value}: {system_reason(error).lower()}") from None
    except ValueError:
        raise UsageError(f"{str(value)!r}: not a text file with a host in each line") from None
    if len(text) > _LARGEST_FILE:
        raise UsageError(f"{value}: more than 1 MiB; it has a host in each line")
    lines = (re.split("#|//", line)[0].strip() for line in text.splitlines())
    return _limited(name for line in lines if line for name in _of_line(line))


def _of_line(line: str) -> Iterable[str]:
    """The hosts of a line of a file, as Open MPI, MPICH, Intel MPI and Slurm write them."""
    words = re.sub(r"\s*=\s*", "=", re.sub(r",\s+", ",", line)).split()
    said = {}
    for word in words[1:]:
        name, _, value = word.rstrip(",").partition("=")
        known = _KEYS.get(name.replace("-", "_"))
        if known is None or not value:
            raise UsageError(
                f"{line!r}: {word!r} is not known; a line is a host, maybe with slots=2"
            )
        said[known] = value
    slots = said.get("slots", said.get("most", "1"))
    if not re.fullmatch(r"\d{1,5}", slots, re.ASCII):
        raise UsageError(f"{line!r}: {slots!r} is no number of ranks")
    user = f"{said['user']}@" if "user" in said else ""
    for name in _named_all(_items(words[0])):
        yield from [user + name] * min(int(slots), _MOST + 1)


def peer(value: Any) -> str:
    """A reader of where a server is: a text that `split_peer` reads."""
    if not isinstance(value, str):
        raise UsageError(f"{value!r} is no host; write HOST, HOST:PORT or [ADDRESS]:PORT")
    split_peer(value)
    return value


def split_peer(peer: str) -> tuple[str, int]:
    """The host and the port of ``HOST``, ``HOST:PORT``, or of an IPv6 address, which is in brackets
    if a port follows. Raises UsageError."""
    match = _PEER.fullmatch(peer)
    host, port = (match[1] or match[2], int(match[3] or DEFAULT_PORT)) if match else ("", 0)
    if match is None and _is_host(peer):
        # An address without brackets has colons of its own, and no port.
        host, port = peer, DEFAULT_PORT
    if not 0 < port < 1 << 16 or (":" in host and not _is_host(host)):
        raise UsageError(f"{peer!r} is no host; write HOST, HOST:PORT or [ADDRESS]:PORT")
    return host, port


def with_port(host: str, port: int) -> str:
    """As `split_peer` reads it."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def spread(names: Sequence[str], ranks: int) -> list[str]:
    """The host of each rank, neighbours side by side. Raises UsageError if there are hosts for
    which no rank is left."""
    if ranks < len(set(names)):
        raise UsageError(f"{len(set(names))} hosts need a rank each, and there are {ranks}")
    return [names[rank * len(names) // ranks] for rank in range(ranks)]


def _of_scheduler(environ: Mapping[str, str]) -> tuple[str, ...]:
    """A rank on each host that Slurm or PBS has given."""
    if environ.get(_SLURM_HOSTS):
        return _limited(_named_all(_items(environ[_SLURM_HOSTS])))
    if environ.get(_PBS_FILE):
        return tuple(dict.fromkeys(hostfile(environ[_PBS_FILE])))
    raise UsageError(
        f"'all' are those that a scheduler has given, and neither {_SLURM_HOSTS} nor {_PBS_FILE} "
        "is set; name hosts as a,b"
    )


def _items(text: str) -> list[str]:
    """What is between the commas that are not in brackets."""
    return [item.strip() for item in re.split(r",(?![^\[]*\])", text)]


def _named_all(items: Iterable[str]) -> Iterable[str]:
    for item in items:
        yield from _named(item)


def _named(item: str) -> Iterable[str]:
    """The hosts of one item, each as often as it is to have ranks."""
    # An interface may have this sign in its name, too.
    before, percent, zone = item.partition("%")
    user, at, host = before.rpartition("@")
    host += percent + zone
    # Slots follow a name, or an address in brackets; an address without them has colons of its own.
    address = re.fullmatch(r"\[([^\[\]]*:[^\[\]]*)\](?:[:*](\d{1,5}))?", host, re.ASCII)
    if address is not None:
        names, slots = [address[1]], address[2]
    elif host.count(":") > 1:
        names, slots = [host], None
    else:
        match = _SLOTS.fullmatch(host)
        found = _expanded(match[1] if match else host)
        names, slots = list(islice(found, _MOST + 1)), match and match[2]
    for name in names:
        if not (_is_host(name) and (not at or _NAME.fullmatch(user))):
            raise UsageError(
                f"{user + at + name!r} is no name of a host; name hosts as a,b or node[1-4]"
            )
        for _ in range(min(int(slots or 1), _MOST + 1)):
            yield user + at + name


def _is_host(name: str) -> bool:
    """Whether it is a name, or an address of IPv6, maybe with its zone."""
    if ":" not in name:
        return _NAME.fullmatch(name) is not None
    bare, percent, zone = name.partition("%")
    try:
        ipaddress.IPv6Address(bare)
    except ValueError:
        return False
    return not percent or _ZONE.fullmatch(zone) is not None


def _expanded(pattern: str) -> Iterable[str]:
    match = _RANGES.fullmatch(pattern)
    if match is None:
        yield pattern
        return
    before, ranges, after = match.groups()
    for each in ranges.split(","):
        found = _RANGE.fullmatch(each)
        if found is None or int(found[2] or found[1]) < int(found[1]):
            raise UsageError(f"{pattern!r}: {each!r} is no range of numbers, as 1-4")
        width = len(found[1])
        for number in range(int(found[1]), int(found[2] or found[1]) + 1):
            for rest in _expanded(after):
                yield f"{before}{number:0{width}}{rest}"


def _limited(names: Iterable[str]) -> tuple[str, ...]:
    found: list[str] = []
    for name in names:
        found.append(name)
        if len(found) > _MOST:
            raise UsageError(f"more than {_MOST} ranks on hosts; that many are the most")
    if not found:
        raise UsageError("no host is named; name hosts as a,b")
    return tuple(found)
