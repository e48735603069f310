"""How this process belongs to a Dragon runtime: started by one, or attached to one."""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Iterable
from functools import cache

from halftrip.errors import Unavailable
from halftrip.interpreter import install_command

# Set by Dragon in the processes that it starts: the pool from which they get memory.
_POOL_VARIABLE = "DRAGON_DEFAULT_PD"
# Whether it runs on several nodes.
_MODE_VARIABLE, _SEVERAL_NODES = "DRAGON_MODE", "crayhpe-multi"
# Makes `import dragon` replace the classes of multiprocessing by its own.
_PATCH_VARIABLE = "DRAGON_PATCH_MP"
# Where the runtime that others attach to says how, and what proves that they may.
_ATTACH_VARIABLE = "DRAGON_ATTACH_DIR"
_TOKEN_VARIABLE = "DRAGON_ATTACH_TOKEN"  # noqa: S105 (its name)
# How long a runtime that works takes at most, s.
_ATTACH_SECONDS = 10.0


def is_installed() -> bool:
    return importlib.util.find_spec("dragon") is not None


def version() -> str:
    """The release of Dragon, such as ``0.15.0``. Raises Unavailable if it is not installed."""
    # It takes longer to import than most of halftrip.
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("dragonhpc")
    except PackageNotFoundError:
        raise Unavailable(no_dragon()) from None


def no_dragon() -> str:
    """That it is not installed, and what does that."""
    return f"dragonhpc is not installed; {install_command('dragon')}"


def in_runtime() -> bool:
    """Whether a Dragon runtime has started this process or one of its ancestors, or this process
    has attached to one."""
    return bool(os.environ.get(_POOL_VARIABLE))


def spans_nodes() -> bool:
    """Whether the runtime of this process was started for several nodes."""
    return os.environ.get(_MODE_VARIABLE) == _SEVERAL_NODES


def attachment(attach: str | None, token: str) -> dict[str, str]:
    """The variables by which a runtime says in the directory `attach` how processes that know the
    token attach to it, and by which these find it; none where there is no such directory."""
    return {} if attach is None else {_ATTACH_VARIABLE: attach, _TOKEN_VARIABLE: token}


def prepare(attach: str | None, token: str) -> None:
    """Says how this process may attach to a runtime, if it is to, and keeps `import dragon` from
    replacing the classes of multiprocessing, so that what is measured over them is Python's own. To
    be called before anything imports Dragon."""
    os.environ.pop(_PATCH_VARIABLE, None)
    os.environ |= attachment(attach, token)


def missing() -> str | None:
    """Why this process cannot use Dragon, or None. It attaches to a runtime if it has to."""
    if not is_installed():
        return no_dragon()
    return _problem()


@cache
def _problem() -> str | None:
    """Attaches to the runtime, once for this process; why that failed, or None."""
    if in_runtime():
        return None
    if _TOKEN_VARIABLE not in os.environ:
        return "no Dragon runtime: neither has it started the ranks nor can they attach to one"
    from dragon.workflows.runtime import attach

    try:
        attach(timeout=_ATTACH_SECONDS)
    except (RuntimeError, OSError, TimeoutError) as error:
        return f"cannot attach to the Dragon runtime: {first_line(str(error))}"
    return None


def first_line(text: str) -> str:
    """The first line of an error of Dragon's that says something: its title does not."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if not line.startswith("Traceback")]
    return next(iter(telling or lines), "no reason given")


def is_pool_of(name: str, pids: Iterable[int]) -> bool:
    """Whether a file in /dev/shm is, by its name, a pool that one of these processes of a runtime
    has made: the last digits of the user and of the process are in it (`runtime_pool_name` in
    dragon/infrastructure/facts.py)."""
    user = str(os.getuid())[-3:]
    return any(re.match(rf"DD{user}{str(pid)[-3:]}\d*(def|inf|log)", name) for pid in pids)
