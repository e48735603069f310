"""The shared memory of a Dragon runtime: its pools, which stay in /dev/shm when it is killed."""

from __future__ import annotations

import os
import re


def is_pool_of(name: str, pid: int) -> bool:
    """Whether a file in /dev/shm is, by its name, a pool of the runtime that this process is: the
    last digits of the user and of the process are in it (`runtime_pool_name` in
    dragon/infrastructure/facts.py)."""
    runtime = f"DD{str(os.getuid())[-3:]}{str(pid)[-3:]}"
    return re.match(runtime + r"\d*(def|inf|log)", name) is not None
