"""What a run changes of its process, and gives back at the end."""

from __future__ import annotations

import contextlib
import gc
import os
from collections.abc import Iterator


@contextlib.contextmanager
def own_affinity() -> Iterator[None]:
    """Gives the caller its cores back at the end."""
    cores = os.sched_getaffinity(0)
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


@contextlib.contextmanager
def collections_between_turns() -> Iterator[None]:
    """Collects garbage only where the runner calls for it: within a slice it would be an outlier.
    Objects that exist already are left out, as they would take 8 ms."""
    was_enabled = gc.isenabled()
    was_frozen = gc.get_freeze_count()
    gc.disable()
    gc.freeze()
    try:
        yield
    finally:
        if not was_frozen:
            gc.unfreeze()
        if was_enabled:
            gc.enable()
