"""Where the launcher's own process runs while its ranks measure, and afterwards."""

import contextlib
import os
import subprocess
import threading
from pathlib import Path

import pytest

from halftrip.job.own_cores import OwnCores
from halftrip.kernel_files import Reader
from halftrip.results.run_file import encode
from halftrip.telemetry import environment
from harness import runs

CORES = os.sched_getaffinity(0)
# Cores of which nothing is known are physical cores.
NOTHING = Reader(Path("/nonexistent"))


def of_rank(core, **others):
    here = {"host": environment.host(), "core": core, "allowed_cores": sorted(CORES)}
    return encode(runs.environment(**({"rank": 0} | here | others)))


@pytest.fixture
def own():
    yield OwnCores(NOTHING)
    assert os.sched_getaffinity(0) == CORES


def test_it_leaves_the_cores_of_ranks_and_gets_them_back_after_an_error(own):
    timed = min(CORES)
    left = CORES - {timed} or CORES
    with contextlib.suppress(KeyError), own.lent():
        own.note(b'{"record":"skip"}\n')
        assert os.sched_getaffinity(0) == CORES
        own.note(of_rank(timed))
        own.note(of_rank(timed, rank=1))
        assert os.sched_getaffinity(0) == left
        raise KeyError
    assert os.sched_getaffinity(0) == CORES
    # Outside nothing is lent.
    own.note(of_rank(max(CORES)))


def test_what_it_starts_meanwhile_may_have_all_cores(own):
    with own.lent():
        own.note(of_rank(min(CORES)))
        with own.taken_back():
            found = subprocess.run(["nproc"], capture_output=True, check=True).stdout
        assert int(found) == len(CORES)
        assert os.sched_getaffinity(0) == (CORES - {min(CORES)} or CORES)


@pytest.mark.parametrize(
    "lines",
    [
        b"".join(map(of_rank, CORES)),
        of_rank(min(CORES), thread_cores=sorted(CORES)),
        # Ranks that are not pinned may run anywhere.
        of_rank(None),
        of_rank(min(CORES), thread_cores=[min(CORES), None]),
        of_rank(min(CORES), host="another"),
    ],
    ids=["all", "threads", "unpinned", "unpinned-thread", "elsewhere"],
)
def test_nothing_changes_without_cores_to_leave_or_to_go_to(own, lines):
    with own.lent():
        own.note(lines)
        assert os.sched_getaffinity(0) == CORES


def test_other_threads_keep_their_cores_and_so_does_one_that_was_given_others(own):
    begun, seen = threading.Event(), []

    def other():
        begun.wait()
        seen.append(os.sched_getaffinity(0))

    thread = threading.Thread(target=other)
    thread.start()
    with own.lent():
        own.note(of_rank(min(CORES)))
        begun.set()
        thread.join()
        os.sched_setaffinity(0, {min(CORES)})
    assert seen == [CORES]
    assert os.sched_getaffinity(0) == {min(CORES)}
    os.sched_setaffinity(0, CORES)
