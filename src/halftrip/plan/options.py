"""The options of ``halftrip run``, which are also the keys of a plan: one table makes the command
line, its help, the reading of plans, docs/options.md and the man page."""

from __future__ import annotations

from typing import get_args

from halftrip.errors import UsageError
from halftrip.plan import cores, expectations, hosts, memory, parsing, vary
from halftrip.plan.option import RANKS, REPEATS, RETESTS, THREADS, Option
from halftrip.plan.pairing import Pairing
from halftrip.plan.path_model_table import parse_path_model
from halftrip.plan.plan import Placement
from halftrip.plan.recipes import PRESETS
from halftrip.plan.settings import SETTINGS, WITH_FIELDS, in_place
from halftrip.registry import (
    DEFAULT_TRANSPORTS,
    EXTRA_SETTINGS,
    LAUNCHERS,
    SIMULATED,
    TRANSPORTS,
)
from halftrip.results.patterns import ONE_SIDED, ROUND_TRIP, SHAPES, Mode, Pattern

# The groups of the help, by the names that options have for them.
GROUPS = {
    "what": "What is measured",
    "long": "How long",
    "where": "Where",
    "output": "Output",
    "expert": "Expert",
}


def _of(*names: str) -> dict[str, Option]:
    """The options of these settings."""
    return {
        name: Option(*(getattr(each, field) for field in Option._fields))
        for name in names
        for each in [SETTINGS[name]]
    }


# Nobody needs the others to begin with.
_FIRST, *_WHAT = [name for name, each in WITH_FIELDS.items() if each.group == "what"]
_EXPERT = [name for name in WITH_FIELDS if name not in (_FIRST, *_WHAT)]


def _transports() -> str:
    """The names of halftrip's own transports: those of a plan that names none, then others by what
    they need, and those whose calls are Python."""
    own = {name: target for name, target in TRANSPORTS.built_in.items() if name != SIMULATED}
    in_python = [name for name, target in own.items() if ".python." in target]
    groups: dict[str, list[str]] = {}
    for name in (name for name in own if name not in in_python):
        kind = "usual" if name in DEFAULT_TRANSPORTS else TRANSPORTS.entry(name).needs
        groups.setdefault(kind, []).append(name)
    return "; ".join([*map(", ".join, groups.values()), f"in Python: {', '.join(in_python)}"])


OPTIONS: dict[str, Option] = {
    "transport": Option(
        parsing.some_of(TRANSPORTS),
        f"{_transports()}; {SIMULATED}: in virtual time. [the first six]",
        ("-t",),
        group="what",
        served="taken",
    ),
    "pattern": Option(
        parsing.some_of(get_args(Pattern)),
        f"{', '.join(SHAPES)}. [{ROUND_TRIP}]",
        ("-p",),
        group="what",
        served="taken",
    ),
    "mode": Option(
        parsing.some_of(get_args(Mode)),
        f"{', '.join(get_args(Mode))}. [blocking; onesided for {', '.join(ONE_SIDED)}]",
        ("-c",),
        group="what",
        served="taken",
    ),
    "sizes": Option(
        parsing.sizes,
        "8,64,1K or 1..4M or 1:4M (doubles), 1..4M*4, 0..4000+4. [1..4M]",
        ("-s", "-m"),
        group="what",
        served="taken",
    ),
    **_of(_FIRST),
    "message_rate": Option(
        parsing.flag,
        "Also a stream of 8 bytes: messages per second. [yes if nothing says what to measure]",
        negatable=True,
        group="what",
        served="taken",
    ),
    **_of(*_WHAT),
    "preset": Option(
        parsing.one_of(PRESETS),
        "quick, standard or paper: defaults for all other options.",
        group="what",
        served="kept",
    ),
    "ci": Option(
        parsing.interval_width,
        "End a configuration when its interval is this narrow, or none. [1%]",
        group="long",
        served="taken",
    ),
    "time": Option(
        parsing.seconds,
        "End a configuration after this much sampling; dealt to launches, after 0.1s. [0.3s]",
        group="long",
        served="taken",
    ),
    "iterations": Option(
        parsing.count,
        "End a configuration after exactly this many iterations instead.",
        ("-i",),
        group="long",
        served="taken",
    ),
    "warmup": Option(
        parsing.count_or_0,
        "Begin each slice with exactly this many untimed iterations. [until times have settled]",
        ("-x",),
        group="long",
        served="taken",
    ),
    "slices": Option(
        REPEATS,
        "Deal the time of a configuration over the run in so many parts. [20]",
        ("-r",),
        group="long",
        served="taken",
    ),
    "max_duration": Option(
        parsing.seconds,
        "End the whole run within this time: shorter, then fewer slices. [none]",
        group="long",
        served="taken",
    ),
    "launches": Option(
        REPEATS,
        "Start fresh processes this many times, each for all slices. [slices are dealt to ten]",
        group="long",
        served="taken",
    ),
    "until_ci": Option(
        parsing.flag,
        "Launch again until every interval is within --ci.",
        group="long",
        served="taken",
    ),
    "max_launches": Option(
        REPEATS, "With --until-ci, at most this many launches. [30]", group="long", served="taken"
    ),
    "retest": Option(
        RETESTS,
        "Measure again, so often, before a host or a link is called slow; 0: never. [1]",
        group="long",
        served="kept",
    ),
    "ranks": Option(RANKS, "How many ranks. [2]", ("-n",), group="where", served="taken"),
    "pairs": Option(
        parsing.pairs_of(get_args(Pairing)),
        "Who talks to whom: halves, neighbours, reciprocal (neighbours, each as initiator), all, "
        "across (hosts; so are three --hosts or more), congestion (to the first of --hosts, then "
        "random), or 0-3,1-2. [halves]",
        group="where",
        served="taken",
    ),
    "pairs_seed": Option(
        parsing.count_or_0,
        "Which random pairs --pairs congestion draws. [drawn, and recorded]",
        group="where",
    ),
    "concurrent_pairs": Option(
        parsing.at_once,
        "How many pairs talk at the same time: a number, all, caches (all that share no last-level "
        "cache), or one after the other: 1,all. [all]",
        group="where",
        served="taken",
    ),
    "threads": Option(
        THREADS,
        "How many threads of each rank talk at the same time. [1]",
        group="where",
        served="taken",
    ),
    "cores": Option(
        cores.cores,
        "A core for each rank: 0,1; all; physical, one thread of each; nodes, two of each; none. "
        "[chosen]",
        group="where",
        served="taken",
    ),
    "launcher": Option(
        parsing.one_of(LAUNCHERS),
        "Who starts them: local, mpiexec, dragon, ssh, peer. [as what is measured needs]",
        group="where",
        served="kept",
    ),
    "mpiexec": Option(
        parsing.text, "Which mpiexec, and so which MPI; may have arguments.", group="where"
    ),
    "dragon": Option(
        parsing.text,
        "How Dragon's runtime is started, as: dragon -w ssh --hostlist a,b. [dragon -s]",
        group="where",
    ),
    "ucx_library": Option(
        parsing.text,
        "Which UCX: its libucp.so.0, or the folder that has it. [the MPI's, or the first found]",
        group="where",
        served="kept",
    ),
    "vary": Option(
        vary.axes,
        "Launches for each value, in turn: mpiexec=a,b or env.UCX_TLS=posix,tcp; also launcher, "
        "cores, interface...; repeatable: all combinations. With commas in values: a;b.",
        group="where",
    ),
    "hosts": Option(
        hosts.hosts,
        "Start ranks on these hosts, without MPI: a,b or a:2,b:2 or node[1-4], or all of a "
        "scheduler's.",
        group="where",
    ),
    "hostfile": Option(
        hosts.hostfile, "A file with a host in each line, as n1, n1:2 or n1 slots=2.", group="where"
    ),
    "ssh": Option(
        parsing.text, "What starts a command on a host, as: ssh -p 2222. [ssh]", group="where"
    ),
    "remote_command": Option(
        parsing.text, "What starts halftrip on hosts. [the path that it has here]", group="where"
    ),
    "start_timeout": Option(
        parsing.seconds,
        "How long ranks may take to start. [30s; 15s by Dragon, 3min on several nodes]",
        group="where",
    ),
    "peer": Option(
        hosts.peer,
        "Half of the ranks here, half where halftrip serve runs: HOST or HOST:PORT.",
        group="where",
        served="kept",
    ),
    "secret_file": Option(
        parsing.text,
        "A file with the secret that --peer's halftrip serve wants.",
        group="where",
        served="kept",
    ),
    "interface": Option(
        parsing.text,
        "Between hosts, use this interface, address or network, as eth1 or 10.1.0.0/16. [any]",
        group="where",
        served="kept",
    ),
    "data_ports": Option(
        parsing.ports,
        "Between hosts, listen on these ports alone: 5202-5299. [any]",
        group="where",
        served="kept",
    ),
    "expect": Option(
        expectations.expectations,
        "Exit with 1 if a host or link falls short of latency=3us,bandwidth=11GB/s,messages=1M.",
        group="output",
        served="kept",
    ),
    "baseline": Option(
        parsing.text,
        "Exit with 1 if a host or link is worse than in this run file.",
        group="output",
        served="kept",
    ),
    "tolerance": Option(
        parsing.share,
        "How much worse than --expect or --baseline may be. [10%]",
        group="output",
        served="kept",
    ),
    "fail_if_slow": Option(
        parsing.flag,
        "Exit with 1 if a host or link is slow beside the others.",
        group="output",
        served="kept",
    ),
    "output": Option(
        parsing.text,
        "The run file. [halftrip-DATE-TIME.jsonl]",
        ("-o",),
        group="output",
        served="kept",
    ),
    "quiet": Option(
        parsing.flag, "Print the name of the run file only.", ("-q",), group="output", served="kept"
    ),
    "rtt": Option(
        parsing.flag,
        "Print round trips of pingpong, not their half.",
        group="output",
        served="taken",
    ),
    "system_log": Option(
        parsing.flag,
        "Record every host's counters, configuration by configuration. [no]",
        negatable=True,
        group="output",
    ),
    "counters": Option(
        parsing.flag,
        "Count instructions and cycles as well, in slices of their own, which are not timed. [no]",
        negatable=True,
        group="output",
        served="taken",
    ),
    "perturb": Option(
        parsing.count_or_0,
        "Also measure each size minus and plus this many bytes. [0]",
        served="taken",
    ),
    "refine": Option(
        parsing.flag, "Add sizes at breakpoints of the curve, to locate them.", served="taken"
    ),
    **_of(*_EXPERT),
    "memory_node": Option(
        memory.of_nodes,
        "Host memory of this NUMA node, or INITIATOR:RESPONDER: 0, 0:1, all in turn; as --memory "
        "host@0.",
        placeholder="NODES",
    ),
    "timeout": Option(
        parsing.seconds, "How long to wait for an answer to a datagram. [1s]", served="taken"
    ),
    "placement_state": Option(
        parsing.one_of(get_args(Placement)),
        "Only samples taken while the cores were near, or far (core-to-core). [any]",
        served="taken",
    ),
    "dealt": Option(parsing.flag, served="taken"),
    "simulated": Option(parse_path_model),
    "against": Option(vary.against, served="kept"),
    "part": Option(parsing.tables, served="taken"),
}

for _each in in_place("extra"):
    if _each.name in OPTIONS:
        raise UsageError(
            f"{EXTRA_SETTINGS.group} {_each.name!r}: a plan has another key of this name"
        )
    OPTIONS |= _of(_each.name)

# Options that are another way to give a key.
STANDS_FOR = {"hostfile": "hosts", "memory_node": "memory"}
