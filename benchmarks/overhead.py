"""What halftrip itself costs: how soon it answers, and how much of a run is measuring.

python benchmarks/overhead.py
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from halftrip import store

HALFTRIP = Path(sys.executable).with_name("halftrip")
HELP_RUNS = 21


def help_seconds() -> float:
    """The median time of ``halftrip --help``, as a whole process."""
    # As for any user from the second time on: what Python has compiled it keeps.
    environment = {name: v for name, v in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    times = []
    for _ in range(1 + HELP_RUNS):
        began = time.perf_counter()
        subprocess.run([HALFTRIP, "--help"], check=True, stdout=subprocess.DEVNULL, env=environment)
        times.append(time.perf_counter() - began)
    return statistics.median(times[1:])


def default_run() -> tuple[float, float, int]:
    """The default run: its wall time as a whole command, the share of that in timed loops, and the
    size of its file."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "run.jsonl"
        began = time.perf_counter()
        subprocess.run([HALFTRIP, "run", "-o", path], check=True, stdout=subprocess.DEVNULL)
        wall = time.perf_counter() - began
        end = store.load(path).end
        size = path.stat().st_size
    if end is None or end.timed is None:
        sys.exit("the run did not end well")
    return wall, end.timed / wall, size


def main() -> None:
    print(f"halftrip --help: {help_seconds():.3f} s (median of {HELP_RUNS}; wanted: under 0.15)")
    wall, share, size = default_run()
    print(f"default run: {wall:.1f} s (wanted: under 60), {size / 1e6:.1f} MB of file")
    print(f"in timed loops: {share:.0%} of the wall time (wanted: at least 60%)")


if __name__ == "__main__":
    main()
