"""A plan: what to measure and how."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from halftrip.plan.pairing import Pairs
from halftrip.plan.path_model_table import path_model_record
from halftrip.plan.sizes import DEFAULT_SIZES, parse_sizes
from halftrip.registry import DEFAULT_TRANSPORTS
from halftrip.results.configuration import Buffers, Cache, Datatype, Places, Touch
from halftrip.results.patterns import Mode, Pattern
from halftrip.simulation.path_model import PathModel
from halftrip.units import format_size

Placement = Literal["near", "far"]
# With until_ci: an interval over fewer launches is always wide; and the default of max_launches.
FEWEST_UNTIL_CI = 3
MOST_LAUNCHES = 30


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What to measure. An empty `wait` means each transport's own default; an empty `mode` or
    `window` each pattern's.

    `rate` is bytes per second; `timeout`, seconds, is how long an answer to a datagram may take.
    `ranks` is how many ranks a launcher starts; by default two, or as many as `cores` are for.
    `cores` has one for each thread of each rank; None: cores are chosen; "none": ranks are left to
    the scheduler.

    The sampling of a configuration is dealt over the launch in `slices`, each of which takes its
    part of `time` seconds at most. A configuration that is within `ci` (a share of the median;
    None: never for that reason) after six slices gets no more; with `iterations` it has exactly
    that many iterations in all. Each slice begins with `warmup` iterations that are not kept (None:
    until their times have settled). Fresh processes are started `launches` times; with `until_ci`,
    until every row's interval over them is within `ci`, `max_launches` times at most.

    With `max_duration`, seconds, the whole run takes no longer: slices get shorter, then fewer.

    `message_rate` adds a stream of small messages over each transport, for how many of them it
    carries in a second.

    `preset` names keys that hold unless another layer says otherwise. With `placement_state`, only
    samples count that were taken while the core-to-core round trip was in its fastest state
    ("near"), or in its slowest ("far"). `simulated` is the path model of the transport of that
    name; with it, only that transport is measured unless others are named. With `system_log`, every
    host's counters are recorded: for a second before and after all configurations, and after each
    configuration, or after several short ones.
    """

    transport: tuple[str, ...] = DEFAULT_TRANSPORTS
    pattern: tuple[Pattern, ...] = ("pingpong",)
    mode: tuple[Mode, ...] = ()
    sizes: tuple[int, ...] = parse_sizes(DEFAULT_SIZES)
    message_rate: bool = False
    perturb: int = 0
    refine: bool = False
    window: tuple[int, ...] = ()
    places: tuple[Places, ...] = ("own",)
    touch: tuple[Touch, ...] = ("none",)
    wait: tuple[str, ...] = ()
    buffers: tuple[Buffers, ...] = ("separate",)
    memory: tuple[str, ...] = ("host",)
    pages: tuple[str, ...] = ("4K",)
    cache: tuple[Cache, ...] = ("hot",)
    align: tuple[int, ...] = (0,)
    datatype: tuple[Datatype, ...] = ("byte",)
    rate: float | None = None
    timeout: float = 1.0
    verify: bool = False
    rtt: bool = False
    ci: float | None = 0.01
    time: float = 0.3
    iterations: int | None = None
    warmup: int | None = None
    slices: int = 10
    max_duration: float | None = None
    preset: str | None = None
    launches: int = 1
    until_ci: bool = False
    max_launches: int = MOST_LAUNCHES
    cores: tuple[int, ...] | Literal["none"] | None = None
    ranks: int | None = None
    placement_state: Placement | None = None
    simulated: PathModel | None = None
    system_log: bool = False
    pairs: Pairs = "halves"
    concurrent_pairs: int | None = None
    threads: int = 1
    launcher: str | None = None
    mpiexec: str | None = None
    output: str | None = None
    quiet: bool = False


# A configuration ends by these keys, or after `iterations`.
STOPS_EARLY = ("ci", "time")


def plan_keys(plan: Plan) -> dict[str, Any]:
    """The keys from which `layers.make_plan` makes the plan again, without those that are None."""
    keys = msgspec.structs.asdict(plan)
    keys["ci"] = "none" if plan.ci is None else plan.ci
    for name in STOPS_EARLY if plan.iterations is not None else ("iterations",):
        del keys[name]
    if plan.simulated is not None:
        keys["simulated"] = path_model_record(plan.simulated)
    return {name: value for name, value in keys.items() if value is not None}


def plan_record(plan: Plan) -> dict[str, Any]:
    """The plan as a run file has it: the keys of a TOML plan that makes it again."""
    record = plan_keys(plan)
    record["sizes"] = ",".join(format_size(size) for size in plan.sizes)
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in record.items()
        if name not in ("output", "quiet")
    }
