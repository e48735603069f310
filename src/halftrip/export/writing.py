"""Writes the files of an export: all of them, each as a whole, or none."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Mapping

from halftrip.errors import HalftripError, UsageError, system_reason
from halftrip.files import beside, fill, replace
from halftrip.texts import printable

# Where a name that is not free is a device.
_DEVICES = "/dev"


def named(contents: Mapping[str, bytes], output: str | None, base: str) -> dict[str, bytes]:
    """The contents by the names of their files. `output` is the name of the only file; of several,
    their base name, or the name of the first; None: in this directory, with the name `base`."""
    if output is None:
        return {f"{base}{suffix}": content for suffix, content in contents.items()}
    if len(contents) == 1:
        return {output: next(iter(contents.values()))}
    if _is_special(output):
        raise UsageError(
            f"-o {printable(output)}: is no regular file, and this format makes {len(contents)}; "
            "name the first, or their base name"
        )
    stem = output.removesuffix(next(iter(contents)))
    if not os.path.basename(stem):
        raise UsageError(f"-o {printable(output) or repr(output)}: no name of a file")
    return {f"{stem}{suffix}": content for suffix, content in contents.items()}


def _is_special(path: str) -> bool:
    """Whether something other than a regular file has this name, such as a directory."""
    try:
        return not stat.S_ISREG(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


def write(files: Mapping[str, bytes], force: bool) -> None:
    """Writes files under other names beside their own, then gives them these: a reader finds a
    whole file or none. Raises UsageError where one exists, unless `force` replaces it, or where one
    cannot be created, and HalftripError where it cannot be written; nothing new is left then."""
    for path in files:
        _check(path, force)
    placed: list[str] = []
    with contextlib.ExitStack() as made:
        names = {path: _made(made, path, content) for path, content in files.items()}
        try:
            for path, name in names.items():
                _place(name, path, force)
                placed.append(path)
        except HalftripError:
            for path in [] if force else placed:
                os.unlink(path)
            raise


def _check(path: str, force: bool) -> None:
    """Raises UsageError for a name that is not free, and cannot be made so."""
    if os.path.realpath(os.path.dirname(path) or ".") == _DEVICES and not os.path.exists(path):
        raise UsageError(f"{printable(path)}: {_DEVICES} is no place for files")
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return
    except ValueError:
        raise UsageError(f"{printable(path)}: no file can have this name") from None
    except OSError as error:
        raise _cannot(path, error) from None
    if not force:
        raise UsageError(f"{printable(path)}: exists already; choose another name, or use --force")
    if not stat.S_ISREG(found.st_mode):
        raise UsageError(f"{printable(path)}: is no regular file, and is not replaced")


def _made(made: contextlib.ExitStack, path: str, content: bytes) -> str:
    """The name under which a file is written, until it is placed."""
    try:
        name = made.enter_context(beside(path))
    except OSError as error:
        raise _cannot(path, error) from None
    try:
        fill(name, content)
    except OSError as error:
        raise HalftripError(f"{printable(path)}: {system_reason(error).lower()}") from None
    return name


def _place(made: str, path: str, force: bool) -> None:
    try:
        if force:
            replace(made, path)
            return
        try:
            os.link(made, path)
        except FileExistsError:
            raise
        except OSError:
            # Not every file system has links.
            if os.path.lexists(path):
                raise FileExistsError from None
            os.rename(made, path)
    except FileExistsError:
        raise UsageError(
            f"{printable(path)}: exists already; choose another name, or use --force"
        ) from None
    except OSError as error:
        raise _cannot(path, error) from None


def _cannot(path: str, error: OSError) -> UsageError:
    reason = system_reason(error).lower()
    return UsageError(f"{printable(path) or repr(path)}: cannot be written: {reason}")
