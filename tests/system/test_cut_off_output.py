"""A run file whose end is missing, and an output that takes nothing: what is there is shown, and a
line says what is not."""

import shutil

import pytest

from harness.limits import AMPLE_SECONDS
from harness.shell import HALFTRIP, Result, call


@pytest.mark.parametrize("kept", [100, 0])
def test_a_file_that_is_cut_off_is_shown_with_what_it_holds(measured, tmp_path, kept):
    """As a machine that loses its power may leave it: so many bytes of the last measurement."""
    lines = measured.path.read_bytes().split(b"\n")
    last = max(i for i, line in enumerate(lines) if b'"record":"measurement"' in line)
    cut = tmp_path / "cut.jsonl"
    cut.write_bytes(b"\n".join(lines[:last]) + b"\n" + lines[last][:kept])
    result = call(tmp_path, "show", "cut.jsonl")
    assert result.status == 0
    said = f"halftrip: cut.jsonl: line {last + 1}, the last, is cut off"
    assert (said in result.err) == (kept > 0)
    assert "interrupted: the run ended without saying why" in result.out
    run = Result(0, "", "", cut).run
    assert len(run.measurements) == len(measured.run.measurements) - 1


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
