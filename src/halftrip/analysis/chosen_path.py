"""By which path messages went where a library chooses it: as ranks have found, or as settings of an
MPI say."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal, get_args

from halftrip.results.carrier import Carrier
from halftrip.results.configuration import Configuration
from halftrip.results.records import Environment
from halftrip.results.run import Run

Path = Literal["shm", "tcp"]

# What Open MPI's transfer layers, UCX and libfabric call shared memory, and sockets: of a name that
# is in neither, such as `all`, the path is not known.
_SHARED = {"sm", "vader", "shm", "mm", "posix", "sysv", "cma", "knem", "xpmem", "sm2"}
_SOCKETS = {"tcp", "net", "sockets"}
# What a process sends to itself by.
_SELF = {"self", ""}
# ``sysv/memory``, ``provider tcp;ofi_rxm, domain eth0``, ``ucx (pml)``.
_FIRST = re.compile(r"(?:provider )?(\w*)")


def transport_below(carriers: Iterable[Carrier]) -> str | None:
    """The transport by which all messages of these carriers went, of halftrip's own; None where it
    is another one, or several."""
    firsts = [_FIRST.match(way) for each in carriers for way in each.ways]
    names = {first[1] for first in firsts if first} - _SELF
    return _path_of(names) or (names.pop() if len(names) == 1 else None)


def chosen_by_library(run: Run, configuration: Configuration, transport: str) -> str | None:
    """The transport below that one, between the ranks of a configuration and in its launches; None
    where the run does not say it, empty where it is none of halftrip's, or another one in turn."""
    is_own = transport == configuration.transport
    variant_of, variant = run.variant_of, configuration.variant
    found = [
        each
        for each in run.carriers_between.get((transport, frozenset(configuration.pair)), ())
        if variant_of.get(each.launch, variant) == variant
        and (not is_own or each.extra == configuration.extra)
    ]
    return (transport_below(found) or "") if found else None


def mpi_path(run: Run) -> Path | None:
    """The only path between the ranks of a run that leaves no other to their MPI: shared memory, or
    TCP; None where that is not known, or another one."""
    found = transport_below(each for each in run.carriers if each.transport == "mpi")
    return next((path for path in get_args(Path) if path == found), None) or _by_settings(run)


def _by_settings(run: Run) -> Path | None:
    """The only path that the variables of all ranks leave to their MPI."""
    found = {_of_settings(each) for each in run.environments}
    return found.pop() if len(found) == 1 else None


def _of_settings(environment: Environment) -> Path | None:
    of = environment.variables.get
    chosen = of("UCX_TLS")
    if "Open MPI" in (environment.mpi or "") and of("OMPI_MCA_pml") != "ucx":
        chosen = of("OMPI_MCA_btl") if of("OMPI_MCA_pml") in (None, "ob1") else None
    return _path_of(set((chosen or "").split(",")) - _SELF)


def _path_of(names: set[str]) -> Path | None:
    if not names:
        return None
    return "shm" if names <= _SHARED else "tcp" if names <= _SOCKETS else None
