"""halftrip's own cost: how fast it starts, and how much of a run is measuring.

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

from halftrip.analysis.summaries import summarize_configuration
from halftrip.results.configuration import Configuration
from halftrip.results.run_file import load

HALFTRIP = Path(sys.executable).with_name("halftrip")
HELP_RUNS = 21
LOG_RUNS = 5


def help_seconds() -> float:
    """The median time of ``halftrip --help``, as a whole process."""
    # With cached bytecode, as users have it from the second start on.
    environment = {
        name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
    }
    times = []
    for _ in range(1 + HELP_RUNS):
        began = time.perf_counter()
        subprocess.run([HALFTRIP, "--help"], check=True, stdout=subprocess.DEVNULL, env=environment)
        times.append(time.perf_counter() - began)
    return statistics.median(times[1:])


def default_run() -> tuple[float, float, int]:
    """The wall time of the default run as a whole command, the share of it in timed loops, and the
    size of its file."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "run.jsonl"
        began = time.perf_counter()
        subprocess.run(
            [HALFTRIP, "run", "--no-config", "-o", path], check=True, stdout=subprocess.DEVNULL
        )
        wall = time.perf_counter() - began
        end = load(path).end
        size = path.stat().st_size
    if end is None or end.timed is None:
        sys.exit("the run is not complete")
    return wall, end.timed / wall, size


def with_and_without_log() -> tuple[list[float], list[float]]:
    """For each row the ratio of its median latency with a system log to that without, over several
    runs of each in turn; and the share of the time that each log took."""
    latencies: dict[bool, dict[Configuration, list[float]]] = {False: {}, True: {}}
    shares = []
    with tempfile.TemporaryDirectory() as directory:
        for number in range(2 * LOG_RUNS):
            logs = bool(number % 2)
            path = Path(directory) / f"{number}.jsonl"
            command = [HALFTRIP, "run", "--no-config", "--preset", "quick", "-o", path]
            command += ["--system-log"] if logs else []
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            run = load(path)
            for configuration, measurements in run.by_configuration.items():
                latency = summarize_configuration(measurements).latency
                latencies[logs].setdefault(configuration, []).append(latency)
            if logs and run.end is not None and run.end.logged and run.end.seconds:
                shares.append(run.end.logged / run.end.seconds)
    without, with_log = (
        {
            configuration: statistics.median(found)
            for configuration, found in latencies[logs].items()
        }
        for logs in (False, True)
    )
    return [
        with_log[configuration] / without[configuration]
        for configuration in without
        if configuration in with_log
    ], shares


def main() -> None:
    print(f"halftrip --help: {help_seconds():.3f} s (median of {HELP_RUNS}; wanted: under 0.15)")
    wall, share, size = default_run()
    print(f"default run: {wall:.1f} s (wanted: under 60), {size / 1e6:.1f} MB of file")
    print(f"in timed loops: {share:.0%} of the wall time (wanted: at least 70%)")
    ratios, shares = with_and_without_log()
    low, _, high = statistics.quantiles(ratios, n=4)
    print(f"system log: {max(shares):.2%} of the wall time at most (wanted: under 1%)")
    print(
        f"rows with it / without: {statistics.median(ratios):.3f} (median of {len(ratios)} rows, "
        f"half of them {low:.3f} to {high:.3f}; {LOG_RUNS} runs of either in turn)"
    )


if __name__ == "__main__":
    main()
