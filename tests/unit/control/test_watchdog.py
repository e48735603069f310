"""The watchdog ends the main thread's work, whatever that is, when the run is over."""

import os
import signal
import subprocess
import sys
import threading
import time
import weakref

import numpy as np
import pytest

from halftrip import _native
from halftrip.control.protocol import Abort, Bye, Closed
from halftrip.control.watchdog import Watchdog
from halftrip.errors import HalftripError, Interrupted
from halftrip.memory.shared import SharedSegment
from harness.limits import AMPLE_SECONDS


@pytest.fixture
def watchdog(channels, monkeypatch):
    # However busy this machine is, it does not end the process of all tests.
    monkeypatch.setattr("halftrip.control.watchdog.GRACE_SECONDS", AMPLE_SECONDS)
    noted = []
    watchdog = Watchdog({channels[0]: "rank 1"}, {}, on_end=noted.append)
    watchdog.noted = noted
    yield watchdog
    if not watchdog._closed.is_set():
        watchdog.close()


def sleep_in_python():
    time.sleep(AMPLE_SECONDS)


def sleep_in_a_read():
    # Bare descriptors: the exception may come while a context manager is being left.
    read_end, _ = os.pipe()
    _native.BlockingStream(read_end, read_end, False).recv(np.zeros(8, dtype=np.uint8))


def poll_memory():
    segment = SharedSegment(_native.shm_segment_size)
    _native.Shm(segment.bytes, 0, False).recv(np.zeros(8, dtype=np.uint8))


def compute():
    while True:
        pass


@pytest.mark.parametrize("work", [sleep_in_python, sleep_in_a_read, poll_memory, compute])
def test_a_peer_that_dies_ends_any_work(watchdog, channels, work):
    """None of which ends by itself within the time of a test."""
    threading.Timer(0.1, channels[1].close).start()
    error = watchdog.guard(work)
    assert isinstance(error, Interrupted)
    assert str(error) == "rank 1 died"
    watchdog.close(Abort(str(error)))
    assert watchdog.noted == ["rank 1 died"]


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_an_end_in_a_finaliser_is_not_lost(watchdog, channels):
    """Python prints and forgets what a finaliser raises, so it is raised after that."""
    finalised = []

    class Thing:
        pass

    def finalise():
        time.sleep(0.3)
        finalised.append(True)

    def work():
        thing = Thing()
        weakref.finalize(thing, finalise)
        threading.Timer(0.1, channels[1].close).start()
        del thing
        sleep_in_python()

    assert str(watchdog.guard(work)) == "rank 1 died"
    assert finalised == [True]
    watchdog.close()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_the_work_ends_even_if_the_reason_cannot_be_reported(channels):
    """Where the launcher was killed, standard error has no reader any more."""

    def say(reason):
        raise BrokenPipeError

    watchdog = Watchdog({channels[0]: "rank 1"}, {}, on_end=say)
    channels[1].close()
    assert str(watchdog.guard(sleep_in_python)) == "rank 1 died"
    watchdog.close()


def test_a_peer_that_says_bye_does_not_end_the_work(watchdog, channels):
    channels[1].send(Bye())
    channels[1].close()
    assert watchdog.guard(lambda: time.sleep(0.2)) is None
    watchdog.close()


def test_closing_the_watchdog_says_bye_to_the_others(watchdog, channels):
    assert watchdog.guard(lambda: None) is None
    watchdog.close()
    assert channels[1].receive() == Bye()


def test_an_error_of_the_work_is_returned(watchdog, channels):
    error = watchdog.guard(lambda: {}["key"])
    assert isinstance(error, KeyError)
    watchdog.close(Abort("rank 0 failed"))
    assert channels[1].receive() == Abort("rank 0 failed")


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (KeyError("key"), "rank 1 failed: KeyError: 'key'"),
        # It need not be known why a connection was closed.
        (_native.PeerClosed("closed"), "rank 1 failed: PeerClosed: closed"),
    ],
)
def test_what_another_thread_raises_ends_any_work(watchdog, channels, monkeypatch, error, reason):
    monkeypatch.setattr(watchdog._known, "wait", lambda _: False)
    threading.Timer(0.05, Watchdog.current.fail, (error, 1)).start()
    assert watchdog.guard(poll_memory) is error
    watchdog.close()
    assert channels[1].receive() == Abort(reason)


def test_of_threads_that_fail_together_the_first_is_the_reason(watchdog, channels):
    def fail():
        for text in ("the first", "the second"):
            watchdog.fail(HalftripError(text), 1)

    threading.Timer(0.05, fail).start()
    assert str(watchdog.guard(poll_memory)) == "the first"
    watchdog.close()


def test_another_thread_that_sees_a_closed_connection_waits_for_the_reason(watchdog, channels):
    threading.Timer(0.05, watchdog.fail, (_native.PeerClosed("closed"), 1)).start()
    threading.Timer(0.1, lambda: channels[1].send(Abort("rank 3 died"))).start()
    assert str(watchdog.guard(poll_memory)) == "rank 3 died"
    watchdog.close()


@pytest.mark.parametrize("sign", [_native.PeerClosed, Closed, ConnectionResetError])
def test_after_a_closed_connection_the_guard_waits_for_the_reason(watchdog, channels, sign):
    """A kernel sees that its peer has closed the connection before the watchdog knows who died."""

    def work():
        threading.Timer(0.1, lambda: channels[1].send(Abort("rank 3 died"))).start()
        raise sign

    assert str(watchdog.guard(work)) == "rank 3 died"
    watchdog.close()


@pytest.mark.parametrize("ends", [_native.Stopped, KeyError, None])
def test_nothing_is_interrupted_after_the_work_is_over(watchdog, channels, ends):
    """A signal of the watchdog that comes late finds the main thread on its way out."""

    def work():
        # The watchdog's signal stays pending until the guard has returned.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGURG})
        channels[1].send(Abort("rank 3 died"))
        while signal.SIGURG not in signal.sigpending():
            time.sleep(0.001)
        if ends is not None:
            raise ends

    try:
        error = watchdog.guard(work)
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGURG})
    time.sleep(0.05)
    assert (error is None) == (ends is None)
    watchdog.close()


def test_a_process_that_ends_is_named(channels):
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    watchdog = Watchdog({channels[0]: "x"}, {child.pid: "the launcher"}, lambda _: None)
    threading.Timer(0.1, child.kill).start()
    error = watchdog.guard(sleep_in_python)
    watchdog.close()
    child.wait()
    assert str(error) == f"the launcher (process {child.pid}) died"


def test_a_signal_ends_the_work_and_its_old_handler_is_restored(channels):
    before = signal.getsignal(signal.SIGTERM)
    watchdog = Watchdog({channels[0]: "x"}, {}, lambda _: None, signals=(signal.SIGTERM,))
    threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGTERM)).start()
    error = watchdog.guard(poll_memory)
    watchdog.close()
    assert str(error) == "stopped by SIGTERM"
    assert signal.getsignal(signal.SIGTERM) == before


STUCK = """
import ctypes, socket, sys
from halftrip.control import watchdog
from halftrip.control.watchdog import Watchdog
from halftrip.control.protocol import Channel
watchdog.GRACE_SECONDS = 0.2
here, there = socket.socketpair()
watch = Watchdog({Channel(here): "rank 1"}, {}, lambda reason: print(reason, flush=True))
there.close()
libc, mutex = ctypes.CDLL(None), ctypes.create_string_buffer(64)
libc.pthread_mutex_lock(mutex)
libc.pthread_mutex_lock(mutex)  # for ever, whatever signal comes, as within an MPI library
"""


def test_a_process_whose_main_thread_is_stuck_is_ended():
    """Else it would never end."""
    command = [sys.executable, "-c", STUCK]
    result = subprocess.run(
        command, capture_output=True, text=True, timeout=AMPLE_SECONDS, check=False
    )
    assert (result.returncode, result.stdout) == (1, "rank 1 died\n")
