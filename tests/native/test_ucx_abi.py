"""What halftrip knows of UCX's ABI, beside the header of the UCX that is installed."""

import subprocess
from pathlib import Path

from harness.native_build import COMPILER
from harness.need import need


def test_structures_constants_and_calls_are_those_of_the_header():
    need(Path("/usr/include/ucp/api/ucp.h").exists(), "libucx-dev")
    source = Path(__file__).with_name("ucx_abi.cpp")
    flags = ("-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror")
    subprocess.run([COMPILER, *flags, source], check=True)
