"""The shared memory of a Dragon runtime: its pools, which stay in /dev/shm when it is killed."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable


def is_pool_of(name: str, pids: Iterable[int]) -> bool:
    """Whether a file in /dev/shm is, by its name, a pool that one of these processes of a runtime
    has made: the last digits of the user and of the process are in it (`runtime_pool_name` in
    dragon/infrastructure/facts.py)."""
    user = str(os.getuid())[-3:]
    return any(re.match(rf"DD{user}{str(pid)[-3:]}\d*(def|inf|log)", name) for pid in pids)
