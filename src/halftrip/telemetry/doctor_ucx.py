"""Which UCX is installed, what each of them can use here, and what keeps it from more."""

from __future__ import annotations

import os
import resource
from collections.abc import Sequence

from halftrip import _native
from halftrip.errors import Unavailable
from halftrip.telemetry.doctor import Check, unknown
from halftrip.ucx.library import INSTALL, installed
from halftrip.ucx.resources import ask

_NAME = "UCX"
_VERBS = "/dev/infiniband"


def check() -> Check:
    """A line for each library, the one that a run takes first."""
    if "ucx" not in _native.parts:
        return unknown(_NAME, "not in this build of halftrip")
    paths = installed()
    if not paths:
        return unknown(_NAME, f"none is installed: {INSTALL}")
    said, wrong = [], []
    for path in paths:
        try:
            found = ask(path)
        except Unavailable as error:
            said.append(str(error))
            wrong.append(f"{path} cannot be used: --ucx-library names another one")
        else:
            said.append(f"UCX {found.version}, {found.path}: {', '.join(found.ways)}")
    wrong += _obstacles()
    text = "\n".join(said)
    return Check(_NAME, "warning", text, "; ".join(wrong)) if wrong else Check(_NAME, "ok", text)


def _obstacles(directory: str = _VERBS) -> Sequence[str]:
    """What keeps this process from network devices that are there."""
    if not os.path.isdir(directory):
        return []
    found = []
    devices = [os.path.join(directory, each) for each in os.listdir(directory)]
    closed = [
        each
        for each in devices
        if os.path.basename(each).startswith("uverbs") and not os.access(each, os.R_OK | os.W_OK)
    ]
    if closed:
        found.append(f"{closed[0]} may not be opened: join its group, or change its mode")
    limit, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    if limit != resource.RLIM_INFINITY:
        found.append(
            f"no more than {limit >> 10} KiB of memory can be registered: ulimit -l unlimited"
        )
    return found
