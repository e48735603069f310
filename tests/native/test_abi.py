"""What native/ declares of libraries that it is not built against is as their headers have it."""

import subprocess
from pathlib import Path

import pytest

from harness.native_build import COMPILER
from harness.need import need

HERE = Path(__file__).parent


@pytest.mark.parametrize(
    ("library", "header"), [("libfabric", "rdma/fabric.h"), ("ucx", "ucp/api/ucp.h")]
)
def test_what_is_declared_of_a_library_is_as_its_headers_have_it(library, header):
    need(Path("/usr/include", header).exists(), f"the headers of {library}")
    source = HERE / f"{library}_abi.cpp"
    subprocess.run(
        [COMPILER, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", source], check=True
    )
