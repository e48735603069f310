"""Prints docs/flags.md, from the table of causes; make golden writes it."""

from __future__ import annotations

from textwrap import fill

from halftrip.analysis.flags.cause import Cause, When
from halftrip.analysis.flags.table import CAUSES

HEAD = """\
# Causes and flags: why not to trust a row as it stands

The [verdict](method.md#the-verdict) on a row that is not `ok` names its cause; a flag is what else
makes one doubt it, found in its samples, in its neighbours or in the machine. Neither removes
anything: the samples stay in the file, and the row in the table. `halftrip show RUN --why` has the
causes of all rows, `--flags` what was seen of each flag, and what to do.

- A sentence names only what was seen. What is left over after a subtraction is called unaccounted.
  Several causes that hold are all said, the largest first, with their shares.
- A rule about the samples of a slice needs 24 of them, as warm-up does.
- Every slice that counts has the same weight, however many samples it has.
- A threshold without a source is a choice, and the reason is given.
- *Suspect* samples were probably taken while an end had lost its core. Reading counters within a
  block would disturb it, so this is inferred. Counters around each block tell how often each end
  was preempted (involuntary context switches): that many of its longest samples are suspect. The
  ends also know how long they waited for their cores in the whole row (an end that sleeps: only if
  others had its core for much of the time), and how much steal there was: as many more of the
  longest samples are suspect as that time explains, if they exceed the median by another median,
  or by a millisecond. `show --cost` counts them; `halftrip.analysis.usage.suspect(measurement)`
  says which.
"""
WHEN: dict[When, str] = {
    "always": "Causes that matter however narrow the interval is",
    "slices": "What the slices of a wide interval go with",
    "wide": "Other causes of a wide interval",
    "contradict": "Contradicted by other rows",
    "little": "Nothing else was found",
    "never": "Flags only",
}
OF_SLICES = """\
The times of slices within their launch, or those of launches, are compared with what was read
beside each. It accounts for half of their variance or more, and chance gives that, for any of
these, in less than 5 % of rows (random orders of the values).
"""
TAIL = """\
This page is made from `src/halftrip/analysis/flags/table.py` by `scripts/flags_page.py`.
"""


def page() -> str:
    """The whole page, in Markdown."""
    parts = [HEAD]
    for when, title in WHEN.items():
        causes = [cause for cause in CAUSES if cause.when == when]
        parts.append(f"## {title}\n")
        parts += [OF_SLICES] * (when == "slices")
        parts += [_section(cause) for cause in causes]
    return "\n".join([*parts, TAIL])


def _section(cause: Cause) -> str:
    flag = f" (flag `{cause.flag}`)" if cause.flag and cause.when != "never" else ""
    name = cause.flag if cause.when == "never" and cause.flag != cause.name else cause.name
    excluded = cause.excluded
    if cause.explained_by:
        beside = f"it has {' or '.join(f'`{other}`' for other in cause.explained_by)}"
        excluded = f"{excluded}; {beside}" if excluded else beside
    lines = [
        f"*Evidence*: {cause.evidence}",
        *([f"*Not where* {excluded}."] if excluded else []),
        f"*Do*: {cause.advice}.",
    ]
    items = [
        fill(line, 119, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False)
        for line in lines
    ]
    return "\n".join([f"**{name}**{flag}: `{cause.says}`", "", *items, ""])


if __name__ == "__main__":
    print(page(), end="")
