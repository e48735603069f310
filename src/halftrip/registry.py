"""What there is to choose from, by name. One line each; the modules are imported when chosen."""

from __future__ import annotations

import importlib
from types import ModuleType

# In the order in which tables show them. Each module defines a class `Transport`.
TRANSPORTS = {
    "mpi": "halftrip.transports.native.mpi",
    "shm": "halftrip.transports.native.shm",
    "pipe": "halftrip.transports.native.pipe",
    "unix": "halftrip.transports.native.unix",
    "tcp": "halftrip.transports.native.tcp",
    "udp": "halftrip.transports.native.udp",
    "simulated": "halftrip.transports.simulated",
}
# What is measured where nothing else is asked for.
REAL_TRANSPORTS = tuple(name for name in TRANSPORTS if name != "simulated")

# Each module defines a class `Launcher`.
LAUNCHERS = {
    "local": "halftrip.job.launchers.local",
    "mpiexec": "halftrip.job.launchers.mpiexec",
}


def load(registry: dict[str, str], name: str) -> ModuleType:
    """The module that `registry` names for `name`."""
    return importlib.import_module(registry[name])
