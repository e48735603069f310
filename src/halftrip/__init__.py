"""halftrip: how fast two processes talk, how far each number can be trusted, and why.

import halftrip

run = halftrip.run({"transport": "shm,tcp", "sizes": "1..4M"})
run.frame()
halftrip.load("run.jsonl")
"""

from __future__ import annotations

# Nothing is imported here: imports would run before `halftrip.__main__` handles interrupts, and
# `typing` alone takes longer than the start of Python. Type checkers know the name TYPE_CHECKING.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from halftrip.api import Run, load, run
    from halftrip.plan.plan import Plan

__version__ = "1.0.0"
__all__ = ["Plan", "Run", "__version__", "load", "run"]

# Imported when first used: `halftrip --help` needs none of it.
_MODULES = {
    "Plan": "halftrip.plan.plan",
    "Run": "halftrip.api",
    "load": "halftrip.api",
    "run": "halftrip.api",
}


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        from importlib import import_module

        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module 'halftrip' has no attribute {name!r}")
