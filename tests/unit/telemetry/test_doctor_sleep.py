"""What sleeping ends depend on, answered from made-up kernels."""

import os

import pytest

from halftrip.telemetry import doctor_sleep
from halftrip.telemetry.doctor_sleep import checks, switch_time
from halftrip.telemetry.perf_counters import HardwareCounters
from harness.limits import AMPLE_SECONDS

TESTS = os.getpid()

IDLE = "sys/devices/system/cpu/cpuidle"
POLLS = "sys/module/haltpoll/parameters/guest_halt_poll_ns"
GUEST = {"proc/cpuinfo": "flags\t: fpu hypervisor\n"}
HALTPOLL = {f"{IDLE}/current_driver": "haltpoll\n", f"{IDLE}/current_governor_ro": "haltpoll\n"}
INTEL = {f"{IDLE}/current_driver": "intel_idle", f"{IDLE}/current_governor": "menu"}
SLOW_START = "proc/sys/net/ipv4/tcp_slow_start_after_idle"
SLACK = "proc/self/timerslack_ns"


@pytest.mark.parametrize(
    ("files", "name", "state", "found"),
    [
        ({}, "idle states", "unknown", "does not say"),
        (INTEL, "idle states", "ok", "intel_idle, governor menu: the deeper"),
        (GUEST | HALTPOLL | {POLLS: "200000"}, "idle states", "ok", "polls for up to 200 us"),
        (GUEST | HALTPOLL | {POLLS: "0"}, "idle states", "warning", "halts at once"),
        (GUEST | HALTPOLL, "idle states", "unknown", "for how long it polls"),
        (GUEST | INTEL, "idle states", "ok", "intel_idle"),
        (GUEST | {f"{IDLE}/current_driver": "none"}, "idle states", "warning", "halts at once"),
        ({SLACK: "50000"}, "timer slack", "ok", "50 us"),
        ({SLACK: "4000000"}, "timer slack", "warning", "4000 us"),
        ({SLOW_START: "1"}, "TCP after a silence", "ok", "small window"),
        ({SLOW_START: "0"}, "TCP after a silence", "ok", "keeps its window"),
    ],
)
def test_each_question_has_its_answer(bare_kernel, files, name, state, found):
    for path, content in files.items():
        bare_kernel(path, content)
    (check,) = (each for each in checks(bare_kernel.reader) if each.name == name)
    assert (check.state, found in check.found) == (state, True)
    assert (check.advice is not None) == (state == "warning")


def test_what_open_counters_add_to_a_context_switch_is_measured(monkeypatch):
    times = {False: 2000.0, True: 5500.0}
    monkeypatch.setattr(doctor_sleep, "missing", lambda: None)
    monkeypatch.setattr(doctor_sleep, "switch_time", lambda counted: times[counted])
    assert "add 3.5 us to a context switch of 2.0 us" in doctor_sleep.counters().found


def test_a_context_switch_takes_time_and_leaves_no_process():
    assert 0 < switch_time(counted=False) < AMPLE_SECONDS * 1e9
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


class Refused(HardwareCounters):
    """Counters that only this process may open."""

    def __init__(self):
        if os.getpid() != TESTS:
            raise PermissionError


def test_where_the_other_process_cannot_count_nothing_waits_for_it(monkeypatch):
    monkeypatch.setattr(doctor_sleep, "missing", lambda: None)
    monkeypatch.setattr(doctor_sleep, "HardwareCounters", Refused)
    found = doctor_sleep.counters()
    assert found.state == "unknown"
    assert found.found.startswith("there; what they add to a context switch: ")
