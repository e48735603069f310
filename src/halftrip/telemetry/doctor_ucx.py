"""Which UCX is installed, what each of them can use here, and what keeps it from more."""

from __future__ import annotations

from halftrip import _native
from halftrip.errors import Unavailable
from halftrip.telemetry.doctor import Check, unknown
from halftrip.telemetry.verbs import obstacles
from halftrip.ucx.library import INSTALL, installed
from halftrip.ucx.resources import ask

_NAME = "UCX"


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
    wrong += obstacles()
    text = "\n".join(said)
    return Check(_NAME, "warning", text, "; ".join(wrong)) if wrong else Check(_NAME, "ok", text)
