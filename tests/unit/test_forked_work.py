"""Work that is shared out to forks, which may fail."""

import os
import signal
import threading

import pytest

from halftrip.forked_work import mapped, usable_cores


def has_children():
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


@pytest.mark.parametrize(("items", "cores"), [(0, 4), (1, 4), (7, 1), (7, 2), (7, 4), (3, 8)])
def test_results_come_in_the_order_of_the_items(items, cores):
    before = has_children()
    found = [*mapped(lambda item: (item, b"x" * 100_000 * item, os.getpid()), range(items), cores)]
    assert [(item, len(data)) for item, data, _ in found] == [
        (n, 100_000 * n) for n in range(items)
    ]
    processes = {process for _, _, process in found}
    assert len(processes) == min(cores, items)
    assert processes.isdisjoint({os.getpid()}) == (min(cores, items) != 1)
    assert has_children() == before


def raise_error(_):
    raise ValueError("wrong")


@pytest.mark.parametrize(
    "fail", [raise_error, lambda _: os.kill(os.getpid(), signal.SIGKILL), lambda _: os._exit(0)]
)
def test_what_a_fork_fails_to_do_is_done_here(fail):
    here = os.getpid()

    def work(item):
        if item == 2 and os.getpid() != here:
            fail(item)
        return item, os.getpid() == here

    # The same fork would have done the fourth and the sixth.
    assert [*mapped(work, range(7), 2)] == [(item, item in (2, 4, 6)) for item in range(7)]


def test_an_error_is_raised_here():
    with pytest.raises(ValueError, match="wrong"):
        [*mapped(raise_error, range(4), 2)]


def test_no_fork_outlives_who_wants_no_more():
    before = has_children()
    found = mapped(lambda item: signal.pause() if item else item, range(4), 4)
    assert next(found) == 0
    found.close()
    assert has_children() == before


def test_a_process_with_threads_does_not_fork():
    begun, ended = threading.Event(), threading.Event()

    def wait():
        begun.set()
        ended.wait()

    thread = threading.Thread(target=wait)
    thread.start()
    begun.wait()
    try:
        assert usable_cores() == 1
    finally:
        ended.set()
        thread.join()
