"""What sleeping ends depend on: how a core idles, timers, TCP after a silence, counters."""

from __future__ import annotations

import errno
import os
import socket
import time
from contextlib import ExitStack

from halftrip.kernel_files import HOST_FILES, Reader
from halftrip.stats.median import median
from halftrip.telemetry import environment
from halftrip.telemetry.doctor import Check, unknown
from halftrip.telemetry.perf_counters import HardwareCounters, missing

_HALTPOLL_LIMIT = "/sys/module/haltpoll/parameters/guest_halt_poll_ns"
# The kernel's own, ns; a longer one is somebody's setting.
_USUAL_SLACK = 50_000
_ROUND_TRIPS, _TURNS = 300, 5


def idle(reader: Reader) -> Check:
    """Whether a core without work polls before it halts: a guest that halts has to be woken by its
    hypervisor."""
    name = "idle states"
    found = environment.idle(reader)
    if found is None:
        return unknown(name)
    is_guest = environment.hypervisor(reader) not in {None, "none"}
    if found.startswith("haltpoll"):
        limit = reader.number(_HALTPOLL_LIMIT)
        if limit is None:
            return unknown(name, f"{found}; for how long it polls, the kernel does not say")
        if limit > 0:
            polls = (
                f"{found}: a core without work polls for up to {limit / 1000:.0f} us, then halts"
            )
            return Check(name, "ok", polls)
    elif not (is_guest and found.startswith("none")):
        return Check(name, "ok", f"{found}: the deeper a core sleeps, the longer it takes to wake")
    return Check(
        name,
        "warning",
        f"{found}: a core without work halts at once, and the hypervisor has to wake it",
        "messages between ends that sleep take longer for it: spin (--wait spin), or have it poll",
        commands=["modprobe cpuidle-haltpoll", f"echo 200000 > {_HALTPOLL_LIMIT}"],
    )


def timer_slack(reader: Reader) -> Check:
    slack = environment.timer_slack(reader)
    if slack is None:
        return unknown("timer slack")
    found = f"{slack / 1000:g} us: a sleep may end so much later"
    if slack <= _USUAL_SLACK:
        return Check("timer slack", "ok", found)
    advice = "somebody has set it: paths with --rate or --delay are less exact"
    return Check("timer slack", "warning", found, advice)


def slow_start(reader: Reader) -> Check:
    name = "TCP after a silence"
    found = environment.slow_start_after_idle(reader)
    if found is None:
        return unknown(name)
    if not found:
        return Check(name, "ok", "keeps its window")
    return Check(
        name,
        "ok",
        "begins with a small window again, in each slice (tcp_slow_start_after_idle); between "
        "hosts far apart, large messages take longer until it is open",
    )


def checks(reader: Reader = HOST_FILES) -> list[Check]:
    """The answers about the machine whose files `reader` reads, and about this process."""
    return [idle(reader), timer_slack(reader), slow_start(reader), counters()]


def counters() -> Check:
    """Whether instructions and cycles can be counted, and what that adds to a context switch: for
    so much, all times would be longer, if anything were counted while they are taken."""
    name = "hardware counters"
    why = missing()
    if why is not None:
        return Check(name, "ok", f"{why}: --counters counts nothing")
    try:
        turns = [(switch_time(counted=False), switch_time(counted=True)) for _ in range(_TURNS)]
    except OSError as error:
        return unknown(name, f"there; what they add to a context switch: {error}")
    without, counted = (median(each) for each in zip(*turns, strict=True))
    return Check(
        name,
        "ok",
        f"there; open ones add {max(counted - without, 0.0) / 1000:.1f} us to a context switch of "
        f"{without / 1000:.1f} us, so they are only open in slices that are not timed (--counters)",
    )


def switch_time(counted: bool) -> float:
    """How long two processes on one core take for one to sleep and the other to wake up, ns, with
    Python around it; with hardware counters open in both, if `counted`. Raises OSError where the
    other one ends early."""
    core = {min(os.sched_getaffinity(0))}
    ours, theirs = socket.socketpair()
    before = os.sched_getaffinity(0)
    child = os.fork()
    if child == 0:
        try:
            ours.close()
            os.sched_setaffinity(0, core)
            kept = HardwareCounters() if counted else None
            while theirs.recv(1):
                theirs.send(b"x")
            del kept
        finally:
            os._exit(0)
    theirs.close()
    with ExitStack() as stack:
        stack.callback(os.waitpid, child, 0)
        stack.callback(ours.close)
        stack.callback(os.sched_setaffinity, 0, before)
        os.sched_setaffinity(0, core)
        kept = HardwareCounters() if counted else None
        times = []
        for _ in range(_ROUND_TRIPS):
            began = time.monotonic_ns()
            ours.send(b"x")
            if not ours.recv(1):
                raise OSError(errno.EPIPE, "the other process has ended")
            times.append((time.monotonic_ns() - began) / 2)
        del kept
        return median(times)
