"""An option of ``halftrip run``, and what stands for its value in the help."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, NamedTuple

from halftrip.plan import cores, expectations, hosts, parsing, vary
from halftrip.plan.cost import MOST_RANKS, MOST_THREADS
from halftrip.plan.setting import Served


class Option(NamedTuple):
    """`read` converts a value, as written in a file or on the command line, to that of the plan; it
    raises UsageError, which says what is allowed. `help` has the default in brackets, if there
    is one; an option without help is a key of plans alone. `short` are the short forms on the
    command line. A `negatable` flag also has the form --no-NAME. `group` is one of
    `options.GROUPS`. What stands for the value in the help depends on `read`, unless it is the
    `placeholder`. `served` is what becomes of it where a client asks ``halftrip serve``
    (`plan.served`)."""

    read: Callable[[Any], Any]
    help: str = ""
    short: tuple[str, ...] = ()
    negatable: bool = False
    group: str = "expert"
    placeholder: str = ""
    served: Served = "refused"

    @property
    def is_flag(self) -> bool:
        return self.read in (parsing.flag, parsing.flags)

    @property
    def is_repeated(self) -> bool:
        """Whether it is a flag that may be given both ways."""
        return self.read is parsing.flags

    @property
    def is_list(self) -> bool:
        """Whether it may be given several times, with a value each."""
        return self.read is vary.axes

    @property
    def values(self) -> Collection[str]:
        """The names of which a value consists; empty if it has none."""
        return self.read.allowed if isinstance(self.read, parsing.NamesReader) else ()

    @property
    def metavar(self) -> str:
        """What stands for the value in the help."""
        return self.placeholder or _METAVARS.get(self.read, "NAME")


RANKS = parsing.at_most(MOST_RANKS, least=2)
THREADS = parsing.at_most(MOST_THREADS)
# Of slices and of launches.
REPEATS = parsing.at_most(10_000)
RETESTS = parsing.at_most(100, least=0)

_METAVARS: dict[Callable[[Any], Any], str] = {
    parsing.sizes: "SIZES",
    **dict.fromkeys((parsing.count, parsing.count_or_0, parsing.at_once), "N"),
    **dict.fromkeys((RANKS, THREADS, REPEATS, RETESTS), "N"),
    parsing.seconds: "TIME",
    parsing.interval_width: "SHARE",
    cores.cores: "LIST",
    parsing.ports: "FIRST-LAST",
    expectations.expectations: "LIST",
    parsing.share: "SHARE",
    hosts.peer: "HOST",
    hosts.hosts: "LIST",
    hosts.hostfile: "FILE",
    vary.axes: "NAME=VALUES",
}
