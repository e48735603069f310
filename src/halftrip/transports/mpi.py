"""What the transports over MPI have in common, whoever makes the calls."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from halftrip.errors import UsageError
from halftrip.mpi import control_variables, library
from halftrip.results.configuration import Configuration, Wait
from halftrip.results.threshold import Acts, Threshold
from halftrip.telemetry.copy_thresholds import copy_thresholds
from halftrip.transports.base import Carried, ProcessContext
from halftrip.units import parse_size

WAITS: tuple[Wait, ...] = ("spin",)
NO_OTHER_WAIT = "how MPI waits is the library's own choice; see its settings"

# MPICH has a limited number of requests: with tens of thousands it aborts.
MOST_REQUESTS = 256


def missing(process: ProcessContext) -> str | None:
    """Why MPI cannot be used in a process, or None."""
    if process.communicator is None:
        return process.no_mpi
    from mpi4py import MPI

    if process.threads > 1 and MPI.Query_thread() < MPI.THREAD_MULTIPLE:
        return "this MPI does not let several threads call it at once"
    return None


def refusal(configuration: Configuration) -> str | None:
    """Why MPI cannot do a configuration, or None."""
    if configuration.mode == "persistent" and configuration.cache == "cold":
        return "--cache cold: a persistent request is bound to one buffer"
    return None


# What MPI writes before a message, at most, bytes: in Open MPI's ob1 a union of headers
# (pml_ob1_hdr.h), in MPICH that of a cell (posix_eager_iqueue_types.h).
_MOST_HEADER = 128
# The one before a message that is sent at once (mca_pml_ob1_match_hdr_t) alone.
_MATCH_HEADER = 16


class _Rule(NamedTuple):
    """What the value of a control variable, divided by `divisor`, means between ranks of the same
    host (`same_host`) or of different ones. `name` may have the groups of the variable's name in
    it. Up to `header` bytes of the value hold no payload."""

    variable: str
    name: str
    acts: Acts
    same_host: bool
    divisor: int = 1
    header: int = _MOST_HEADER


# Of Open MPI, the component for shared memory is vader in version 4, sm in version 5. Of each, a
# fast box takes messages of up to a quarter of it (btl_vader_fbox.h).
_SHARED = r"btl_(vader|sm)"
_OTHERS = r"btl_(?!vader|sm_|self)(\w+?)"
_OPEN_MPI = (
    _Rule(rf"{_SHARED}_eager_limit", "the eager limit of Open MPI's btl {0}", "protocol", True),
    _Rule(
        rf"{_SHARED}_max_inline_send", "the inline limit of Open MPI's btl {0}", "protocol", True
    ),
    _Rule(
        rf"{_SHARED}_fbox_size",
        "the fast box of Open MPI's btl {0}",
        "protocol",
        True,
        4,
        _MATCH_HEADER,
    ),
    _Rule(rf"{_SHARED}_memcpy_limit", "the memcpy limit of Open MPI's btl {0}", "protocol", True),
    _Rule(rf"{_SHARED}_max_send_size", "the fragment of Open MPI's btl {0}", "pieces", True),
    _Rule(rf"{_OTHERS}_eager_limit", "the eager limit of Open MPI's btl {0}", "protocol", False),
    _Rule(rf"{_OTHERS}_max_send_size", "the fragment of Open MPI's btl {0}", "pieces", False),
)
# Each has this variable as long as it is in use.
_PMLS = _OB1, _UCX_PML = ("pml_ob1_priority", "pml_ucx_priority")
_MTLS, _OFI_MTL = r"mtl_\w+_priority", "mtl_ofi_priority"
_IPC = "the threshold of MPICH's single copy by {0}"
# Of MPICH, by what its device begins with. Where UCX is all that it has, messages within a host go
# through UCX, too (configure: enable_ch4_direct).
_UCX_ALONE = "ch4:ucx"
# What is below devices that have one network module, between hosts, and within one where it has to
# do without shared memory.
_SOCKETS_ALONE = "ch3:sock"
_BELOW_MPICH = {"ch4:ofi": "libfabric", "ch3:nemesis": "tcp", _SOCKETS_ALONE: "tcp"}
_NOLOCAL = "MPIR_CVAR_NOLOCAL"
_MPICH = {
    "ch4": (
        _Rule(r"MPIR_CVAR_CH4_IPC_(CMA|XPMEM)_P2P_THRESHOLD", _IPC, "protocol", True),
        _Rule(
            r"MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_CELL_SIZE",
            "the cell of MPICH's shared memory",
            "protocol",
            True,
        ),
        _Rule(
            r"MPIR_CVAR_CH4_OFI_EAGER_(MAX_MSG_SIZE|THRESHOLD)",
            "MPICH's eager limit for OFI",
            "protocol",
            False,
        ),
    ),
    "ch3": (
        _Rule(r"MPIR_CVAR_CH3_EAGER_MAX_MSG_SIZE", "MPICH's eager limit", "protocol", False),
        _Rule(
            r"MPIR_CVAR_NEMESIS_SHM_EAGER_MAX_SZ",
            "MPICH's eager limit for shared memory",
            "protocol",
            True,
        ),
    ),
}
# What a component needs; without it, its variables mean nothing.
_NEEDED = {"XPMEM": "/dev/xpmem"}
# What UCX takes from the environment. It chooses the first by itself, for each path, where that is
# not set, and most others, too.
_UCX_RENDEZVOUS = "UCX_RNDV_THRESH"
_UCX = {
    _UCX_RENDEZVOUS: "the rendezvous threshold of UCX",
    "UCX_ZCOPY_THRESH": "the zero-copy threshold of UCX",
    "UCX_BCOPY_THRESH": "the buffered-copy threshold of UCX",
}


def path_thresholds(same_host: bool) -> tuple[Threshold, ...]:
    """Those of messages between ranks of the same host, where they are copied, or of different
    ones."""
    return (*known(same_host).thresholds, *(copy_thresholds() if same_host else ()))


def carried(same_host: bool) -> Carried | None:
    """What carries messages between ranks of the same host, or of different ones, as far as the MPI
    tells: its way begins with the transport of halftrip's that is below it."""
    way = known(same_host).way
    return Carried(library.library_version(), [way]) if way else None


class Known(NamedTuple):
    """What the MPI that this process has loaded tells of messages between two ranks: `way` is that
    which they take, empty where that is not known."""

    thresholds: tuple[Threshold, ...] = ()
    way: str = ""


@cache
def known(same_host: bool) -> Known:
    """Between ranks of the same host, or of different ones."""
    version = library.full_version()
    device = re.search(r"MPICH Device:[ \t]*(.*)", version)
    if device is not None:
        found = _of_mpich(device[1].strip(), same_host)
    elif "Open MPI" in version:
        found = _of_open_mpi(same_host)
    else:
        return Known()
    return Known(tuple(each for each in found.thresholds if each.same_host == same_host), found.way)


def _of_open_mpi(same_host: bool) -> Known:
    names = "|".join([*(rule.variable for rule in _OPEN_MPI), *_PMLS, _MTLS])
    found = control_variables.read_numbers(names)
    if _UCX_PML in found:
        return Known((*_of_ucx(same_host, os.environ),), "ucx (pml ucx)")
    if _OB1 not in found:
        # Another pml, which does not use these components: that of libfabric, if it has no other.
        mtls = [name for name in found if re.fullmatch(_MTLS, name)]
        return Known(way="libfabric (mtl ofi)" if mtls == [_OFI_MTL] else "")
    if "btl_sm_eager_limit" in found:
        # Version 5 has all of them by the older name, too.
        found = {name: value for name, value in found.items() if "vader" not in name}
    limits = [re.fullmatch(r"btl_(\w+)_eager_limit", name) for name in found]
    btls = {limit[1] for limit in limits if limit} - {"self"}
    shared = (btls & {"sm", "vader"}) if same_host else set()
    way = f"shm (btl {shared.pop()})" if shared else ""
    if not way and btls - {"sm", "vader"} == {"tcp"}:
        way = "tcp (btl tcp)"
    return Known((*_matching(found, _OPEN_MPI, "OMPI_MCA_"),), way)


def _of_mpich(device: str, same_host: bool) -> Known:
    """`device` is as in its version: ``ch4:ucx``, ``ch4:ofi``, ``ch4:ucx ofi``, ``ch3:nemesis``."""
    if device == _UCX_ALONE:
        return Known((*_of_ucx(same_host, os.environ),), f"ucx ({device})")
    channel = device.partition(":")[0]
    rules = _MPICH.get(channel, ())
    values = control_variables.read_numbers(
        "|".join([*(rule.variable for rule in rules), _NOLOCAL])
    )
    found = [*_matching(values, rules, "")]
    if "ucx" in device and not same_host:
        found += _of_ucx(same_host, os.environ)
    has_shared = channel in _MPICH and device != _SOCKETS_ALONE
    shares = has_shared and same_host and not values.get(_NOLOCAL)
    below = "shm" if shares else _BELOW_MPICH.get(device, "")
    return Known((*found,), f"{below} ({device})" if below else "")


def _matching(
    values: Mapping[str, int], rules: Sequence[_Rule], prefix: str
) -> Iterator[Threshold]:
    """What the variables mean that a rule is about. An environment variable sets each of them,
    which has the prefix before its name. One of 0 or less is not in use."""
    for rule in rules:
        for variable, value in values.items():
            match = re.fullmatch(rule.variable, variable)
            if match is None or value <= 0 or not _is_there(match.groups()):
                continue
            part = f" / {rule.divisor}" if rule.divisor > 1 else ""
            yield Threshold(
                name=rule.name.format(*match.groups()),
                value=value // rule.divisor,
                acts=rule.acts,
                header=min(rule.header, value // rule.divisor),
                source=f"MPI_T {variable}{part}",
                setting=f"{prefix}{variable}",
                scale=rule.divisor,
                same_host=rule.same_host,
            )


def _is_there(components: Iterable[str]) -> bool:
    return all(os.path.exists(_NEEDED[each]) for each in components if each in _NEEDED)


def _of_ucx(same_host: bool, environ: Mapping[str, str]) -> Iterator[Threshold]:
    for variable, name in _UCX.items():
        try:
            value = parse_size(environ[variable])
        except (KeyError, UsageError):
            if variable != _UCX_RENDEZVOUS or environ.get(variable) == "inf":
                continue
            # Not set, or ``auto``: UCX does not tell what it chooses.
            value = 0
        yield Threshold(
            name=name,
            value=value,
            acts="protocol",
            header=min(_MOST_HEADER, value) if value else _MOST_HEADER,
            source=variable,
            setting=variable,
            same_host=same_host,
        )
