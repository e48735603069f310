"""Hardware counters are open in slices of their own, and at no other time."""

import contextlib
import os
import re
import time

import psutil

from halftrip.results.run_file import load
from harness.shell import HALFTRIP

# The kernel's clock of a thread in place of the processor's counters, which not every machine has.
SOFTWARE_EVENTS = """
from halftrip.telemetry import perf_counters
perf_counters.INSTRUCTIONS = perf_counters.CYCLES = (1, 1)
"""
RECORD = re.compile(rb'^{"record":"measurement"', re.MULTILINE)


def has_counter(rank):
    # One that is ending belongs to root.
    with contextlib.suppress(FileNotFoundError, ProcessLookupError, PermissionError):
        for number in os.listdir(f"/proc/{rank.pid}/fd"):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                if "perf_event" in os.readlink(f"/proc/{rank.pid}/fd/{number}"):
                    return True
    return False


def test_no_rank_has_a_counter_open_while_anything_is_timed(shell):
    process = shell.start(
        *(HALFTRIP, "run", "-o", "run.jsonl", "-q", "-t", "pipe,tcp", "-s", "8,4K"),
        *("--time", "50ms", "-r", "5", "--counters"),
        environment=shell.patched(SOFTWARE_EVENTS),
    )
    # Of each look at each rank: whether it had a counter, and how many slices had been recorded.
    looks = []
    while process.poll() is None:
        with contextlib.suppress(psutil.Error):
            found = [has_counter(rank) for rank in psutil.Process(process.pid).children()]
            recorded = len(RECORD.findall(shell.path.read_bytes())) if shell.path.exists() else 0
            looks += [(each, recorded) for each in found]
        time.sleep(0.005)
    assert process.wait() == 0, process.stderr.read()
    slices = len(RECORD.findall(shell.path.read_bytes()))
    timed = [has for has, recorded in looks if 0 < recorded < slices]
    assert len(timed) > 20
    assert not any(timed)
    assert any(has for has, _ in looks)
    assert len(load(shell.path).counted_by_configuration) == 4
