"""A process that wants a core for itself."""

import contextlib
import subprocess
import sys


@contextlib.contextmanager
def neighbour(core):
    program = f"import os; os.sched_setaffinity(0, {{{core}}}); print(flush=True)\nwhile 1: pass"
    busy = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    try:
        busy.stdout.readline()
        yield busy.pid
    finally:
        busy.kill()
        busy.wait()
        busy.stdout.close()
