import gc
import os
import sys

import pytest
from hypothesis import settings

from harness.budget import Budget
from harness.cuda import build_stand_in
from harness.shell import opened_shell

# How long an example takes says how busy the machine is, not whether the code is right.
settings.register_profile("halftrip", deadline=None)
settings.load_profile("halftrip")

# What a user has set for halftrip is not for tests.
os.environ["HALFTRIP_CONFIG"] = ""
# Nor how wide the terminal is in which they run.
os.environ["COLUMNS"] = "80"


@pytest.fixture
def shell(tmp_path):
    """Runs halftrip in a directory of its own; none of its processes may outlive the test, nor
    shared memory that they had."""
    with opened_shell(tmp_path) as opened:
        yield opened


@pytest.fixture(scope="session")
def clock():
    """That of timed code."""
    from halftrip.clock import Clock

    return Clock()


@pytest.fixture(scope="session")
def cuda_libraries(tmp_path_factory):
    """The folder of a stand-in for CUDA's driver, NVML and NCCL."""
    folder = tmp_path_factory.mktemp("cuda")
    build_stand_in(folder)
    return folder


def pytest_configure(config):
    config.pluginmanager.register(Budget())


def pytest_collection_finish():
    """What all tests have loaded stays until the end: whoever collects garbage, as halftrip does
    before what it measures, need not look through it."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure():
    """A process that runs tests beside others ends without MPI_Finalize."""
    if "mpi4py.MPI" in sys.modules:
        from halftrip.job import shm_cleanup

        shm_cleanup.remove_own()


def pytest_sessionfinish(session):
    """In CI everything is installed that a test may need: to skip one is a failure there."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if "CI" in os.environ and reporter is not None and reporter.stats.get("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
