"""What the user says of a text that does not say it itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_args

import msgspec

from halftrip.errors import UsageError
from halftrip.plan.settings import SETTINGS
from halftrip.results.configuration import (
    UNKNOWN,
    Buffers,
    Cache,
    Configuration,
    EndSettings,
    Pages,
    Places,
    Wait,
)
from halftrip.spelling import nearest
from halftrip.tools.lines import wrong
from halftrip.tools.tables import TableRow, ToolTable, by_bandwidth
from halftrip.units import format_size, parse_size

# The settings that may be unknown, by their values: of the whole, and of each end.
_OF_ALL: Mapping[str, Any] = {"buffers": Buffers, "cache": Cache, "places": Places}
_OF_ENDS: Mapping[str, Any] = {"pages": Pages, "wait": Wait}


# Bandwidth and rate are rounded: a size whose product with the rate is farther off than this share
# of the bandwidth is another one.
_FAR = 0.05


class Told:
    """What is said: which `test` it is, the `size` of messages, bytes, the kind of `memory`, the
    `transport`, and `settings` by name. It counts for what is unknown; a setting that halftrip has
    not, or always knows, becomes part of the variant."""

    def __init__(
        self,
        test: str | None = None,
        size: int | None = None,
        memory: str | None = None,
        transport: str | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        """Raises UsageError for a value that a setting cannot have."""
        self.test = test
        self._size = size
        self._memory = memory
        self._transport = transport
        self._settings = dict(settings or {})
        for name, value in self._settings.items():
            allowed = get_args({**_OF_ALL, **_OF_ENDS}.get(name))
            if allowed and value not in allowed:
                raise UsageError(f"--set {name}: {value!r}; {nearest(value, list(allowed))}")
        said = {"--size": size, "--memory": memory, "--transport": transport}
        self._unused = {name for name, value in said.items() if value is not None}
        self._unused |= {f"--set {name}" for name in self._settings}

    def of_table(self, table: ToolTable) -> ToolTable:
        """The table with what is told of it."""
        configuration = table.configuration
        changes: dict[str, Any] = {}
        if self._transport is not None and configuration.transport in (UNKNOWN, table.tool):
            changes["transport"] = self._transport
            self._unused.discard("--transport")
        changes["initiator"] = self._of_end(configuration.initiator)
        changes["responder"] = self._of_end(configuration.responder)
        changes |= self._of_all(configuration)
        return table._replace(configuration=msgspec.structs.replace(configuration, **changes))

    def _of_end(self, end: EndSettings) -> EndSettings:
        changes = {}
        if self._memory is not None and end.memory == UNKNOWN:
            changes["memory"] = self._memory
            self._unused.discard("--memory")
        for name in _OF_ENDS.keys() & self._settings.keys():
            if getattr(end, name) == UNKNOWN:
                changes[name] = self._settings[name]
                self._unused.discard(f"--set {name}")
        return msgspec.structs.replace(end, **changes)

    def _of_all(self, configuration: Configuration) -> dict[str, Any]:
        changes: dict[str, Any] = {}
        variant = dict(configuration.variant)
        unknown = [name for name in configuration.unknown if name not in self._settings]
        for name, value in self._settings.items():
            if name in _OF_ENDS:
                continue
            if name in configuration.unknown:
                changes[name] = _one_of(name, value)
            elif name in _OF_ALL and getattr(configuration, name) == UNKNOWN:
                changes[name] = value
            elif name not in _OF_ALL and variant.get(name, UNKNOWN) == UNKNOWN:
                variant[name] = value
            else:
                continue
            self._unused.discard(f"--set {name}")
        return {**changes, "variant": tuple(sorted(variant.items())), "unknown": tuple(unknown)}

    def of_row(self, row: TableRow) -> TableRow:
        """The row with what is told of it."""
        if self._size is None or row.size is not None:
            return row
        self._unused.discard("--size")
        bandwidth = row.bandwidth
        if row.rate is None and bandwidth is not None:
            # Its time was no message's.
            step = bandwidth * row.step / row.ns
            timed = by_bandwidth(row.line, self._size, bandwidth, step, row.figures)
            return row._replace(size=self._size, ns=timed.ns, step=timed.step)
        if row.rate is not None:
            of_size = self._size * row.rate
            if bandwidth is None:
                bandwidth = of_size
            elif abs(of_size - bandwidth) > _FAR * bandwidth:
                told = f"--size {format_size(self._size)}"
                wrong(row.line, f"{told}: its bandwidth and its message rate are of another size")
        return row._replace(size=self._size, bandwidth=bandwidth)

    def check_used(self) -> None:
        """Raises UsageError for what every table says itself."""
        for name in sorted(self._unused):
            raise UsageError(f"{name}: the text says this of each of its tables; leave it out")


def _one_of(name: str, value: str) -> Any:
    """The value of a setting, as an option has it. Raises UsageError for several."""
    found = SETTINGS[name].read(value)
    if isinstance(found, tuple):
        if len(found) != 1:
            raise UsageError(f"--set {name}: {value!r} is not one value")
        (found,) = found
    return found


NOTHING = Told()


def told_by(
    test: str | None,
    size: str | None,
    memory: str | None,
    transport: str | None,
    settings: Sequence[str],
) -> Told:
    """What options say. Raises UsageError for what none of them can have."""
    named: dict[str, str] = {}
    for each in settings:
        name, equals, value = each.partition("=")
        if not (name and equals and value):
            raise UsageError(f"--set {each!r}: NAME=VALUE is needed")
        if name in named:
            raise UsageError(f"--set {name}: it has two values")
        named[name] = value
    return Told(test, None if size is None else parse_size(size), memory, transport, named)
