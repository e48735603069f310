"""Signals by which a user ends a run."""

import os
import signal
import sys

from halftrip.control.protocol import Address
from halftrip.job.processes import rank_process
from halftrip.job.signals import catching, interrupt
from halftrip.job.spec import Job


class Last:
    def __del__(self):
        # Of the three signals the one that nohup and scripts leave alone.
        os.kill(os.getpid(), signal.SIGTERM)


def test_a_signal_in_a_destructor_is_not_lost(monkeypatch):
    # Python prints the exception, and goes on.
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)
    found = []
    with catching(interrupt):
        Last()
        with catching(found.append):
            pass
    assert found == ["stopped by SIGTERM"]
    with catching(found.append):
        pass
    assert len(found) == 1


def test_an_interrupt_before_the_first_line_of_a_rank_is_no_traceback(tmp_path):
    job = Job(address=Address(unix="nobody"), token="t", launcher=os.getpid(), ranks=2)
    # Whoever runs the tests in the background ignores it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    with open(tmp_path / "printed", "wb") as printed:
        rank = rank_process(job, 0, printed.fileno())
    signal.signal(signal.SIGINT, before)
    rank.send_signal(signal.SIGINT)
    assert rank.wait() == -signal.SIGINT
    assert (tmp_path / "printed").read_bytes() == b""
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
