"""What a transport can do, as data, and why a configuration is refused."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from halftrip.errors import UsageError
from halftrip.plan.memory import StagingKind
from halftrip.plan.setting import OF_TRANSPORTS, Choices
from halftrip.plan.settings import SETTINGS, in_place
from halftrip.results.configuration import Configuration, EndSettings, Wait
from halftrip.results.memory_name import is_of_host, parse_memory
from halftrip.results.patterns import ONE_WAY, Mode, Pattern

# The settings that only some transports have.
_OF_TRANSPORTS = (SETTINGS["datatype"], *in_place(*OF_TRANSPORTS))
_SAME = "only a ping-pong in turn sends from the buffer that it receives into"


class Capabilities(NamedTuple):
    """`patterns` has the patterns of each mode; `no_mode` and `no_pattern` have a reason for a
    missing mode or pattern, where one can be given. `waits` are the ways in which a receiver can
    wait, the default first, and `no_other_wait` says why there are no others.

    `smallest` and `largest` are message sizes in bytes (`largest` None: no limit), `too_small`
    and `too_large` the refusals of other sizes. An empty text stands for a general one. A
    `byte_stream` sends nothing for an empty message, and so has none. `rated`
    are the patterns that can offer a --rate, `delayed` those whose initiator can have a
    --delay. `settings` are those that not every transport has (`plan.settings`), each with the
    values that this one has, the default first; those that take any value, as all of sockets
    do, stand with an empty tuple. `lossy`: messages can be lost, so no end waits for the other
    for ever, and every iteration is a sample by itself. `shares_memory`: it needs the pair's
    segment (`transports.base.PairContext`). `opens_memory`: each end opens memory of the other,
    which may only be freed when both have closed it. `of_host`: messages can be in memory that the
    processor reaches; `memories` are the kinds of other memory that they can be in, where these are
    few; `copied_once`: on one host the kernel may copy a message straight from the peer's memory;
    `staging` is how they can be in any other. `no_verify` is empty, or why messages cannot be
    verified.
    """

    patterns: Mapping[Mode, tuple[Pattern, ...]]
    waits: tuple[Wait, ...]
    no_other_wait: str = ""
    no_mode: Mapping[Mode, str] = MappingProxyType({})
    no_pattern: Mapping[Pattern, str] = MappingProxyType({})
    memories: tuple[str, ...] = ()
    of_host: bool = True
    staging: tuple[StagingKind, ...] = ()
    settings: Choices = MappingProxyType({})
    rated: tuple[Pattern, ...] = ()
    delayed: tuple[Pattern, ...] = ()
    smallest: int = 0
    too_small: str = ""
    largest: int | None = None
    too_large: str = ""
    byte_stream: bool = False
    lossy: bool = False
    copied_once: bool = False
    shares_memory: bool = False
    opens_memory: bool = False
    no_verify: str = ""

    @property
    def choices(self) -> Choices:
        """The values of the settings whose default is the transport's own. Raises UsageError for
        `settings` that there are not, or that have no such values."""
        wrong = [name for name in self.settings if SETTINGS.get(name) not in _OF_TRANSPORTS]
        if wrong:
            names = ", ".join(each.name for each in _OF_TRANSPORTS)
            raise UsageError(
                f"Capabilities.settings: {wrong[0]}: no such setting; allowed: {names}"
            )
        for name, values in self.settings.items():
            place = SETTINGS[name].place
            if place != "extra" and bool(values) is (place == "sockets"):
                rule = "without values" if values else "with values, the default first"
                raise UsageError(f"Capabilities.settings: {name}: it stands there {rule}")
        return {"wait": self.waits, "staging": self.staging, **self.settings}

    def refusal(self, configuration: Configuration) -> str | None:
        """Why a configuration cannot be done, or None: the widest reason first."""
        return (
            self._no_kind(configuration)
            or self._no_setting(configuration)
            or self._no_size(configuration)
        )

    def _no_kind(self, configuration: Configuration) -> str | None:
        """Why there is no such pattern in this mode, or None."""
        name, pattern, mode = configuration.transport, configuration.pattern, configuration.mode
        if mode in self.no_mode:
            return self.no_mode[mode]
        modes = [other for other, patterns in self.patterns.items() if pattern in patterns]
        if not modes:
            return self.no_pattern.get(pattern) or self._other_patterns(name, pattern)
        if mode not in self.patterns:
            return f"{name} has no {mode} calls, only {', '.join(self.patterns)}"
        if mode not in modes and mode == "onesided":
            return f"no onesided {pattern}, only {', '.join(self.patterns[mode])}"
        if mode not in modes:
            return f"no {mode} {pattern}, only {', '.join(modes)}"
        return None

    def _other_patterns(self, name: str, pattern: Pattern) -> str:
        """That there is no such pattern, but others."""
        every = dict.fromkeys(itertools.chain.from_iterable(self.patterns.values()))
        others = f"only {', '.join(every)}" if every else "nor any other pattern in this build"
        return f"{name} has no {pattern}, {others}"

    def _no_setting(self, configuration: Configuration) -> str | None:
        """Why a setting of the configuration, or of one of its ends, is not possible, or None."""
        for end in configuration.ends:
            if configuration.shape.is_polled and end.wait != "spin":
                return f"--wait {end.wait}: what is put wakes nobody; its target polls"
            if end.wait not in self.waits:
                reason = (
                    self.no_other_wait or f"{configuration.transport} has {', '.join(self.waits)}"
                )
                return f"--wait {end.wait}: {reason}"
            if self.of_host and self._is_window(end, configuration) and end.memory != "host":
                return (
                    f"--memory {end.memory}: {configuration.transport} has windows in the host's "
                    "memory only"
                )
            if not self._takes(end.memory, configuration):
                return self._other_memory(end.memory, configuration.transport)
            if end.pages == "huge" and configuration.is_one_sided:
                return "--pages huge: a window has pages of the default size"
        no_delay = self._no_delay(configuration)
        no_staging = _no_staging(configuration)
        lacking = self._lacking(configuration)
        refusals = (
            (
                configuration.buffers == "same"
                and (not configuration.is_in_turn or configuration.is_one_sided),
                f"--buffers same: {_SAME}",
            ),
            (
                configuration.datatype not in self._own("datatype"),
                f"--datatype {configuration.datatype}: only MPI has datatypes",
            ),
            (bool(lacking), lacking),
            (
                configuration.rate is not None and configuration.pattern not in self.rated,
                "--rate: only a stream of udp has one",
            ),
            (bool(no_delay), no_delay),
            (bool(no_staging), no_staging),
            (
                configuration.touch != "none"
                and (not configuration.is_one_sided or configuration.shape.is_polled),
                (
                    f"--touch {configuration.touch}: "
                    "only put and get leave the peer's memory to be touched"
                ),
            ),
            (
                configuration.touch == "untimed" and configuration.concurrency > 1,
                "--touch untimed: pairs that talk at once have no untimed moment in common",
            ),
            (configuration.verify and bool(self.no_verify), f"--verify: {self.no_verify}"),
        )
        return next((reason for refused, reason in refusals if refused), None)

    def _own(self, name: str) -> tuple[Any, ...]:
        """The values of a setting; what there is where the transport has no such one."""
        setting = SETTINGS[name]
        return self.settings.get(name) or (setting.without,)

    def _lacking(self, configuration: Configuration) -> str:
        """That a transport has no such setting, or other values of it; empty if it has this."""
        name = configuration.transport
        for each in in_place(*OF_TRANSPORTS):
            value, own = each.of(configuration), self._own(each.name)
            # An extra setting that a configuration lacks is as the transport has it by itself.
            takes_any = self.settings.get(each.name) == () or (
                each.place == "extra" and value is None
            )
            if takes_any or value in own:
                continue
            if each.place == "sockets":
                return f"{each.option}: {name} has no such setting"
            values = ", ".join(str(one) for one in own if one not in (None, ""))
            return f"{each.option} {value}: {name} has {values or 'none'}"
        return ""

    @staticmethod
    def _is_window(end: EndSettings, configuration: Configuration) -> bool:
        """Whether the peer reaches into this end's memory, which its transport allocates."""
        return configuration.is_one_sided and (
            configuration.shape.is_polled or end is configuration.responder
        )

    def _takes(self, memory: str, configuration: Configuration) -> bool:
        """Whether messages can be in an end's memory."""
        if is_of_host(memory):
            return self.of_host
        if self.memories:
            return parse_memory(memory).kind in self.memories
        return configuration.staging is not None or "none" in self.staging

    def _other_memory(self, memory: str, name: str) -> str:
        """That there are no messages in such memory."""
        has = ", ".join(self.memories) or "what the processor reaches"
        if self.staging:
            has += ", and else stages"
        return f"--memory {memory}: {name} has {has}"

    def _no_delay(self, configuration: Configuration) -> str:
        """Why the initiator cannot have the delay; empty if it can, or has none."""
        if not configuration.delay:
            return ""
        if not self.delayed:
            return f"--delay: the timed loops of {configuration.transport} have none"
        if configuration.pattern not in self.delayed or configuration.mode != "blocking":
            return f"--delay: only a blocking {' or '.join(self.delayed)} has one"
        return ""

    def _no_size(self, configuration: Configuration) -> str | None:
        name = configuration.transport
        if self.byte_stream and configuration.size == 0:
            return "a byte stream has no empty messages"
        if configuration.shape.is_polled and configuration.size == 0:
            return f"an empty {configuration.pattern} leaves no byte to poll"
        if configuration.size < self.smallest:
            return self.too_small or f"{name} has no messages below {self.smallest} bytes"
        if self.largest is not None and configuration.size > self.largest:
            return self.too_large or f"{name} has no messages above {self.largest} bytes"
        return None


def _no_staging(configuration: Configuration) -> str:
    """Why messages cannot be staged; empty if they can, or need not."""
    if configuration.staging is None:
        return ""
    mode, datatype = configuration.mode, configuration.datatype
    in_chunks = configuration.staging > 0
    refusals = (
        (mode != "blocking", f"no staged messages with {mode} calls, only with blocking ones"),
        (
            in_chunks and configuration.pattern not in ONE_WAY,
            "--staging chunk: only messages of a ping-pong or a stream are sent in chunks",
        ),
        (datatype != "byte", f"--datatype {datatype}: staged messages are bytes"),
        (bool(configuration.delay), "--delay: the loops of staged messages have none"),
        (configuration.tuning.zerocopy, "--zerocopy: staged messages are copied"),
    )
    return next((reason for refused, reason in refusals if refused), "")
