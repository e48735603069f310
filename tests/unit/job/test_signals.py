"""Signals by which a user ends a run."""

import os
import signal
import sys

from halftrip.job.signals import catching, interrupt


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
