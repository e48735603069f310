"""What ``halftrip --version --verbose`` says: what a report of a bug needs of an installation."""

from __future__ import annotations

import os
import platform
import re
import sys
import sysconfig
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution, requires, version

from halftrip.plan.layers import VARIABLE

# What an entry of a package's requirements says: its name, and the extra that it belongs to.
_REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)[^;]*(?:;.*extra == ['\"](?P<extra>[\w-]+)['\"])?")
# For who works on halftrip itself.
_OF_DEVELOPERS = ("dev", "docs")


def details() -> Iterator[str]:
    """Lines: the interpreter, the machine, the native module, what each extra brings, and where the
    defaults are, if that is said."""
    python = f"{platform.python_implementation()} {platform.python_version()}"
    yield f"python: {python}, {sys.executable}"
    libc = " ".join(platform.libc_ver())
    yield f"system: {platform.system()} {platform.release()} {platform.machine()}, {libc}"
    yield from _installed()
    yield from _native()
    yield from _packages()
    # Of the others that begin so, some are secret.
    if VARIABLE in os.environ:
        yield f"{VARIABLE}={os.environ[VARIABLE]!r}"


def _installed() -> Iterator[str]:
    try:
        by = (distribution("halftrip").read_text("INSTALLER") or "").strip() or "unknown"
    except PackageNotFoundError:
        by = "no installer: its files are used where they are"
    yield f"installed: {os.path.dirname(os.path.dirname(__file__))}, by {by}"


def _native() -> Iterator[str]:
    try:
        from halftrip import _native
    except ImportError as error:
        yield f"native module: {error}"
        return
    suffix = os.path.basename(str(_native.__file__)).partition(".")[2]
    parts = ", ".join(_native.parts)
    clock = _native.counter_clock or "monotonic"
    yield f"native module: {suffix}, for {sysconfig.get_platform()}; {parts}; clock {clock}"


def _packages() -> Iterator[str]:
    """A line of what halftrip needs, and one for each extra."""
    found: dict[str, list[str]] = {}
    try:
        stated = requires("halftrip") or []
    except PackageNotFoundError:
        stated = []
    for each in stated:
        if (said := _REQUIREMENT.match(each)) and said["extra"] not in _OF_DEVELOPERS:
            found.setdefault(said["extra"] or "needs", []).append(_with_version(said["name"]))
    for extra, packages in found.items():
        yield f"{extra}: {', '.join(packages)}"


def _with_version(name: str) -> str:
    try:
        return f"{name} {version(name)}"
    except PackageNotFoundError:
        return f"{name} is not installed"
