"""What differs between the environments of two runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from halftrip.results.device import Device
from halftrip.results.network_path import MADE_UP_SPEEDS, NetworkPath
from halftrip.results.records import MITIGATIONS_GAP, Environment
from halftrip.results.run import Run
from halftrip.units import significant

NOT_SET = "not set"
NOT_AFFECTED = "not affected"
# If there are more hosts than these, only those that the other run lacks are named.
_MOST_HOSTS = 4
_HALFTRIP = "halftrip"
# Slurm's variables that describe what a job was given, rather than which job it was.
_OF_A_JOB = "SLURM_JOB_"
_GIVEN = {f"{_OF_A_JOB}{name}" for name in ("CPUS_PER_NODE", "NUM_NODES", "PARTITION", "QOS")}
# Variables that a launcher sets for its own processes, to another value each time, or that the
# mpirun of Open MPI always sets.
_OF_A_LAUNCH = re.compile(
    r"(OMPI|PRTE|PMIX)_MCA_"
    r"(PREFIXES|.*(jobid|vpid|_pid|uri|num_procs|nodelist|wdir|directory|_dir|precondition|hint).*"
    r"|orte_.*|ess|pmix|plm|cpu_type|mpi_oversubscribe|mca_base_component_show_load_errors)"
    r"|OPAL_PREFIX|OPAL_USER_PARAMS_GIVEN"
)
# What halftrip gives the ranks of Open MPI itself, so that they start sooner with the same
# components (mpi/launcher.py); who has chosen just that is taken for one who has not.
_OWN = ("OMPI_MCA_btl", "^ofi")


class Change(NamedTuple):
    """A fact that differs between two runs: its name, and its value in each, as text."""

    name: str
    base: str
    new: str


def changes(base: Run, new: Run) -> list[Change]:
    """What differs between the environments of two runs, in the order of what explains most. A fact
    that is not known of both runs is left out.

    The different values over all ranks and launches are compared, not how many ranks have each.
    Only cores are in the order of ranks.
    """
    before, after = _facts(base), _facts(new)
    found = [
        Change(name, before[name], after[name])
        for name in before
        if name in after and before[name] != after[name]
    ]
    return [
        *found,
        *_host_changes(_hosts(base), _hosts(new)),
        *_mitigation_changes(base, new),
        *_variable_changes(base, new),
    ]


def facts(run: Run) -> dict[str, str]:
    """All that is known of a run's environment, by name, with the states of vulnerabilities in one
    text, and the variables that describe how ranks communicate."""
    states = _mitigations(run) or {}
    joined = "; ".join(f"{name}: {state}" for name, state in states.items())
    mitigations = {"mitigations": joined} if states else {}
    return {**_facts(run), **mitigations, **_variables(run.environments)}


def _facts(run: Run) -> dict[str, str]:
    """What is known of a run, by name."""
    ranks = run.environments
    return {
        **_tools(run),
        **_known("processor", (each.processor for each in ranks)),
        **_known("hypervisor", (each.hypervisor for each in ranks)),
        **_known("kernel", (each.kernel for each in ranks)),
        **_known("MPI", (each.mpi for each in ranks)),
        **_known("MPI library", (each.mpi_library for each in ranks)),
        **_known("Python", (each.python for each in ranks)),
        **_known("governor", (each.governor for each in ranks)),
        **_known("transparent huge pages", (each.thp for each in ranks)),
        **_known("clock source", (each.clock.source for each in ranks)),
        **_known("idle states", (each.idle for each in ranks)),
        **_known("timer slack", (_slack(each.timer_slack) for each in ranks)),
        **_known("TCP slow start after idle", (_on(each.slow_start_after_idle) for each in ranks)),
        **_known("hardware counters", (_on(each.counters) for each in ranks)),
        **_devices(run.devices),
        **_cores(ranks),
        **_network(run),
    }


def _tools(run: Run) -> dict[str, str]:
    """The tool that has measured, and its version."""
    if not run.sources:
        return {"tool": _HALFTRIP, _HALFTRIP: run.header.halftrip}
    found = _known("tool", (each.tool for each in run.sources))
    for tool in {each.tool for each in run.sources}:
        found |= _known(tool, (each.version for each in run.sources if each.tool == tool))
    return found


def _known(name: str, values: Iterable[str | None]) -> dict[str, str]:
    """The different values that are known, if any are."""
    distinct = {value for value in values if value}
    return {name: ", ".join(sorted(distinct, key=_in_order))} if distinct else {}


def _in_order(text: str) -> list[tuple[int, str]]:
    """A key that has node2 before node10."""
    return [(int(part), "") if part.isdecimal() else (0, part) for part in _DIGITS.split(text)]


_DIGITS = re.compile(r"(\d{1,18})", re.ASCII)


def _slack(slack: int | None) -> str | None:
    return None if slack is None else f"{slack / 1000:g} us"


def _on(state: bool | None) -> str | None:
    return None if state is None else "on" if state else "off"


def _devices(devices: Sequence[Device]) -> dict[str, str]:
    """The properties of the devices whose memory a run names."""
    return {
        **_known("device", (each.name for each in devices)),
        **_known("CUDA driver", (each.driver for each in devices)),
        **_known("CUDA", (each.cuda for each in devices)),
        **_known("device link", map(_link, devices)),
        **_known("device power limit", map(_power, devices)),
        **_known("device clocks", map(_clocks, devices)),
        **_known("device ECC", map(_ecc, devices)),
        **_known("CUDA MPS", (_on(each.mps) for each in devices)),
    }


def _link(device: Device) -> str | None:
    """The generation is the highest possible: an idle device lowers that of the moment, to save
    power, so that it differs between any two runs."""
    if device.link_generation_max is None or device.link_width is None:
        return None
    return f"PCIe {device.link_generation_max} x{device.link_width}"


def _power(device: Device) -> str | None:
    return None if device.power_limit is None else f"{device.power_limit:.0f} W"


def _clocks(device: Device) -> str | None:
    clocks = {"graphics": device.graphics_clock, "memory": device.memory_clock}
    known = [f"{name} {clock:.0f}" for name, clock in clocks.items() if clock is not None]
    return f"{', '.join(known)} MHz" if known else None


def _ecc(device: Device) -> str | None:
    return _on(device.ecc)


def _cores(ranks: Sequence[Environment]) -> dict[str, str]:
    """The cores of the ranks of each host and launch, in the order of ranks."""
    by_host: dict[tuple[int, str], list[int | None]] = {}
    for each in sorted(ranks, key=lambda each: each.rank):
        own = [each.core] if each.thread_cores is None else each.thread_cores
        by_host.setdefault((each.launch, each.host), []).extend(own)
    distinct = sorted({_ranges(cores) for cores in by_host.values()}, key=_in_order)
    return {"cores": " or ".join(distinct)} if distinct else {}


def _ranges(cores: Sequence[int | None]) -> str:
    """Cores as text: ``0,2`` or ``0-15``."""
    if None in cores:
        return "not pinned"
    known = [core for core in cores if core is not None]
    parts: list[str] = []
    # Consecutive numbers have the same difference from their place.
    for _, group in groupby(enumerate(known), lambda each: each[1] - each[0]):
        row = [core for _, core in group]
        parts += [f"{row[0]}-{row[-1]}"] if len(row) > 2 else map(str, row)
    return ",".join(parts)


_Of = Callable[[NetworkPath], str | None]


def _network(run: Run) -> dict[str, str]:
    """The interfaces and TCP settings at both ends of all paths between hosts."""
    paths = [each.path for each in run.connections]
    figures: dict[str, _Of] = {
        "interface": lambda path: path.interface.name if path.interface else None,
        "driver": lambda path: path.interface.driver if path.interface else None,
        "link speed": _speed,
        "MTU": _mtu,
        "congestion control": lambda path: path.congestion,
    }
    found: dict[str, str] = {}
    for name, of in figures.items():
        found |= _known(name, map(of, paths))
    return found


def _speed(path: NetworkPath) -> str | None:
    interface = path.interface
    if interface is None or not interface.speed or interface.driver in MADE_UP_SPEEDS:
        return None
    return f"{significant(interface.speed / 1e9, 3)} Gbit/s"


def _mtu(path: NetworkPath) -> str | None:
    mtu = path.path_mtu or path.route_mtu or (path.interface and path.interface.mtu)
    return str(mtu) if mtu else None


# What is compared part by part.


def _hosts(run: Run) -> list[str]:
    names = {each.host for each in run.environments}
    names |= {host for source in run.sources for host in source.hosts if host}
    return sorted(names, key=_in_order)


def _host_changes(base: Sequence[str], new: Sequence[str]) -> list[Change]:
    if not base or not new or base == new:
        return []
    return [Change("hosts", _hosts_in_words(base, new), _hosts_in_words(new, base))]


def _hosts_in_words(hosts: Sequence[str], others: Sequence[str]) -> str:
    """All of a few hosts; of more, how many, and a few of those that the other run has not."""
    if len(hosts) <= _MOST_HOSTS:
        return ", ".join(hosts)
    known = set(others)
    only = [host for host in hosts if host not in known]
    if not only:
        return f"{len(hosts)} hosts"
    more = f" and {len(only) - _MOST_HOSTS} more" if len(only) > _MOST_HOSTS else ""
    return f"{len(hosts)} hosts, with {', '.join(only[:_MOST_HOSTS])}{more}"


def _mitigation_changes(base: Run, new: Run) -> list[Change]:
    """The vulnerabilities of the processor that the kernel treats in another way."""
    before, after = _mitigations(base), _mitigations(new)
    if before is None or after is None:
        return []
    names = [
        name
        for name in sorted(before.keys() | after.keys())
        if before.get(name, NOT_AFFECTED) != after.get(name, NOT_AFFECTED)
    ]
    if not names:
        return []
    states = [
        MITIGATIONS_GAP.join(f"{name}: {each.get(name, NOT_AFFECTED)}" for name in names)
        for each in (before, after)
    ]
    return [Change("mitigations", *states)]


def _mitigations(run: Run) -> dict[str, str] | None:
    """The states of each vulnerability that a processor of the run has; None where none are
    known."""
    texts = {each.mitigations for each in run.environments if each.mitigations}
    if not texts:
        return None
    states: dict[str, set[str]] = {}
    for text in texts:
        for part in text.split(MITIGATIONS_GAP):
            name, colon, state = part.partition(": ")
            if colon:
                states.setdefault(name, set()).add(state)
    return {name: " or ".join(sorted(found)) for name, found in states.items()}


def _variable_changes(base: Run, new: Run) -> list[Change]:
    if not base.environments or not new.environments:
        return []
    before, after = _variables(base.environments), _variables(new.environments)
    return [
        Change(name, before.get(name, NOT_SET), after.get(name, NOT_SET))
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    ]


def _variables(ranks: Sequence[Environment]) -> Mapping[str, str]:
    """The variables that describe how ranks communicate, with the values of all ranks; not those
    that only name a job or a process, or that halftrip sets."""
    values: dict[str, set[str]] = {}
    for each in ranks:
        for name, value in each.variables.items():
            if (name, value) != _OWN and not _is_of_a_launch(name):
                values.setdefault(name, set()).add(value)
    return {name: ", ".join(sorted(found, key=_in_order)) for name, found in values.items()}


def _is_of_a_launch(name: str) -> bool:
    if name.startswith(_OF_A_JOB):
        return name not in _GIVEN
    return _OF_A_LAUNCH.fullmatch(name) is not None
