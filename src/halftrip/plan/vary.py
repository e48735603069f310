"""The axes of a plan over what its ranks are started with: environment variables, and the options
that say how ranks are started. Each combination of values is measured in launches of its own. And
what a plan is measured against: an earlier run, whose side is one more axis.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from halftrip.errors import UsageError
from halftrip.results.reported import BASE, NEW, SIDE, Variant
from halftrip.spelling import nearest

# A name, and its values as they were written.
Axis = tuple[str, tuple[str, ...]]

# What an axis over an environment variable begins with.
ENVIRONMENT = "env."
# The keys of a plan that say how ranks are started, and have one value in a launch.
STARTING_KEYS = ("mpiexec", "launcher", "dragon", "ssh", "remote_command", "interface", "cores")
# A value of an axis over a variable: the variable is not set.
UNSET = "unset"
# In these, halftrip tells its ranks which job they belong to.
_OWN_VARIABLES = ("HALFTRIP_JOB", "HALFTRIP_RANK", "HALFTRIP_CONTROL")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_LONGEST_NAME = 200
_MOST_VALUES = 100
_ALLOWED = f"{ENVIRONMENT}NAME, {', '.join(STARTING_KEYS)}"


def axes(value: Any) -> tuple[Axis, ...]:
    """A reader of axes: of a table of TOML, or of texts such as ``mpiexec=a,b``. A name that is
    there several times has all the values."""
    found: dict[str, dict[str, None]] = {}
    for name, values in _pairs(value):
        found.setdefault(name, {}).update(dict.fromkeys(values))
    for name, of_name in found.items():
        if len(of_name) > _MOST_VALUES:
            raise UsageError(f"{name}: {len(of_name)} values are too many; at most {_MOST_VALUES}")
    return tuple((name, tuple(of_name)) for name, of_name in found.items())


def _pairs(value: Any) -> Iterator[tuple[str, list[str]]]:
    """The names and the values of all axes, as a file, a command line or a plan has them."""
    if isinstance(value, Mapping):
        for name, values in value.items():
            # In TOML, `env.NAME` without quotes is a table in a table.
            if name == ENVIRONMENT.rstrip(".") and isinstance(values, Mapping):
                for variable, of_variable in values.items():
                    yield from _pairs([(f"{ENVIRONMENT}{variable}", of_variable)])
            else:
                yield from _pairs([(name, values)])
        return
    if not isinstance(value, str | list | tuple):
        raise UsageError(f"{value!r} is no table; write NAME = [VALUE, VALUE]")
    for each in [value] if isinstance(value, str) else value:
        if isinstance(each, str):
            name, equals, text = each.partition("=")
            if not equals:
                raise UsageError(f"{each!r} has no value; write NAME=VALUE,VALUE")
            yield _name(name.strip()), _texts(name, text)
        elif isinstance(each, list | tuple) and len(each) == 2:
            yield _name(each[0]), _texts(each[0], each[1])
        else:
            raise UsageError(f"{each!r} is no axis; write NAME=VALUE,VALUE")


def _name(value: Any) -> str:
    """The name of an axis. Raises UsageError for one that cannot be varied."""
    if not isinstance(value, str):
        raise UsageError(f"{value!r} is no name; allowed: {_ALLOWED}")
    if value.startswith(ENVIRONMENT):
        check_variable(value.removeprefix(ENVIRONMENT))
        return value
    name = value.replace("-", "_")
    if name in (*STARTING_KEYS, SIDE):
        return name
    raise cannot_be_varied(value)


def cannot_be_varied(value: str) -> UsageError:
    """The error for a name of an axis that is none."""
    name = value.replace("-", "_")
    if difflib.get_close_matches(name, STARTING_KEYS, n=1):
        said = nearest(name, STARTING_KEYS)
    elif _VARIABLE.fullmatch(value) and value == value.upper():
        said = f"did you mean {ENVIRONMENT}{value}?"
    else:
        said = f"allowed: {_ALLOWED}"
    return UsageError(f"{value!r} cannot be varied; {said}")


def check_variable(name: str) -> None:
    """Raises UsageError for a name that no environment variable can have, or that halftrip sets."""
    if not _VARIABLE.fullmatch(name) or len(name) > _LONGEST_NAME:
        raise UsageError(f"{name!r} is no name of an environment variable")
    if name in _OWN_VARIABLES:
        raise UsageError(f"{name}: halftrip sets this variable itself")


def _texts(name: Any, value: Any) -> list[str]:
    """The values of an axis. A text has them between its semicolons, if there are any, else between
    its commas."""
    if isinstance(value, str):
        separator = ";" if ";" in value else ","
        texts = [each.strip() for each in value.split(separator)]
        if separator == ";" and texts[-1] == "":
            # Without another semicolon, a value with commas would be several.
            del texts[-1]
    elif isinstance(value, list | tuple):
        texts = [_text(name, each) for each in value]
    else:
        texts = [_text(name, value)]
    if not texts:
        raise UsageError(f"{name}: an empty list measures nothing; leave it out")
    if "" in texts:
        unset = f"; {UNSET} is without the variable" if str(name).startswith(ENVIRONMENT) else ""
        raise UsageError(f"{name}: a value is empty{unset}")
    return texts


def _text(name: Any, value: Any) -> str:
    """A value of a list as text. One of several numbers, such as cores, is a list itself."""
    if isinstance(value, list | tuple) and value:
        return ",".join(_text(name, each) for each in value)
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise UsageError(f"{name}: {value!r} is not a text")
    return str(value).strip()


def variables(values: Mapping[str, str]) -> dict[str, str | None]:
    """The environment variables among these values of axes, by their own names; None: not set."""
    return values_of(
        {
            name.removeprefix(ENVIRONMENT): value
            for name, value in values.items()
            if name.startswith(ENVIRONMENT)
        }
    )


def values_of(written: Mapping[str, str]) -> dict[str, str | None]:
    """The values of variables as they were written; None: one that is not set."""
    return {name: None if value == UNSET else value for name, value in written.items()}


def label(name: str) -> str:
    """An axis as columns call it: a variable by its own name."""
    return name.removeprefix(ENVIRONMENT)


def in_words(variant: Variant) -> str:
    """``mpiexec mpiexec.mpich, UCX_TLS tcp``."""
    return ", ".join(f"{label(name)} {value}" for name, value in variant)


# The axis of the two sides, which no plan can name by itself.
SIDES: Axis = (SIDE, (BASE, NEW))


class Against(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The run file `file` whose plan this is, and what its launches have instead of this
    installation as it is: environment variables (`env`, names and values), another `mpiexec`,
    another installation's `command`. With none of these, only what is new is measured."""

    file: str
    env: tuple[tuple[str, str], ...] = ()
    mpiexec: str | None = None
    command: str | None = None

    @property
    def has_sides(self) -> bool:
        """Whether the base is measured again, too."""
        return bool(self.env) or self.mpiexec is not None or self.command is not None


def against(value: Any) -> Against:
    """A reader of what a run file's plan has of it."""
    if isinstance(value, Against):
        return value
    try:
        found = msgspec.convert(value, Against)
    except msgspec.ValidationError as error:
        raise UsageError(f"not what halftrip run --against records: {error}") from None
    for name, _ in found.env:
        check_variable(name)
    return found


def written_variables(texts: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """A reader of variables as ``NAME=VALUE``. Raises UsageError for a text that is none."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"{text!r} has no value; write NAME=VALUE")
        check_variable(name)
        if name in found:
            raise UsageError(f"{name} is there twice")
        found[name] = value
    return tuple(sorted(found.items()))


def against_record(found: Against) -> dict[str, Any]:
    """As a run file has it."""
    made: dict[str, Any] = msgspec.to_builtins(found)
    if found.env:
        made["env"] = [list(each) for each in found.env]
    return made
