"""How long a test waits."""

import time

# Longer than anything takes, however busy this machine is.
AMPLE_SECONDS = 120.0
# What halftrip promises: after the end of a run, or of one of its processes, nothing is left for
# longer.
END_SECONDS = 5.0
# The same of a run over Dragon.
DRAGON_SECONDS = 20.0


def until(is_so, said="", seconds=AMPLE_SECONDS):
    """Waits until `is_so()` is true, and returns what it is; fails after so long, with what is
    `said`, or what that returns then."""
    deadline = time.monotonic() + seconds
    while not (found := is_so()):
        assert time.monotonic() < deadline, said() if callable(said) else said
        time.sleep(0.02)
    return found
