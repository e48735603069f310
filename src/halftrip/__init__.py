"""halftrip: how fast two processes talk, how far each number can be trusted, and why.

import halftrip

run = halftrip.run({"transport": "shm,tcp", "sizes": "1..4M"})
run.frame()
halftrip.load("run.jsonl")
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from halftrip.api import load, run
    from halftrip.model import Run
    from halftrip.plan import Plan

__version__ = "0.1.0"
__all__ = ["Plan", "Run", "__version__", "load", "run"]

# Imported when first used: `halftrip --help` needs none of it.
_PLACES = {
    "Plan": "halftrip.plan",
    "Run": "halftrip.model",
    "load": "halftrip.api",
    "run": "halftrip.api",
}


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        return getattr(import_module(_PLACES[name]), name)
    raise AttributeError(f"module 'halftrip' has no attribute {name!r}")
