"""Where memory, space on a disk, or the end of a file is missing: what is possible is measured,
what was measured is kept, and a line says why the rest is not."""

import shutil

import pytest

from harness.limits import AMPLE_SECONDS
from harness.need import can_unshare, need
from harness.shell import HALFTRIP, Result, call


def mounting(where, size):
    """What to put before a command to give it a file system in memory, of so many bytes."""
    unshare = shutil.which("unshare")
    assert unshare is not None
    script = f'mount -t tmpfs -o size={size} none {where} && exec "$@"'
    return (unshare, "--mount", "sh", "-c", script, "sh")


@pytest.mark.extended
def test_full_shared_memory_spoils_nothing(shell):
    """shm's memory has no file there; Open MPI 5, which `make run` brings, goes another way."""
    need(can_unshare("--mount"), "mounting a file system needs root, and unshare")
    result = shell.run(
        *("-t", "mpi,shm,tcp", "-s", "8,64K", "--time", "5ms"),
        prefix=mounting("/dev/shm", "4k"),
    )
    assert result.status == 0, result.err
    measured = [
        (configuration.transport, configuration.size)
        for configuration in result.run.by_configuration
    ]
    assert sorted(measured) == [(t, s) for t in ("mpi", "shm", "tcp") for s in (8, 65536)]
    assert result.run.skips == ()


def test_no_memory_for_a_segment_is_a_reason(shell):
    """A limit on the size of files holds for the memory of shm, too."""
    result = shell.run(
        *("-t", "shm,tcp", "-s", "8", "--time", "10ms"),
        prefix=("sh", "-c", 'ulimit -f 100; exec "$@"', "sh"),
    )
    assert result.status == 0, result.err
    assert {m.configuration.transport for m in result.run.measurements} == {"tcp"}
    assert "not measured: shm: no shared memory: File too large" in result.out


def test_a_full_disk_ends_the_run_and_is_the_reason(shell):
    need(can_unshare("--mount"), "mounting a file system needs root, and unshare")
    (shell.directory / "small").mkdir()
    result = shell.halftrip(
        *("run", "-t", "shm", "-s", "1..64K", "--time", "10ms", "-o", "small/run.jsonl"),
        prefix=mounting("small", "16k"),
    )
    assert result.status == 1
    assert "No space left on device" in result.err
    assert "Traceback" not in result.err


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


def test_a_closed_output_is_no_mistake(measured, shell):
    shutil.copy(measured.path, shell.path)
    command = ("sh", "-c", '"$0" show run.jsonl >&-', HALFTRIP)
    result = shell.execute(*command)
    assert (result.status, result.err) == (0, "")
