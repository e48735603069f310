"""What sleeping ends depend on: how a core idles, timers, TCP after a silence, counters."""

from __future__ import annotations

import os
import signal
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
    found = environment.idle(reader)
    name = "idle states"
    if found is None:
        return unknown(name)
    is_guest = environment.hypervisor(reader) not in {None, "none"}
    limit = reader.number(_HALTPOLL_LIMIT) if found.startswith("haltpoll") else 0
    if is_guest and not limit:
        at_once = f"{found}: a core without work halts at once, and the hypervisor has to wake it"
        advice = (
            "messages between ends that sleep take longer for it: load cpuidle-haltpoll and set "
            f"{_HALTPOLL_LIMIT} to 200000, or spin (--wait spin)"
        )
        return Check(name, "warning", at_once, advice)
    if limit:
        polls = f"{found}: a core without work polls for up to {limit / 1000:.0f} us, then halts"
        return Check(name, "ok", polls)
    return Check(name, "ok", f"{found}: the longer a core has slept, the longer it takes to wake")


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
    without, counted = (median(each) for each in zip(*map(_both, range(_TURNS)), strict=True))
    return Check(
        name,
        "ok",
        f"there; open ones add {max(counted - without, 0.0) / 1000:.1f} us to a context switch of "
        f"{without / 1000:.1f} us, so they are only open in slices that are not timed (--counters)",
    )


def _both(_turn: int) -> tuple[float, float]:
    return switch_time(counted=False), switch_time(counted=True)


def switch_time(counted: bool) -> float:
    """How long two processes on one core take for one to sleep and the other to wake up, ns, with
    Python around it; with hardware counters open in both, if `counted`."""
    core = {min(os.sched_getaffinity(0))}
    (there_out, there_in), (back_out, back_in) = os.pipe(), os.pipe()
    before = os.sched_getaffinity(0)
    child = os.fork()
    if child == 0:
        try:
            os.close(there_in)
            os.sched_setaffinity(0, core)
            kept = HardwareCounters() if counted else None
            while os.read(there_out, 1):
                os.write(back_in, b"x")
            del kept
        finally:
            os._exit(0)
    with ExitStack() as stack:
        for descriptor in (there_out, there_in, back_out, back_in):
            stack.callback(os.close, descriptor)
        stack.callback(os.waitpid, child, 0)
        stack.callback(os.kill, child, signal.SIGKILL)
        stack.callback(os.sched_setaffinity, 0, before)
        os.sched_setaffinity(0, core)
        kept = HardwareCounters() if counted else None
        times = []
        for _ in range(_ROUND_TRIPS):
            began = time.monotonic_ns()
            os.write(there_in, b"x")
            os.read(back_out, 1)
            times.append((time.monotonic_ns() - began) / 2)
        del kept
        return median(times)
