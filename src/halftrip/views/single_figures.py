"""What is said of figures without an interval, as most other tools print them: nothing tells how
far two of them differ by chance."""

from __future__ import annotations

from halftrip.analysis.comparison import ASSUMED_SPREAD

CANNOT_TELL = "no interval: cannot tell"
_SHARE = f"--launch-spread {100 * ASSUMED_SPREAD:g}%"


def more_of(imported: bool) -> str:
    """What has several launches; `imported`: the figures are another tool's."""
    return "another output of the same test" if imported else "--launches 5"


def what_it_takes(imported: bool, command: str = "") -> str:
    """What would tell. `command` is the one whose option it names, if that is not this one."""
    said = f"or how far launches are known to differ, as {command}{_SHARE}"
    return f"it takes {more_of(imported)}, {said}"
