"""What a setting of a configuration is, and which values it has at a point of a plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from operator import attrgetter
from typing import Any, Literal, NamedTuple

import msgspec

from halftrip.plan import memory
from halftrip.results.configuration import TUNABLE, UNKNOWN, Configuration
from halftrip.results.memory_name import is_of_host
from halftrip.results.patterns import SHAPES, STREAM

# The values of the settings of which a transport has its own, by name, its default first; none of
# a setting that takes any number. It has no others of these settings.
Choices = Mapping[str, tuple[Any, ...]]


# The kind of values in CSV and JSON; with a question mark, there may be none.
Kind = Literal["text", "whole", "number", "yes or no", "text?", "whole?", "number?", "yes or no?"]
Place = Literal["configuration", "ends", "transport", "sockets", "extra"]
# What becomes of a key of a client's plan: a server's ranks get it; it stays with the client, as it
# is nothing to them; or no client may ask for it.
Served = Literal["taken", "kept", "refused"]
# Where those are that only some transports have.
OF_TRANSPORTS: tuple[Place, ...] = ("transport", "sockets", "extra")
# A value of a configuration.
Of = Callable[[Configuration], Any]


class Point(NamedTuple):
    """Where a setting gets its values: what the plan has `asked` for, the values that the transport
    has of its `own` (None: it has no such setting), what there is where it has not (`standard`),
    and the settings `chosen` before."""

    asked: tuple[Any, ...]
    own: tuple[Any, ...] | None
    standard: Any
    chosen: Mapping[str, Any]


def as_asked(point: Point) -> tuple[Any, ...]:
    return point.asked


def asked_or_own(point: Point) -> tuple[Any, ...]:
    return point.asked or (point.own or ())[:1]


def of_transport(point: Point) -> tuple[Any, ...]:
    """What was asked for does not apply where there is no choice."""
    own = point.own or ()
    return (point.asked if len(own) > 1 else ()) or own[:1] or (point.standard,)


def of_sockets(point: Point) -> tuple[Any, ...]:
    return (point.standard,) if point.own is None else point.asked


def of_extra(point: Point) -> tuple[Any, ...]:
    """As of others that only some transports have; any value where the transport names none, and
    none at all where it has no such setting."""
    if point.own is None:
        return (None,)
    return of_transport(point) if point.own else point.asked or (point.standard,)


def windows(point: Point) -> tuple[int, ...]:
    default = SHAPES[point.chosen["pattern"]].window
    return (1,) if default is None else point.asked or (default,)


def places(point: Point) -> tuple[str, ...]:
    """The places of a window's messages. A single message has only one. A cold cache and --verify
    need one for each."""
    if point.chosen["window"] == 1:
        return ("same",)
    each = point.chosen["cache"] == "cold" or point.chosen["verify"]
    return ("own",) if each else point.asked


def delays(point: Point) -> tuple[int, ...]:
    """The delays of a window's messages: a stream of one has nothing between its sends."""
    alone = point.chosen["pattern"] == STREAM and point.chosen["window"] == 1
    return (0,) if alone else point.asked


def stagings(point: Point) -> tuple[int | None, ...]:
    """How messages between the memory of both ends are staged: none are where the processor reaches
    both, and a transport that knows a single way has it for all that was asked. Of one that stages
    as needed, its rank refuses either."""
    kinds = point.own
    if not kinds or all(map(is_of_host, memory.both_of(point.chosen["memory"]))):
        return (None,)
    asked = [memory.staging_bytes(text) for text in point.asked]
    possible = [each for each in asked if ("none" if each is None else "staged") in kinds]
    if not possible and "as-needed" in kinds:
        return (None, 0)
    return tuple(possible) or (None if kinds[0] == "none" else 0,)


class Setting(msgspec.Struct, frozen=True, dict=True):
    """A setting of a configuration. `name` is that of its option, of its key in a plan, and of its
    field. `place` says where the field is: in the configuration itself, in the settings of both
    `ends`, or in those of its `sockets`; one that is `extra` has none, but stands by name in the
    field of that name. Only some transports have a setting of the places `transport`, `sockets` and
    `extra`: those whose `Capabilities.settings` name it.

    `read`, `help`, `short`, `negatable`, `group` and `placeholder` are those of its
    `option.Option`. A plan may have `several` values, as a tuple; `values` are those that it has
    at a point, and `standard` that of a configuration that has no choice of it.

    `heading` is what tables call it, and `write` makes text of a value, `no_value` of None. What
    all rows have in common is left out where it is `usual`, and in a brief heading where it is the
    `default` of a plan. Simulated paths have no setting that `is_of_buffers`. `attribute` is the
    attribute of a configuration with the value in effect, if that is not its field. Rows are sorted
    by all settings, then by size; by one that is not `before_size`, after the size. Tables leave it
    out of a configuration to which it does not apply. Clients of ``halftrip serve`` may ask for it
    if it is `served`.

    In CSV and JSON it is called `column`, if that is not its name, with its `unit` behind; `kind`
    is that of the values, and `says` what it is.
    """

    name: str
    read: Callable[[Any], Any]
    help: str
    short: tuple[str, ...] = ()
    negatable: bool = False
    group: str = "expert"
    placeholder: str = "NAME"
    place: Place = "configuration"
    several: bool = True
    values: Callable[[Point], tuple[Any, ...]] = as_asked
    standard: Any = None
    heading: str = ""
    write: Callable[[Any], str] = str
    no_value: str = ""
    usual: str | None = None
    default: str | None = None
    is_of_buffers: bool = False
    column: str = ""
    unit: str = ""
    kind: Kind = "text"
    says: str = ""
    attribute: str = ""
    before_size: bool = True
    served: Served = "taken"
    applies: Callable[[Configuration], bool] = lambda _: True

    @property
    def title(self) -> str:
        return self.heading or self.name.replace("_", " ")

    @property
    def option(self) -> str:
        return f"--{self.name.replace('_', '-')}"

    @property
    def figure(self) -> str:
        """Its name in CSV and JSON, which ends in its unit."""
        return "_".join(filter(None, (self.column or self.name, self.unit)))

    @property
    def field(self) -> str:
        """The field of a configuration, or of its ends, that has it."""
        return {"sockets": "tuning", "extra": "extra"}.get(self.place, self.name)

    @property
    def without(self) -> Any:
        """What a configuration has whose transport has no such setting."""
        return None if self.place == "extra" else self.standard

    @property
    def is_own(self) -> bool:
        """Whether layers may differ in it, as not every transport has all of its values."""
        return self.place in OF_TRANSPORTS or self.values in (asked_or_own, stagings)

    @cached_property
    def of(self) -> Of:
        """The value that a configuration has; of ends, a text such as ``spin:block``. UNKNOWN where
        a text that was imported does not say it."""
        return self._said(self._of)

    def _said(self, of: Of) -> Of:
        return lambda each: UNKNOWN if self.name in each.unknown else of(each)

    @cached_property
    def _of(self) -> Of:
        if self.place == "ends":
            return lambda configuration: configuration.both_ends(self.name)
        if self.place == "extra":
            return lambda configuration: dict(configuration.extra).get(self.name)
        return attrgetter(f"tuning.{self.name}" if self.place == "sockets" else self.name)

    @cached_property
    def in_effect(self) -> Of:
        """The same as far as it has an effect; None of sockets that have no such setting."""
        if self.place != "sockets":
            return self._said(attrgetter(self.attribute)) if self.attribute else self.of
        of, standard = self.of, self.standard
        having = {transport for transport, names in TUNABLE.items() if self.name in names}

        def in_effect(configuration: Configuration) -> Any:
            value = of(configuration)
            return value if value != standard or configuration.transport in having else None

        return in_effect

    def text(self, configuration: Configuration) -> str:
        """The value as text; nothing where a configuration has no such setting, or where the tool
        that was imported does not say."""
        value = self.in_effect(configuration)
        if value is None:
            return self.no_value
        if self.place == "sockets" and value == self.standard:
            return self.usual or ""
        is_known = value != UNKNOWN and self.applies(configuration)
        return self.write(value) if is_known else ""

    def copied(self, configuration: Configuration, like: Configuration) -> Configuration:
        """A configuration with this setting as another one has it."""
        replace, name = msgspec.structs.replace, self.name
        if self.place == "ends":
            initiator, responder = (
                replace(end, **{name: getattr(other, name)})
                for end, other in zip(configuration.ends, like.ends, strict=True)
            )
            return replace(configuration, initiator=initiator, responder=responder)
        if self.place == "sockets":
            tuning = replace(configuration.tuning, **{name: getattr(like.tuning, name)})
            return replace(configuration, tuning=tuning)
        if self.place == "extra":
            value = dict(like.extra).get(name)
            extra = tuple((key, value if key == name else own) for key, own in configuration.extra)
            return replace(configuration, extra=extra)
        return replace(configuration, **{name: getattr(like, name)})
