"""The lock-free protocol under the sanitizers."""

import os
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.mark.extended
@pytest.mark.parametrize("sanitizers", ["thread", "address,undefined"])
def test_shared_memory_orders_every_access(tmp_path, sanitizers):
    """ThreadSanitizer sees whether the protocol orders all accesses, the others whether they stay
    inside the segment: here it is no mapping, and has a guard behind it."""
    program = tmp_path / "shm_stress"
    flags = ("-std=c++20", "-O1", "-g", "-Wall", "-Wextra", "-Werror")
    checks = (f"-fsanitize={sanitizers}", "-fno-sanitize-recover=all")
    compiler = os.environ.get("CXX", "c++")
    source = HERE / "shm_stress.cpp"
    subprocess.run([compiler, *flags, *checks, source, "-o", program], check=True)
    result = subprocess.run(
        [program, "300"], capture_output=True, text=True, timeout=120, check=False
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout == "every byte arrived\n"
