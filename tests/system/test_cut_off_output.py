"""A run file whose end is missing, and an output that takes nothing: what is there is shown, and a
line says what is not."""

import shutil

import pytest

from harness.limits import AMPLE_SECONDS
from harness.shell import HALFTRIP


@pytest.mark.parametrize("arguments", [("show", "run.jsonl"), ("doctor",)])
def test_output_that_cannot_be_written_is_said_in_one_line(measured, shell, arguments):
    shutil.copy(measured.path, shell.path)
    with open("/dev/full", "w") as full:
        process = shell.start(HALFTRIP, *arguments, stdout=full)
        _, err = process.communicate(timeout=AMPLE_SECONDS)
    assert (process.returncode, err) == (
        1,
        "halftrip: standard output: no space left on device\n",
    )
