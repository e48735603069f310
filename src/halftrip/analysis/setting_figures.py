"""The settings of a configuration as figures, for programs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from halftrip.analysis.figure import Figure, fields
from halftrip.plan.setting import Kind, Setting
from halftrip.plan.settings import WITH_FIELDS, extra_setting
from halftrip.results.configuration import UNKNOWN, Configuration, extra_names
from halftrip.results.reported import variant_text

# What tells configurations apart beside their settings.
_OTHERS: tuple[Figure[Configuration], ...] = (
    Figure("transport", "text", lambda of: of.transport,
           "How bytes move: mpi, shm, tcp and so on"),
    Figure("pattern", "text", lambda of: of.known_pattern,
           "Who sends when: pingpong, stream, bidirectional and so on"),
    Figure("mode", "text", lambda of: of.mode,
           "The kind of call: blocking, nonblocking, persistent, ssend or onesided"),
    Figure("size_bytes", "whole?", lambda of: of.known_size,
           "Payload of a message, bytes; none: an imported tool does not say"),
    Figure("pair", "text", lambda of: "-".join(map(str, of.pair)),
           "The ranks that talk, initiator first: 0-1"),
    Figure("thread", "whole", lambda of: of.thread, "Number of the thread of each rank"),
    Figure("concurrency", "whole", lambda of: of.concurrency,
           "How many pairs of threads talk at the same time"),
    Figure("variant", "text", lambda of: variant_text(of.variant),
           "What else tells it from others: what is varied, the table of a text; or empty"),
)  # fmt: skip


def setting_figure(of: Setting) -> Figure[Configuration]:
    """A setting as a figure. None is said of a number that is not known, and the word of a text."""
    if of.kind.startswith("text"):
        return Figure(of.figure, of.kind, of.in_effect, of.says)
    kind = cast("Kind", f"{of.kind.removesuffix('?')}?")

    def known(configuration: Configuration) -> Any:
        value = of.in_effect(configuration)
        return None if value == UNKNOWN else value

    return Figure(of.figure, kind, known, of.says)


_BY_NAME = {each.name: each for each in (*_OTHERS, *map(setting_figure, WITH_FIELDS.values()))}
# The columns that came first; newer settings are behind them.
_FIRST = (
    *("transport", "pattern", "mode", "size_bytes", "memory", "buffers", "pages", "cache", "wait"),
    *("pair", "window", "align_bytes", "datatype", "rate_bytes_per_s", "verify", "thread"),
    "concurrency",
)
CONFIGURATION: tuple[Figure[Configuration], ...] = tuple(
    _BY_NAME[name]
    for name in dict.fromkeys((*_FIRST, *(each.figure for each in WITH_FIELDS.values()), "variant"))
)


def extra_figures(configurations: Iterable[Configuration]) -> list[Figure[Configuration]]:
    """The settings of plug-ins that any of these has."""
    return [_of_its_kind(extra_setting(name)) for name in extra_names(configurations)]


# A run file may have any value of a setting.
_TYPES = {"whole": int, "number": int | float, "yes or no": bool}


def _of_its_kind(setting: Setting) -> Figure[Configuration]:
    """A setting of a plug-in as a figure: none where the value is of another kind."""
    figure = setting_figure(setting)

    def of(configuration: Configuration) -> Any:
        value = setting.of(configuration)
        if value is None or figure.type == "text":
            return value if value is None else str(value)
        return value if isinstance(value, _TYPES[figure.type]) else None

    return figure._replace(of=of)


def with_extra(found: dict[str, Any], configuration: Configuration) -> dict[str, Any]:
    """What was found of a configuration by name, and, behind it, its settings of plug-ins, unless
    one has the name of something else."""
    return found | fields(extra_figures([configuration]), configuration) | found


def configuration_fields(configuration: Configuration) -> dict[str, Any]:
    """The settings of a configuration by name. Those of both ends are texts such as ``spin``, or
    ``spin:block``."""
    return with_extra(fields(CONFIGURATION, configuration), configuration)


def curve_fields(curve: Configuration) -> dict[str, Any]:
    """The settings of a curve, which has no size."""
    return {
        name: value for name, value in configuration_fields(curve).items() if name != "size_bytes"
    }
