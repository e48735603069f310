"""The lock-free protocol under ThreadSanitizer."""

import os
import subprocess
from pathlib import Path

HERE = Path(__file__).parent


def test_shared_memory_orders_every_access(tmp_path):
    program = tmp_path / "shm_stress"
    flags = ("-std=c++20", "-O1", "-g", "-fsanitize=thread", "-Wall", "-Wextra", "-Werror")
    compiler = os.environ.get("CXX", "c++")
    subprocess.run([compiler, *flags, HERE / "shm_stress.cpp", "-o", program], check=True)
    result = subprocess.run(
        [program, "300"], capture_output=True, text=True, timeout=120, check=False
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout == "every byte arrived\n"
