"""The causes that lie in the machine: a part of the table of causes."""

from __future__ import annotations

from halftrip.analysis.flags import cores, machine
from halftrip.analysis.flags.cause import OTHERS, Cause

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
        advice="--verify tells whether the payload arrives; with put and get, --touch timed reads "
        "or writes it",
    ),
    Cause(
        name="CPU contention",
        flag="disturbed",
        when="always",
        find=machine.contention,
        evidence="Other tasks ran on the core of an end for more than 10 % of the time by the "
        "scheduler's own clock; of an end that sleeps, for 30 ms at least, and of one that hardly "
        "does, no more than it waited for its core. A task is named if it had at least half of "
        "that just after.",
        excluded="the tasks are this run's own, or serve interrupts; ranks share the core: that is "
        "`oversubscribed`; the kernel has neither `/proc/schedstat` nor `cpuacct`, or several "
        "threads of a rank talk (`--threads`): then it is not known",
        says="other programs had 51 % of core 1 (just after, python3 (process 32559) had 85 %)",
        advice="stop them, or choose other cores with --cores",
    ),
    Cause(
        name="CPU quota",
        flag="disturbed",
        when="always",
        find=cores.quota,
        evidence="The quota of a control group that the rank is in, or of a parent of it, stopped "
        "it for more than 10 % of the time, as in a container with a CPU limit.",
        excluded="it did not wait meanwhile: others of its group did",
        says="rank 0 was throttled for 48 % of the time",
        advice="raise the CPU limit of the container, or job, to a CPU for each rank, or lift it",
    ),
    Cause(
        name="own tasks",
        flag="disturbed",
        when="always",
        find=cores.own_tasks,
        evidence="As `CPU contention`, but the task that explains most of it is another thread of "
        "the rank itself, or what has started the rank, such as mpiexec.",
        excluded="",
        says="this run's own mpiexec (process 812) had 31 % of core 0",
        advice="choose other cores with --cores, or turn the library's progress thread off",
    ),
    Cause(
        name="interrupts",
        flag="disturbed",
        when="always",
        find=cores.interrupts,
        evidence="Hard and soft interrupts had the core of an end for more than 10 % of the time, "
        "and more than ticks of 4 ms and steps of 10 ms make by chance, or a thread of the kernel "
        "did that serves them.",
        excluded="the row sends packets itself, by TCP, UDP or to another host: then they may be "
        "its own",
        says="interrupts had 36 % of core 1",
        advice="send the interrupts of devices to other cores (/proc/irq, RPS), or choose other "
        "cores with --cores",
    ),
    Cause(
        name="steal",
        flag="disturbed",
        when="always",
        find=machine.steal,
        evidence="The hypervisor did not run the core of an end for more than 10 % of the time, "
        "and 30 ms.",
        excluded="the hypervisor has never counted any: then it is not known",
        says="the hypervisor did not run core 0 for 39 % of the time",
        advice="measure when its other machines are quiet, or on a machine of your own; ask "
        "its operator whether the virtual CPU has a quota, or has used up its credits",
    ),
    Cause(
        name="waited for a core",
        flag="disturbed",
        when="always",
        find=cores.waiting,
        evidence="An end that hardly sleeps was ready to run, and had no core, for more than 10 % "
        "of the time beyond what other programs and a quota explain.",
        excluded="ranks share the core",
        says="rank 1 was ready to run, and did not get core 1, for 50 % of the time",
        advice=f"{OTHERS}; if nothing, ask whether a CPU limit is set outside of what can "
        "be seen from here, as around a container",
    ),
    Cause(
        name="SMT siblings",
        flag="disturbed",
        when="always",
        find=cores.siblings,
        evidence="Both ranks are on processors of one physical core; or another processor of an "
        "end's physical core was busy for more than 25 % of the time.",
        excluded="the kernel tells of no siblings, as under most hypervisors",
        says="another processor of the physical core of core 1 was busy for 60 % of the time",
        advice="leave the siblings of these cores idle, or choose other cores with --cores",
    ),
    Cause(
        name="oversubscribed",
        flag="oversubscribed",
        when="always",
        find=machine.oversubscribed,
        evidence="A rank of the pair shares its core with another rank, of this pair or not, also "
        "in another container of the same machine.",
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
        name="MPI warned",
        flag="mpi-warned",
        when="always",
        find=cores.mpi_warned,
        evidence="The mpiexec or the ranks of a row over MPI printed a line that says that "
        "something failed, is slow or was refused, as where `/dev/shm` is too small for shared "
        "memory: MPI goes another way then.",
        excluded="the job was started by another launcher, which has what is printed",
        says="the MPI itself warned: It appears as if there is not enough space for /dev/shm",
        advice="see to what it says (halftrip doctor has the room in /dev/shm)",
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
    advice=f"{OTHERS}; the median does not show it, mean and max do",
)


def of(name: str) -> Cause:
    """The cause of this name that matters however narrow the interval is."""
    return next(cause for cause in ALWAYS if cause.name == name)
