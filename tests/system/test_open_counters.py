"""Hardware counters are open in slices of their own, and at no other time."""

import contextlib
import os
import re
import time

from halftrip.results.run_file import load
from harness.shell import HALFTRIP

# The kernel's clock of a thread in place of the processor's counters, which not every machine has.
SOFTWARE_EVENTS = """
from halftrip.telemetry import perf_counters
perf_counters.INSTRUCTIONS = perf_counters.CYCLES = (1, 1)
"""
RECORD = re.compile(rb'^{"record":"measurement"', re.MULTILINE)


def ranks_of(pid):
    """The ranks that a command has started, as far as they live."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            children = file.read().split()
        return [child for child in children if session_of(child) == int(child)]
    return []


def session_of(pid):
    try:
        return os.getsid(int(pid))
    except ProcessLookupError:
        return None


def has_counter(pid):
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for number in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                if "perf_event" in os.readlink(f"/proc/{pid}/fd/{number}"):
                    return True
    return False


def watched(shell, *options):
    """A run of pipe and tcp; for each look at each rank, whether it had a counter open, and how
    many slices had been recorded by then."""
    process = shell.start(
        *(HALFTRIP, "run", "-o", "run.jsonl", "-q", "-t", "pipe,tcp", "-s", "8,4K"),
        *("--time", "50ms", *options),
        environment=shell.patched(SOFTWARE_EVENTS),
    )
    looks = []
    while process.poll() is None:
        ranks = ranks_of(process.pid)
        found = [has_counter(pid) for pid in ranks]
        recorded = len(RECORD.findall(shell.path.read_bytes())) if shell.path.exists() else 0
        looks += [(each, recorded) for each in found]
        time.sleep(0.01)
    assert process.wait() == 0, process.stderr.read()
    return looks


def test_no_rank_has_a_counter_open_while_anything_is_timed(shell):
    looks = watched(shell, "--counters")
    slices = len(RECORD.findall(shell.path.read_bytes()))
    timed = [has for has, recorded in looks if 0 < recorded < slices]
    assert len(timed) > 20
    assert not any(timed)
    assert any(has for has, _ in looks)
    assert len(load(shell.path).counted_by_configuration) == 4
