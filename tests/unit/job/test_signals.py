"""Signals by which a user ends a run."""

import os
import signal
import sys

import pytest

from halftrip.control.protocol import Address
from halftrip.errors import Stopped, UsageError
from halftrip.job.processes import rank_process
from halftrip.job.signals import catching, interrupt
from halftrip.job.spec import Job


class Last:
    def __del__(self):
        # Of the three signals the one that nohup and scripts leave alone.
        os.kill(os.getpid(), signal.SIGTERM)


class Broken:
    def __del__(self):
        raise ValueError("a defect")


def test_a_signal_in_a_destructor_is_not_lost(monkeypatch):
    """Python prints an exception there, and goes on: of this one it prints nothing."""
    found, ignored = [], []
    monkeypatch.setattr(sys, "unraisablehook", lambda each: ignored.append(str(each.exc_value)))
    with catching(interrupt):
        Last()
        Broken()
        with catching(found.append):
            pass
    assert ignored == ["a defect"]
    assert found == ["stopped by SIGTERM"]
    with catching(found.append):
        pass
    assert len(found) == 1


class Named:
    def __set_name__(self, owner, name):
        signal.raise_signal(signal.SIGTERM)


def in_a_class_body():
    """Python 3.11 raises a RuntimeError in its place."""

    class Owner:
        named = Named()


def in_a_plug_in():
    """What a plug-in raises while it is imported is said to be its mistake."""
    try:
        signal.raise_signal(signal.SIGTERM)
    except Stopped as error:
        raise UsageError(f"transport 'x' cannot be loaded: {error}") from None


@pytest.mark.parametrize("where", [in_a_class_body, in_a_plug_in])
def test_what_becomes_of_a_signal_s_exception_is_the_signal(where):
    with pytest.raises(Stopped, match=r"^stopped by SIGTERM$"), catching(interrupt):
        where()
    # It is over: what is raised later is something else.
    with pytest.raises(UsageError), catching(interrupt):
        raise UsageError("a mistake")


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
