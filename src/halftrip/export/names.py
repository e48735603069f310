"""Names of rows for other programs, which compare runs by them: they do not depend on what else a
run has."""

from __future__ import annotations

import re

from halftrip.report import fields
from halftrip.results.configuration import UNKNOWN, Configuration
from halftrip.texts import printable

# What has a part of a name, or a label, of its own.
_APART = ("pattern", "mode")


def settings(configuration: Configuration) -> list[tuple[str, str]]:
    """The names and values of all settings that are not usual, but for the transport, pattern, mode
    and size: together with these, they tell it from all others."""
    found = [
        (field.name, field.of(configuration))
        for field in fields.settings([configuration])
        if field.name not in _APART
        and field.of(configuration) not in ("", field.usual, field.default)
    ]
    cores = [each.core for each in configuration.ends]
    if cores != [None, None]:
        found.append(("cores", ":".join("any" if core is None else str(core) for core in cores)))
    return [(printable(name), printable(value)) for name, value in (*found, *configuration.variant)]


def row_name(configuration: Configuration, with_size: bool = True) -> str:
    """``shm/pingpong/blocking/wait:spin/size:8``: no blanks, and no other name in a run."""
    parts = [configuration.transport, configuration.pattern, configuration.mode]
    parts += [f"{name}:{value}" for name, value in settings(configuration)]
    if with_size:
        size = configuration.known_size
        parts.append(f"size:{UNKNOWN if size is None else size}")
    return "/".join(re.sub(r"\s+", "_", part) for part in parts)
