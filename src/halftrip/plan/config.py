"""A user's own defaults: the keys of a plan in ``~/.config/halftrip/config.toml``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from halftrip.plan.layer import Layer
from halftrip.plan.layers import file_layer, without_ranks

# It names another file, or, if it is empty, none.
VARIABLE = "HALFTRIP_CONFIG"
# A job that exists already has been started by something else, once.
_STARTS = ("launcher", "mpiexec", "launches", "until_ci", "max_launches", "vary")


def config_layer(environ: Mapping[str, str], in_job: bool = False) -> Layer | None:
    """The keys of the user's file, without those that say which ranks to start, and how, if this is
    `in_job`; None where there is no such file. Raises UsageError if it cannot be read as TOML."""
    named = environ.get(VARIABLE)
    if named == "":
        return None
    path = Path(named) if named is not None else _default_path(environ)
    if path is None or (named is None and not path.exists()):
        return None
    layer = file_layer(path)
    if in_job:
        kept = {name: value for name, value in layer.keys.items() if name not in _STARTS}
        # It has its own ranks, too.
        layer = without_ranks(layer._replace(keys=kept))
    return layer


def _default_path(environ: Mapping[str, str]) -> Path | None:
    """Where the file is by the XDG Base Directory Specification, which ignores a relative path."""
    base = environ.get("XDG_CONFIG_HOME", "")
    if not os.path.isabs(base):
        home = os.path.expanduser("~")
        if not os.path.isabs(home):
            return None
        base = os.path.join(home, ".config")
    return Path(base, "halftrip", "config.toml")
