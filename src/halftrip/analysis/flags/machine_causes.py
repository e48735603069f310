"""The causes that lie in the machine: a part of the table of causes."""

from __future__ import annotations

from halftrip.analysis.flags import machine
from halftrip.analysis.flags.cause import Cause

IMPOSSIBLE = "impossible"

# In the order in which they explain others.
ALWAYS: tuple[Cause, ...] = (
    Cause(
        name=IMPOSSIBLE,
        flag="above-bound",
        when="always",
        find=machine.above_bound,
        evidence="One way takes less than half the shortest core-to-core round trip probed during "
        "the row, over 1.25, where an iteration waits for at least one cache line to cross; or the "
        "bandwidth is more than 1.25 times that of the fastest `memcpy` of either end. In the "
        "memory of CUDA devices it is the device's own copies of the same run, within the device "
        "or between the two, or to and from page-locked memory where messages are staged. 1.25 is "
        "the tolerance between measurements at different times.",
        excluded="there is no bound: between hosts, with `put` and `get` or a window (of the "
        "first), and in memory of which no copies were measured",
        says="0.0308 us one way, where a cache line alone takes 0.0494 us",
        advice="look whether the payload is touched at all; --verify tells whether it arrives",
    ),
    Cause(
        name="CPU contention",
        flag="disturbed",
        when="always",
        find=machine.contention,
        evidence="An end that hardly sleeps waited for its core for more than 10 % of the time, in "
        "which the core was not idle. Of an end that sleeps, the core was neither idle nor its own "
        "for more than 25 % of the time, and 30 ms.",
        excluded="ranks share the core: that is `oversubscribed`",
        says="other programs had 51 % of core 1 (just after, python3 (process 32559) had 85 %)",
        advice="stop them, or choose other cores with --cores",
    ),
    Cause(
        name="steal",
        flag="disturbed",
        when="always",
        find=machine.steal,
        evidence="The hypervisor had the core of an end for more than 10 % of the time, and 30 ms.",
        excluded="the hypervisor counts no steal",
        says="the hypervisor had 39 % of core 0",
        advice="measure when its other machines are quiet, or on a machine of your own",
    ),
    Cause(
        name="oversubscribed",
        flag="oversubscribed",
        when="always",
        find=machine.oversubscribed,
        evidence="A rank of the pair shares its core with another rank, of this pair or not.",
        excluded="",
        says="rank 0 shares core 0 with another rank",
        advice="use no more ranks than cores; what is measured here is the scheduler",
    ),
    Cause(
        name="unpinned",
        flag="unpinned",
        when="always",
        find=machine.unpinned,
        evidence="A rank of the pair was not pinned. Its core is a matter of chance then, and "
        "pairs of cores differ.",
        excluded="its launcher has bound it to a single core",
        says="rank 0 could move from core to core",
        advice="leave out --cores none: ranks pin themselves, or name cores",
    ),
    Cause(
        name="other state",
        flag="other-state",
        when="always",
        find=machine.other_state,
        evidence="With `--placement-state near`, or `far`, the core-to-core round trips of the row "
        "are not those of the fastest, or slowest, of several clear states that rows of these two "
        "ranks saw. A state is only known once it has been seen.",
        excluded="nothing tells several states apart",
        says="measured before it was known that core to core can take 150 to 152 ns, which is near",
        advice="measure it again, or in more slices",
    ),
)
SPIKES = Cause(
    name="spikes",
    flag="disturbed",
    when="never",
    find=machine.spikes,
    evidence="Samples of more than ten medians took, beyond the median, more than 10 % of the "
    "total time. Then mean and median differ.",
    excluded="",
    says="5 samples of more than 10 medians took 11 % of the time",
    advice="look for what else runs on these cores; the median does not show it, mean and max do",
)


def of(name: str) -> Cause:
    """The cause of this name that matters however narrow the interval is."""
    return next(cause for cause in ALWAYS if cause.name == name)
