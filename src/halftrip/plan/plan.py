"""A plan: what to measure and how."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypedDict

import msgspec

from halftrip.plan.background import Background, parsed
from halftrip.plan.pairing import AtOnce, Pairs
from halftrip.plan.path_model_table import path_model_record
from halftrip.plan.settings import SETTINGS, SEVERAL, in_place
from halftrip.plan.sizes import DEFAULT_SIZES, parse_sizes
from halftrip.plan.vary import Against, Axis, against_record, values_of, variables
from halftrip.registry import DEFAULT_TRANSPORTS
from halftrip.results.configuration import (
    NO_BACKGROUND,
    UNTUNED,
    Buffers,
    Cache,
    Datatype,
    DeviceCopy,
    Object,
    Ownership,
    Places,
    Socket,
    Touch,
)
from halftrip.results.patterns import ROUND_TRIP, Mode, Pattern
from halftrip.results.reported import BASE, SIDE, Variant
from halftrip.simulation.path_model import PathModel
from halftrip.units import format_size

Placement = Literal["near", "far"]
# With until_ci: an interval over fewer launches is always wide; and the default of max_launches.
FEWEST_UNTIL_CI = 3
MOST_LAUNCHES = 30


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What to measure. An empty `wait`, `object`, `socket` or `ownership` means each transport's
    own default; an empty `mode` or `window` each pattern's. `socket_buffer` and what follows it up
    to `zerocopy` are those of `results.configuration.Tuning`, for the transports that have them.

    `extra` has what is asked for of the settings of plug-ins, by name.

    `delay` is ns, `rate` is bytes per second; `timeout`, seconds, is how long an answer to a
    datagram may take. `ranks` is how many ranks a launcher starts; by default two, or as many as
    `cores` are for. `cores` has one for each thread of each rank; None: cores are chosen; "none":
    ranks are left to the scheduler.

    The sampling of a configuration is dealt over the launch in `slices`, each of which takes its
    part of `time` seconds at most. A configuration that is within `ci` (a share of the median;
    None: never for that reason) after six slices gets no more; with `iterations` it has exactly
    that many iterations in all. Each slice begins with `warmup` iterations that are not kept (None:
    the first until their times have settled, later ones with a few). Fresh processes are started
    `launches` times, each of which measures all of that; if it is `dealt`, `slices` and `time` are
    those of all launches together, up to four times as much of what the first screen shows, and
    configurations that are within `ci` after six launches get no more. With `until_ci`, they
    are started until every row's interval is within `ci`, `max_launches` times at most.

    A plan with some `part` measures these: each is a plan of its own, with a few other keys, those
    of PART_KEYS.

    With `max_duration`, seconds, the whole run takes no longer: slices get shorter, then fewer.
    Ranks that have not started after `start_timeout`, seconds, are given up.

    `message_rate` adds a stream of small messages over each transport, for how many of them it
    carries in a second.

    Ranks are started on `hosts`, each named once for each of its ranks, by `ssh` (a command), where
    `remote_command` is what starts halftrip; or half of them on the host of ``halftrip serve`` that
    is the `peer`, whose secret is in `secret_file`. Between hosts they use the addresses of
    `interface` (a name, an address or a network) and listen on ports between `data_ports`, both
    included.

    What `pairs` draws at random, it draws by `pairs_seed` (None: by one that is drawn, too).

    Of what `vary` names, a name and its values each, every combination is measured in launches of
    its own (`variants`); `launches` and what is said of them are then about rounds of all
    combinations. The plan of one launch has one value of each. A plan that is measured `against`
    an earlier run varies its sides: the launches of the base have what that says.

    What slow hosts and links are told by is measured again, `retest` times, by fresh processes.

    A run in which a pair falls short of what is expected (`expect`, as `expectations.expected`
    reads it), or of what it had in the run file `baseline`, by more than the share `tolerance`
    (None: `expectations.DEFAULT_TOLERANCE`), fails; `fail_if_slow`, also one in which a host or a
    link is slow beside the others.

    `preset` names keys that hold unless another layer says otherwise. With `placement_state`, only
    samples count that were taken while the core-to-core round trip was in its fastest state
    ("near"), or in its slowest ("far"). `simulated` is the path model of the transport of that
    name; with it, only that transport is measured unless others are named. With `system_log`, every
    host's counters are recorded: for a second before and after all configurations, and after each
    configuration, or after several short ones. With `counters`, each configuration also has slices
    in which instructions and cycles are counted, and nothing is timed.
    """

    transport: tuple[str, ...] = DEFAULT_TRANSPORTS
    pattern: tuple[Pattern, ...] = (ROUND_TRIP,)
    mode: tuple[Mode, ...] = ()
    sizes: tuple[int, ...] = parse_sizes(DEFAULT_SIZES)
    message_rate: bool = False
    perturb: int = 0
    refine: bool = False
    window: tuple[int, ...] = ()
    places: tuple[Places, ...] = ("own",)
    touch: tuple[Touch, ...] = ("none",)
    delay: tuple[int, ...] = (0,)
    wait: tuple[str, ...] = ()
    buffers: tuple[Buffers, ...] = ("separate",)
    memory: tuple[str, ...] = ("host",)
    pages: tuple[str, ...] = ("4K",)
    cache: tuple[Cache, ...] = ("hot",)
    align: tuple[int, ...] = (0,)
    datatype: tuple[Datatype, ...] = ("byte",)
    object: tuple[Object, ...] = ()
    socket: tuple[Socket, ...] = ()
    ownership: tuple[Ownership, ...] = ()
    staging: tuple[str, ...] = ()
    device_copy: tuple[DeviceCopy, ...] = ()
    socket_buffer: tuple[int, ...] = (UNTUNED.socket_buffer,)
    nodelay: tuple[bool, ...] = (UNTUNED.nodelay,)
    congestion: tuple[str, ...] = (UNTUNED.congestion,)
    mss: tuple[int, ...] = (UNTUNED.mss,)
    dscp: tuple[int, ...] = (UNTUNED.dscp,)
    busy_poll: tuple[int, ...] = (UNTUNED.busy_poll,)
    streams: tuple[int, ...] = (UNTUNED.streams,)
    zerocopy: tuple[bool, ...] = (UNTUNED.zerocopy,)
    background: tuple[str, ...] = (NO_BACKGROUND,)
    extra: tuple[tuple[str, tuple[Any, ...]], ...] = ()
    rate: float | None = None
    timeout: float = 1.0
    verify: bool = False
    rtt: bool = False
    ci: float | None = 0.01
    time: float = 0.3
    iterations: int | None = None
    warmup: int | None = None
    slices: int = 20
    max_duration: float | None = None
    start_timeout: float | None = None
    preset: str | None = None
    launches: int = 1
    dealt: bool = False
    until_ci: bool = False
    max_launches: int = MOST_LAUNCHES
    retest: int = 1
    cores: tuple[int, ...] | Literal["none"] | None = None
    ranks: int | None = None
    placement_state: Placement | None = None
    simulated: PathModel | None = None
    system_log: bool = False
    counters: bool = False
    pairs: Pairs = "halves"
    pairs_seed: int | None = None
    concurrent_pairs: tuple[AtOnce, ...] = ("all",)
    threads: int = 1
    launcher: str | None = None
    mpiexec: str | None = None
    dragon: str | None = None
    ucx_library: str | None = None
    hosts: tuple[str, ...] | None = None
    peer: str | None = None
    secret_file: str | None = None
    ssh: str | None = None
    remote_command: str | None = None
    interface: str | None = None
    data_ports: tuple[int, int] | None = None
    expect: str | None = None
    baseline: str | None = None
    tolerance: float | None = None
    fail_if_slow: bool = False
    output: str | None = None
    quiet: bool = False
    vary: tuple[Axis, ...] = ()
    against: Against | None = None
    part: tuple[PartKeys, ...] = ()

    def with_keys(self, keys: Mapping[str, Any]) -> Plan:
        """The plan with these keys in place of its own."""
        extra = dict(self.extra)
        fields = dict(keys)
        for each in in_place("extra"):
            if each.name in fields:
                value = fields.pop(each.name)
                extra[each.name] = value if each.several else (value,)
        return msgspec.structs.replace(self, extra=tuple(sorted(extra.items())), **fields)

    def asked(self, name: str) -> tuple[Any, ...]:
        """The values that it has of a setting; none where each transport has its own."""
        setting = SETTINGS[name]
        if setting.place == "extra":
            return dict(self.extra).get(name, ())
        value = getattr(self, name)
        return value if setting.several else (value,)

    @property
    def variant(self) -> Variant:
        """What the configurations of a launch have of what is varied."""
        return tuple(sorted((name, value) for name, values in self.vary for value in values[:1]))

    @property
    def variables(self) -> dict[str, str | None]:
        """The environment variables of a launch that are varied; None: one that is not set."""
        variant = dict(self.variant)
        found = variables(variant)
        if self.against is not None and variant.get(SIDE) == BASE:
            found |= values_of(dict(self.against.env))
        return found

    @property
    def spans_hosts(self) -> bool:
        """Whether ranks are started on other hosts, without MPI."""
        return self.hosts is not None or self.peer is not None

    @property
    def part_plans(self) -> tuple[Plan, ...]:
        """The plan of each part, without parts; of a plan that has none, the plan itself. Together
        they have the same configurations."""
        if not self.part:
            return (self,)
        return tuple(self.with_keys({"part": (), **part}) for part in self.part)

    @property
    def transports(self) -> tuple[str, ...]:
        """The transports of all parts, each once."""
        return tuple(dict.fromkeys(name for each in self.part_plans for name in each.transport))

    @property
    def used_transports(self) -> tuple[str, ...]:
        """The same, and those that only traffic beside what is timed goes over."""
        beside = (each.transport for each in self._backgrounds if each.transport)
        return tuple(dict.fromkeys((*self.transports, *beside)))

    @property
    def all_threads(self) -> int:
        """How many threads of each rank talk to its partner: those that are timed, whose numbers
        come first, and one for each flow beside them."""
        return self.threads + max((each.flows for each in self._backgrounds), default=0)

    @property
    def _backgrounds(self) -> list[Background]:
        texts = [text for part in self.part_plans for text in part.background]
        return [each for each in map(parsed, dict.fromkeys(texts)) if each is not None]

    @property
    def limits(self) -> tuple[AtOnce, ...]:
        """How many pairs talk at the same time at most, of all parts, each once."""
        return tuple(
            dict.fromkeys(limit for each in self.part_plans for limit in each.concurrent_pairs)
        )

    def without(self, transport: str) -> Plan:
        """The plan without one of its transports."""
        return msgspec.structs.replace(
            self,
            **_without({"transport": self.transport, "background": self.background}, transport),
            part=tuple(_without(part, transport) for part in self.part),
        )


# What a part may have in place of the plan's.
PART_KEYS = (
    *("transport", "pattern", "mode", "sizes", "perturb", *SEVERAL),
    *("concurrent_pairs", "rate", "verify", "iterations", "warmup"),
    *(each.name for each in in_place("extra")),
)
if TYPE_CHECKING:
    PartKeys = Mapping[str, Any]
else:
    # Ranks get a plan as JSON: values are of the same types again.
    PartKeys = TypedDict(
        "PartKeys",
        {name: Plan.__annotations__.get(name, "tuple[Any, ...]") for name in PART_KEYS},
        total=False,
    )


def _without(keys: PartKeys, transport: str) -> dict[str, Any]:
    """The keys without a transport, also as that of traffic beside another one."""
    found = dict(keys)
    if "transport" in keys:
        found["transport"] = tuple(name for name in keys["transport"] if name != transport)
    if "background" in keys:
        left = [text for text in keys["background"] if transport not in text.split(":")[1:]]
        found["background"] = tuple(left) or (NO_BACKGROUND,)
    return found


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
    keys["vary"] = {name: list(values) for name, values in plan.vary} or None
    keys["against"] = None if plan.against is None else against_record(plan.against)
    keys["part"] = [dict(part) for part in plan.part] or None
    keys |= dict(keys.pop("extra"))
    return {name: value for name, value in keys.items() if value is not None}


def plan_record(plan: Plan) -> dict[str, Any]:
    """The plan as a run file has it: the keys of a TOML plan that makes it again."""
    keys = plan_keys(plan)
    keys = {name: value for name, value in keys.items() if name not in ("output", "quiet")}
    if plan.part:
        keys["part"] = [_written(part) for part in keys["part"]]
    return _written(keys)


def _written(keys: Mapping[str, Any]) -> dict[str, Any]:
    """Keys as a run file has them."""
    written = {
        name: list(value) if isinstance(value, tuple) else value for name, value in keys.items()
    }
    if "sizes" in keys:
        written["sizes"] = ",".join(format_size(size) for size in keys["sizes"])
    return written


# Without these, what else a plan has would change what they are.
_ALWAYS = ("transport", "sizes", "pairs", "slices", "launches")


def plan_text(plan: Plan) -> str:
    """The keys in which it differs from a plan that says nothing: an older halftrip does not know
    all of them."""
    usual = plan_record(Plan())
    keys = {
        name: value
        for name, value in plan_record(plan).items()
        if name in _ALWAYS or value != usual.get(name)
    }
    return "".join(f"{name} = {_toml_value(value)}\n" for name, value in keys.items())


def _toml_value(value: Any) -> str:
    """A value of JSON in TOML."""
    if isinstance(value, Mapping):
        inner = ", ".join(
            f"{_toml_text(name)} = {_toml_value(each)}" for name, each in value.items()
        )
        return f"{{{inner}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml_value, value))}]"
    if isinstance(value, str):
        return _toml_text(value)
    return json.dumps(value)


def _toml_text(text: str) -> str:
    # A string of JSON is one of TOML, where a DEL has to be escaped, too.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
