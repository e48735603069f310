"""What each UCX that is installed can use here: asked in a process of its own, as one process has
one UCX.

As a module, ``python -m halftrip.ucx.resources FILE``, it prints that of one library as JSON.
"""

from __future__ import annotations

import subprocess
import sys

import msgspec

from halftrip import _native
from halftrip.errors import Unavailable
from halftrip.interpreter import RUN_MODULE
from halftrip.ucx.connection import resources
from halftrip.ucx.library import library

_TIMEOUT_SECONDS = 20


class Resources(msgspec.Struct, frozen=True):
    """Of a library: its `version`, its `path`, and its transports and devices, as ``tcp/eth0``."""

    version: str
    path: str
    ways: list[str]


def ask(path: str) -> Resources:
    """The resources of the library in a file. Raises Unavailable if it cannot be used."""
    command = [*RUN_MODULE, __name__, path]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_TIMEOUT_SECONDS, check=False
        )
        return msgspec.json.decode(done.stdout, type=Resources)
    except subprocess.TimeoutExpired:
        raise Unavailable(f"{path}: no answer within {_TIMEOUT_SECONDS} s") from None
    except msgspec.MsgspecError:
        said = done.stderr.strip().splitlines()
        raise Unavailable(said[-1] if said else f"{path}: it ends the process") from None


def _own(path: str) -> Resources:
    found = library(path)
    try:
        features = _native.UcxTag.feature
        worker = _native.UcxWorker(found.addresses, found.minor, features, [], False, False)
        return Resources(found.version, found.path, resources(worker.resources))
    except _native.LibraryError as error:
        raise Unavailable(f"{found}: {error}") from None


def main() -> None:
    try:
        found = _own(sys.argv[1])
    except Unavailable as error:
        sys.exit(str(error))
    print(msgspec.json.encode(found).decode())


if __name__ == "__main__":
    main()
