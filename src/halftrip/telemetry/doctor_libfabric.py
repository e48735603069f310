"""Which libfabric is installed, and which providers it has."""

from __future__ import annotations

from halftrip import _native
from halftrip.errors import Unavailable
from halftrip.libfabric.library import (
    LIBRARY,
    Asked,
    installed,
    library,
    missing,
    offers,
    version_of,
)
from halftrip.telemetry.doctor import Check, unknown
from halftrip.telemetry.verbs import obstacles

_NAME = "libfabric"


def check() -> Check:
    """All that are found, with their versions and providers: a run takes the first, or that which
    --libfabric-library names."""
    if "libfabric" not in _native.parts:
        return unknown(_NAME, "not in this build of halftrip")
    if reason := missing():
        is_none = reason.startswith("there is no")
        return (
            unknown(_NAME, reason)
            if is_none
            else Check(_NAME, "warning", reason, "install it anew")
        )
    found: dict[str, str] = {}
    broken = []
    for file in (LIBRARY, *installed()):
        try:
            of = library(file)
            names = dict.fromkeys(
                each.provider
                for same_host in (True, False)
                for each in offers(Asked(library=file, same_host=same_host))
            )
        except Unavailable as error:
            # The linker knows none by itself, where those of packages are there.
            broken += [str(error)] if file != LIBRARY else []
            continue
        found.setdefault(of.file, f"{version_of(of)} ({of.file}): {', '.join(names) or 'none'}")
    said = "; ".join([*found.values(), *broken])
    wrong = "; ".join([*(["a run does not take those that fail"] if broken else []), *obstacles()])
    return Check(_NAME, "warning", said, wrong) if wrong else Check(_NAME, "ok", said)
