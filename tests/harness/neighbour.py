"""A process that wants a core for itself."""

import contextlib
import subprocess
import sys

# It ends with whoever started it, however that ends.
_PROGRAM = """
import os
parent = os.getppid()
os.sched_setaffinity(0, {{{core}}})
print(flush=True)
while os.getppid() == parent:
    for _ in range(100_000):
        pass
"""


@contextlib.contextmanager
def neighbour(core):
    """Such a process on this core, for a while; its number."""
    program = _PROGRAM.format(core=core)
    busy = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    try:
        busy.stdout.readline()
        yield busy.pid
    finally:
        busy.kill()
        busy.wait()
        busy.stdout.close()
