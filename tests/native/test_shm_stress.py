"""The lock-free protocol under the sanitizers, and with the instructions of another processor."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from harness.need import need

HERE = Path(__file__).parent


def every_byte_arrives(program, checks, compiler, *runner, steps=300):
    flags = ("-std=c++20", "-O1", "-g", "-Wall", "-Wextra", "-Werror")
    source = HERE / "shm_stress.cpp"
    subprocess.run([compiler, *flags, *checks, source, "-o", program], check=True)
    result = subprocess.run(
        [*runner, program, str(steps)], capture_output=True, text=True, timeout=120, check=False
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout == "every byte arrived\n"


@pytest.mark.extended
@pytest.mark.parametrize("sanitizers", ["thread", "address,undefined"])
def test_shared_memory_orders_every_access(tmp_path, sanitizers):
    """ThreadSanitizer sees whether the protocol orders all accesses, the others whether they stay
    inside the segment: here it is no mapping, and has a guard behind it."""
    checks = (f"-fsanitize={sanitizers}", "-fno-sanitize-recover=all")
    every_byte_arrives(tmp_path / "shm_stress", checks, os.environ.get("CXX", "c++"))


@pytest.mark.extended
def test_a_number_is_seen_after_the_bytes_that_non_temporal_stores_write(tmp_path):
    """Sanitizers slow everything down: without the fence, most runs of this program fail."""
    compiler = os.environ.get("CXX", "c++")
    every_byte_arrives(tmp_path / "shm_stress", ("-pthread",), compiler, steps=4000)


@pytest.mark.extended
def test_shared_memory_works_with_instructions_of_aarch64(tmp_path):
    """What the emulator does not show is an order that only such a processor has: it runs them in
    this one's. native/endpoints/shm.hpp has the argument for that."""
    compiler, emulator = "aarch64-linux-gnu-g++", "qemu-aarch64-static"
    need(bool(shutil.which(compiler) and shutil.which(emulator)), f"{compiler} and {emulator}")
    every_byte_arrives(tmp_path / "shm_stress", ("-static",), compiler, emulator)
