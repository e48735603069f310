"""How many rows of a run are ok on this machine as it is, and beside a program that keeps a core
busy: then the verdicts have to name it.

python benchmarks/verdicts.py                # the default run, once each
python benchmarks/verdicts.py -- -t shm,tcp -s 8,64K
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from halftrip.analysis.rows import rows
from halftrip.results.run_file import load

HALFTRIP = Path(sys.executable).with_name("halftrip")
# A loop on this core, for at most so many seconds: nothing runs on if this program is killed.
CORE = 1
MOST_SECONDS = 600
LOOP = f"import time\nend = time.monotonic() + {MOST_SECONDS}\nwhile time.monotonic() < end: pass\n"


@contextlib.contextmanager
def busy_core() -> Iterator[int]:
    """A program that keeps a core busy, and its process."""
    loop = subprocess.Popen([sys.executable, "-c", LOOP])
    try:
        os.sched_setaffinity(loop.pid, {CORE})
        yield loop.pid
    finally:
        loop.kill()
        loop.wait()


def measure(plan: Sequence[str], path: Path) -> None:
    """Measures, and says how many rows have which verdict, and the causes of those that are not
    ok."""
    # With few rows ok the exit status is 0 all the same.
    command = [HALFTRIP, "run", "--no-config", "--quiet", "-o", path, *plan]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    found = [row.verdict for row in rows(load(path), flags=False)]
    words = Counter(each.word for each in found)
    causes = Counter(each.cause.name for each in found if each.cause is not None)
    print(f"  {words['ok']} ok, {words['caution']} caution, {words['no']} no of {len(found)} rows")
    print(f"  causes: {', '.join(f'{name} {count}' for name, count in causes.most_common())}")
    for each in found:
        if each.cause is not None and each.cause.name == causes.most_common(1)[0][0]:
            print(f"  such as: {each.cause.seen}")
            break


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("plan", nargs="*", help="options of halftrip run, after --")
    plan = parser.parse_args().plan
    with tempfile.TemporaryDirectory() as directory:
        print("as it is:")
        measure(plan, Path(directory) / "as-it-is.jsonl")
        with busy_core() as process:
            print(f"core {CORE} kept busy by process {process}:")
            measure(plan, Path(directory) / "busy.jsonl")


if __name__ == "__main__":
    main()
