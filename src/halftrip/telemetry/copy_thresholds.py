"""The sizes from which on glibc's memcpy copies in another way: which bends the curves of all that
copies messages in user space, and no setting of a transport's moves it."""

from __future__ import annotations

import re
import subprocess
from functools import cache

import msgspec

from halftrip.kernel_files import HOST_FILES, Reader
from halftrip.results.threshold import Threshold

_TIMEOUT_SECONDS = 5
_TUNABLE = re.compile(r"^(glibc\.cpu\.x86_\w+): 0x([0-9a-f]+)", re.MULTILINE)
# Of glibc's manual, "Hardware Capability Tunables": the name of each, and the flag of a processor
# without which it has no meaning.
_MEANINGS = {
    "glibc.cpu.x86_rep_movsb_threshold": ("memcpy's switch to rep movsb", "erms"),
    "glibc.cpu.x86_non_temporal_threshold": ("memcpy's switch to non-temporal stores", None),
}


@cache
def copy_thresholds() -> tuple[Threshold, ...]:
    """Those of this process: its dynamic loader prints them (glibc 2.33 and later)."""
    loader = re.search(r"\S*/ld-linux\S*", HOST_FILES.text("/proc/self/maps") or "")
    if loader is None:
        return ()
    try:
        listed = subprocess.run(
            [loader[0], "--list-tunables"],
            capture_output=True, text=True, check=True, timeout=_TIMEOUT_SECONDS,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):  # an older one
        return ()
    return parse_tunables(listed.stdout, HOST_FILES)


def parse_tunables(listed: str, reader: Reader) -> tuple[Threshold, ...]:
    """What the loader has `listed` means on the processor whose files `reader` reads."""
    flags = re.search(r"^flags\s*:(.*)$", reader.text("/proc/cpuinfo") or "", re.MULTILINE)
    known = flags[1].split() if flags else []
    found = []
    for tunable, value in _TUNABLE.findall(listed):
        name, flag = _MEANINGS.get(tunable, ("", None))
        if name and int(value, 16) and (flag is None or flag in known):
            copy = Threshold(name=name, value=int(value, 16), acts="copy", source=tunable)
            setting = f"GLIBC_TUNABLES={tunable}=N"
            found.append(msgspec.structs.replace(copy, setting=setting, same_host=True))
    return tuple(found)
