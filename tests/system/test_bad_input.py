"""Wrong input: one line that says what is wrong and where; exit status 2; no traceback."""

import shutil
import subprocess
import sys

import pytest

from halftrip.results.run_file import load


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("run", "--szes", "8"), "No such option: --szes"),
        (("run", "-s", "4Q"), "--sizes: '4Q' is not a size"),
        (("run", "-s"), "requires an argument"),
        (("run", "-t", "pigeon"), "--transport: 'pigeon' is not known; allowed: mpi, shm, pipe"),
        (("run", "-p", "dance"), "--pattern: 'dance' is not known; allowed: pingpong"),
        (("run", "--wait", "sleep"), "--wait: 'sleep' is not known; allowed: block, spin"),
        (("run", "--ci", "2"), "--ci: '2' is out of range"),
        (("run", "--time", "soon"), "--time: 'soon' is not a time"),
        (("run", "-n", "3"), "--ranks: 3 ranks cannot form halves"),
        (("run", "--cores", "0,4096"), "--cores: there is no core 4096"),
        (("run", "--cores", "0"), "--cores: 1 core for 2 ranks; name 2, one for each, as 0,1"),
        (("run", "--window", "8"), "--window: pingpong has no window; --pattern stream,"),
        (("run", "--pairs-at-once", "2"), "2 pairs at once are too many: 2 ranks make 1 pair"),
        (
            ("run", "-t", "tcp", "--rate", "1MB"),
            "nothing of this can be measured: tcp: --rate: only a stream of udp has one",
        ),
        (
            ("run", "-t", "mpi", "-p", "stream", "-m", "onesided"),
            "nothing of this can be measured: mpi: no onesided stream, only put, get",
        ),
        (
            ("run", "-t", "udp", "-p", "stream", "--rate", "1"),
            "a window of 64 takes 64 s at this --rate, --time allows 0.3 s",
        ),
        (("run", "--cores", "²,1"), "--cores: '²' is not a core"),
        (("run", "--cores", "0-9999999999"), "--cores: '0-9999999999' is not a core"),
        (("run", "-s", "9" * 400), "is more than any memory holds"),
        (("run", "--mpiexec", "a 'b"), '--mpiexec: "a \'b": no closing quotation'),
        (("run", "--launcher", "rocket"), "--launcher: 'rocket' is not known"),
        (
            ("run", "--mpiexec", "/nowhere/mpiexec"),
            "--mpiexec: '/nowhere/mpiexec' is not a program",
        ),
        (("run", "none.toml"), "none.toml: no such file or directory"),
        (("run", "wrong.toml"), "wrong.toml: szes: no such key; did you mean sizes?"),
        (("run", "broken.toml"), "broken.toml: not TOML"),
        (("run", "-o", "there.jsonl"), "there.jsonl: exists already; choose another name"),
        (("run", "-o", "nowhere/run.jsonl"), "nowhere/run.jsonl: cannot be written"),
        (("show", "none.jsonl"), "none.jsonl: no such file or directory"),
        (("show", "wrong.toml"), "wrong.toml: not a run file of halftrip"),
        (
            ("show", "there.jsonl", "--style", "poem"),
            "--style: 'poem' is not known; allowed: table",
        ),
        (("show",), "Missing argument"),
        (("fly",), "No such command 'fly'"),
    ],
)
def test_a_mistake_is_one_line(shell, arguments, said):
    (shell.directory / "wrong.toml").write_text('szes = "8"\n')
    (shell.directory / "broken.toml").write_text("sizes = \n")
    (shell.directory / "there.jsonl").write_text("")
    result = shell.halftrip(*arguments)
    assert result.status == 2
    assert result.out == ""
    assert result.err.startswith("halftrip: ")
    assert result.err.count("\n") == 1
    assert said in result.err
    assert (shell.directory / "there.jsonl").read_text() == ""
    assert list(shell.directory.glob("halftrip-*")) == []


def test_help_is_no_mistake(shell):
    for arguments in ((), ("--help",), ("-h",), ("run", "--help")):
        result = shell.halftrip(*arguments)
        assert result.status == 0
        assert "Usage:" in result.out
        assert result.err == ""
    assert shell.halftrip("--version").out.startswith("halftrip ")


def test_a_core_that_may_not_be_used_is_a_reason_not_a_mistake(shell):
    result = shell.run("-t", "shm,tcp", "--cores", "0,1", prefix=("taskset", "-c", "0"))
    assert result.status == 1
    for transport in ("shm", "tcp"):
        reason = "rank 1 may not use core 1 (allowed: 0)"
        assert f"not measured: {transport}: {reason}" in result.out
    assert result.run.measurements == ()
    assert result.run.interrupted is None


def test_a_full_shared_memory_spoils_nothing(shell):
    """shm's memory has no file there; Open MPI, which `make run` brings, goes another way."""
    unshare = shutil.which("unshare")
    assert unshare is not None
    script = 'mount -t tmpfs -o size=4k none /dev/shm && exec "$@"'
    result = shell.run(
        *("-t", "mpi,shm,tcp", "-s", "8,64K", "--time", "30ms"),
        prefix=(unshare, "--mount", "sh", "-c", script, "sh"),
    )
    assert result.status == 0, result.err
    measured = [(m.case.transport, m.case.size) for m in result.run.measurements]
    assert sorted(measured) == [(t, s) for t in ("mpi", "shm", "tcp") for s in (8, 65536)]
    assert result.run.skips == ()


def test_no_memory_for_a_segment_is_a_reason(shell):
    """A limit on the size of files holds for the memory of shm, too."""
    result = shell.run(
        *("-t", "shm,tcp", "-s", "8", "--time", "20ms"),
        prefix=("sh", "-c", 'ulimit -f 100; exec "$@"', "sh"),
    )
    assert result.status == 0, result.err
    assert {m.case.transport for m in result.run.measurements} == {"tcp"}
    assert "not measured: shm: no shared memory: File too large" in result.out


def test_a_file_that_is_cut_off_is_shown_with_what_it_holds(shell):
    whole = shell.run("-t", "shm", "-s", "8,64", "--time", "10ms")
    content = whole.path.read_bytes()
    lines = content.split(b"\n")
    last_measurement = max(i for i, line in enumerate(lines) if b'"measurement"' in line)
    keep = b"\n".join(lines[:last_measurement]) + b"\n" + lines[last_measurement][:100]
    (shell.directory / "cut.jsonl").write_bytes(keep)
    result = shell.halftrip("show", "cut.jsonl")
    assert result.status == 0
    assert f"halftrip: cut.jsonl: line {last_measurement + 1}, the last, is cut off" in result.err
    assert "interrupted: the run ended without saying why" in result.out
    assert len(load(shell.directory / "cut.jsonl").measurements) == 1


def test_a_full_disk_is_said_so_and_nothing_hangs(shell):
    result = shell.halftrip("run", "-t", "shm", "-s", "1..64K", "-o", "/dev/full", timeout=30)
    assert result.status == 2
    assert "/dev/full: exists already" in result.err
    unshare = shutil.which("unshare")
    (shell.directory / "small").mkdir()
    script = 'mount -t tmpfs -o size=16k none small && exec "$@"'
    result = shell.halftrip(
        *("run", "-t", "shm", "-s", "1..64K", "--time", "30ms", "-o", "small/run.jsonl"),
        prefix=(unshare, "--mount", "sh", "-c", script, "sh"),
        timeout=30,
    )
    assert result.status == 1
    assert "No space left on device" in result.err
    assert "Traceback" not in result.err


def test_python_gets_the_same_errors(shell):
    code = "import halftrip\nhalftrip.run(sizes='4Q')"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert "UsageError: sizes: '4Q' is not a size" in result.stderr
