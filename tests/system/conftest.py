"""Runs that several tests look at: looking takes less time than measuring."""

import pytest

from harness.cuda import stand_in
from harness.shell import opened_shell

# In one launch: of ten, each would have 3 ms of so little time.
QUICK = ("--time", "30ms", "--slices", "10", "--launches", "1")


@pytest.fixture
def cuda(cuda_libraries):
    """Makes the environment that has the stand-in for CUDA's driver, with these settings."""
    return lambda **settings: stand_in(cuda_libraries, **settings)


@pytest.fixture(scope="session")
def measured(tmp_path_factory):
    """A run over every path within this host that is a stream of bytes or memory."""
    with opened_shell(tmp_path_factory.mktemp("measured")) as shell:
        result = shell.measure("-t", "shm,pipe,unix,tcp", "-s", "1,8,4K,256K", *QUICK)
        yield result
