"""The native module as a whole: what is seen of it, and a build without its optional parts."""

import subprocess

import pytest

from halftrip import _native
from harness.native_build import BINDINGS, NEEDED, built_module

# Every process of halftrip gets that build in place of the installed one.
INSTEAD = """
import importlib.util, sys
found = importlib.util.spec_from_file_location("halftrip._native", {path!r})
sys.modules[found.name] = importlib.util.module_from_spec(found)
found.loader.exec_module(sys.modules[found.name])
"""


def test_nothing_but_its_entry_is_seen_of_the_module():
    """A C++ library in it would be mixed with the one that an MPI brings."""
    command = ["nm", "--dynamic", "--defined-only", "--format=just-symbols", _native.__file__]
    assert subprocess.check_output(command, text=True).split() == ["PyInit__native"]


@pytest.mark.extended
def test_transports_that_a_build_lacks_are_skipped_with_the_reason(shell, tmp_path):
    """Nor has it counters."""
    sources = [path for path in BINDINGS if path.stem in NEEDED]
    assert len(sources) == len(NEEDED)
    built = built_module(tmp_path, sources, ("-O0",))
    result = shell.measure(
        *("-t", "mpi,shm,pipe,unix,tcp,udp,cuda-ipc,nccl", "-s", "8", "--time", "20ms"),
        "--counters",
        **shell.patched(INSTEAD.format(path=str(built))),
    )
    measured = [configuration.transport for configuration in result.run.by_configuration]
    assert sorted(measured) == ["pipe", "shm", "tcp", "unix"]
    reasons = {skip.transport: skip.reason for skip in result.run.skips}
    assert reasons == dict.fromkeys(
        ("mpi", "udp", "cuda-ipc", "nccl"), "not in this build of halftrip"
    )
    assert not result.run.counted_by_configuration
