"""A process that wants a core for itself, and how long each process has had one."""

import contextlib
import subprocess
import sys
from pathlib import Path

# It ends with whoever started it, however that ends. Whoever may raises its priority, by three
# times the weight of any other program: nobody else who wants the core has it for longer.
_PROGRAM = """
import contextlib, os, pathlib, time
parent = os.getppid()
os.sched_setaffinity(0, {{{core}}})
with contextlib.suppress(OSError):
    os.nice(-5)
    pathlib.Path("/proc/self/autogroup").write_text("-5")
print(flush=True)
while os.getppid() == parent:
    ends = time.monotonic() + {busy}
    while time.monotonic() < ends and os.getppid() == parent:
        for _ in range(100_000):
            pass
    time.sleep({away})
"""


@contextlib.contextmanager
def neighbour(core, busy=1.0, away=0.0):
    """Such a process on this core, for a while; its number. It is away for so long, s, after each
    time of being busy."""
    program = _PROGRAM.format(core=core, busy=busy, away=away)
    # In a session of its own: sessions have equal shares of a core.
    command = [sys.executable, "-c", program]
    busy = subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True)
    try:
        busy.stdout.readline()
        yield busy.pid
    finally:
        busy.kill()
        busy.wait()
        busy.stdout.close()


def cpu_seconds():
    """For how long each process that exists now has computed so far, s, to the nanosecond."""
    found = {}
    for directory in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            schedstats = (directory / "task").glob("*/schedstat")
            ran = sum(int(path.read_text().split()[0]) for path in schedstats)
            found[int(directory.name)] = ran * 1e-9
    return found
