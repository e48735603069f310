"""Registries of objects that are chosen by name, and what is known of a name beforehand.

Another package adds one by an entry point in its pyproject.toml:

    [project.entry-points."halftrip.transports"]
    example = "my_package.example:ExampleTransport"
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from halftrip.errors import UsageError


class Registry:
    """Objects by name, each written as ``module:attribute`` and imported when it is chosen.

    The `built_in` names come first. The others are the entry points of `group`; one with a built-in
    name is ignored.
    """

    def __init__(self, group: str, built_in: dict[str, str]) -> None:
        self.group = group
        self.built_in = built_in

    @cached_property
    def _plug_ins(self) -> dict[str, str]:
        if not _may_have_plug_ins(tuple(sys.path)):
            return {}
        from importlib.metadata import entry_points

        found = entry_points(group=self.group)
        return {entry.name: entry.value for entry in found if entry.name not in self.built_in}

    def __iter__(self) -> Iterator[str]:
        """All names, in the order in which tables show them."""
        yield from self.built_in
        yield from sorted(self._plug_ins)

    def __len__(self) -> int:
        return len(self.built_in) + len(self._plug_ins)

    def __contains__(self, name: object) -> bool:
        # Built-in names first: reading the entry points of all packages takes longer than the rest
        # of a --help.
        return name in self.built_in or name in self._plug_ins

    def place(self, name: str) -> tuple[int, str]:
        """The sort key of a name in tables: built-in names in their order, then others by name."""
        names = list(self.built_in)
        return (names.index(name) if name in names else len(names), name)

    def load(self, name: str) -> Any:
        """The object that a name stands for. Raises UsageError if a plug-in cannot be imported."""
        return self._imported(name, self.built_in.get(name) or self._plug_ins[name])

    def _imported(self, name: str, target: str) -> Any:
        module, _, attribute = target.partition(":")
        try:
            return getattr(importlib.import_module(module), attribute)
        except Exception as error:
            if name in self.built_in:
                raise
            said = str(error) or "no reason given"
            if not isinstance(error, (ImportError, AttributeError)):
                said = f"{type(error).__name__}: {said}"
            problem = f"{self.group} {name!r} ({target}) cannot be loaded: {said.splitlines()[0]}"
            raise UsageError(problem) from None


_Entry = TypeVar("_Entry")


class Entries(Registry, Generic[_Entry]):
    """A registry that knows something of each name before it imports the object: an entry of this
    `kind`, whose `target` is ``module:attribute``.

    Where there is nothing to know, it is the target alone. An entry point may name an entry in
    place of the object.
    """

    def __init__(self, group: str, kind: Any, entries: Mapping[str, _Entry | str]) -> None:
        self._kind = kind
        self._entries: dict[str, _Entry] = {
            name: kind(each) if isinstance(each, str) else each for name, each in entries.items()
        }
        super().__init__(group, {name: _target(each) for name, each in self._entries.items()})

    def entry(self, name: str) -> _Entry:
        """What is known of a name. Raises UsageError if a plug-in cannot be imported."""
        if name in self._entries:
            return self._entries[name]
        found: Any = super().load(name)
        if not isinstance(found, self._kind):
            found = self._kind(self._plug_ins[name])
        made: _Entry = found
        return made

    def entries(self) -> Iterator[tuple[str, _Entry | UsageError]]:
        """All names with what is known of them, or why a plug-in cannot be imported."""
        for name in self:
            try:
                yield name, self.entry(name)
            except UsageError as error:
                yield name, error

    def load(self, name: str) -> Any:
        return self._imported(name, _target(self.entry(name)))


def _target(entry: Any) -> str:
    target: str = entry.target
    return target


@cache
def _may_have_plug_ins(directories: tuple[str, ...]) -> bool:
    """The same for all registries: a command looks once."""
    return have_plug_ins(directories)


def have_plug_ins(directories: Sequence[str]) -> bool:
    """Whether a package that is installed in these directories may have entry points of halftrip's.
    To ask importlib.metadata, which reads all packages, takes as long as half of a --help."""
    for directory in directories:
        try:
            names = os.listdir(directory or os.curdir)
        except NotADirectoryError:
            # An archive.
            return True
        except OSError:
            continue
        for name in names:
            if not name.endswith((".dist-info", ".egg-info")):
                continue
            try:
                with open(os.path.join(directory, name, "entry_points.txt"), "rb") as file:
                    if b"[halftrip." in file.read():
                        return True
            except OSError:
                continue
    return False


# What has to be there for a transport: an mpiexec that has started the ranks, a Dragon runtime,
# devices, or a library of its own; empty: nothing.
Needs = Literal["", "mpi", "dragon", "cuda", "library"]


class TransportEntry(NamedTuple):
    """A transport: what it `needs`, and the one that it is `built_on`, or does the same as, with
    more software in between. Where its library chooses that, `may_use` are those that it may
    choose, and a run says which it was (results/carrier.py); the one that it is `built_on` is then
    that of runs that do not say it. None takes its import: a run starts without those that it does
    not use."""

    target: str
    needs: Needs = ""
    built_on: str = ""
    may_use: tuple[str, ...] = ()

    @property
    def lower(self) -> tuple[str, ...]:
        """All that it may be built on."""
        return self.may_use or tuple(filter(None, [self.built_on]))


class PlotEntry(NamedTuple):
    """A kind of picture: the section of a report that has it, if one does (`changes`: that of
    several runs), and whether only of rows whose result is a rate."""

    target: str
    section: Literal["", "changes", "curves", "distribution", "usage", "system-log"] = ""
    of_rates: bool = False


class ViewOption(NamedTuple):
    """An option of ``halftrip show`` that goes with one view: its name, the argument of the view's
    function that it sets, and its help."""

    name: str
    argument: str
    help: str


class InReport(NamedTuple):
    """Where a report of a run has a view that has any table: in which section, and whether all of
    it, or each table, is folded; of more lines of a table than `most`, so many are shown."""

    section: str
    folded: Literal["", "all", "tables"] = ""
    most: int = 1000


class ViewEntry(NamedTuple):
    """A view of a run, and its option of ``halftrip show``: the help of that and the options that
    go with it, whether it `has_times` that --rtt doubles, and when it needs flags, which take
    longer to judge than the rest; and where a report has it, if it does."""

    target: str
    help: str = ""
    options: tuple[ViewOption, ...] = ()
    has_times: bool = False
    needs_flags: Literal["", "always", "for programs"] = ""
    in_report: InReport | None = None
