"""`halftrip plot` as it is called."""

import sys

import pytest

from halftrip.interpreter import install_command
from harness import runs

BEGINS = {"svg": b"<svg", "png": b"\x89PNG", "pdf": b"%PDF", "html": b"<!DOCTYPE html>"}


@pytest.fixture
def run_file(shell):
    measured = [runs.measurement(size=size, half_ns=100.0 + size) for size in (1, 64, 4096)]
    return runs.save(runs.run(*measured), shell.path).name


def test_the_ending_of_a_name_is_the_format(shell, run_file):
    for ending, begin in BEGINS.items():
        result = shell.call("plot", run_file, "-o", f"picture.{ending}")
        assert result.status == 0, result.err
        assert result.out == f"picture.{ending}: 1 chart\n"
        assert (shell.directory / f"picture.{ending}").read_bytes().startswith(begin)


def test_without_a_name_it_is_drawn_in_the_terminal(shell, run_file):
    result = shell.halftrip("plot", run_file, COLUMNS="90")
    assert result.status == 0, result.err
    assert result.out.startswith("One-way latency by message size: pingpong\n")
    assert max(map(len, result.out.splitlines())) <= 90
    assert "o shm" in result.out
    (shell.directory / run_file).rename(shell.directory / "halftrip-1.jsonl")
    assert shell.call("plot").out.startswith("One-way latency by message size: pingpong\n")


def test_a_history_is_of_the_runs_in_a_directory(shell, run_file):
    content = shell.path.read_bytes()
    (shell.directory / "other.jsonl").write_bytes(content)
    (shell.directory / "rowless.jsonl").write_bytes(content.splitlines(keepends=True)[0])
    (shell.directory / "notes.txt").write_text("none\n")
    result = shell.call("plot", ".", "-k", "history")
    assert result.status == 0, result.err
    assert result.out.startswith("History of 2 runs\n")
    assert "notes.txt is no run file; left out" in result.err
    assert "rowless.jsonl has no rows; left out" in result.err


@pytest.mark.parametrize(
    ("arguments", "said", "status"),
    [
        (("nothing.jsonl",), "nothing.jsonl: no such file", 2),
        (("run.jsonl", "run.jsonl"), "run.jsonl: named twice; leave one out", 2),
        (("run.jsonl", "-k", "latencies"), "--kind: 'latencies' is not known; did you mean", 2),
        (("run.jsonl", "-o", "x.gif"), "--output: .gif is not known", 2),
        (("run.jsonl", "-o", "none/x.svg"), "none/x.svg: no such file or directory", 1),
        (("run.jsonl", "--theme", "drak", "-o", "x.svg"), "'drak' is not known; did you mean d", 2),
        (("run.jsonl", "--theme", "dark"), "--theme: the terminal has its own colours", 2),
        (("run.jsonl", "--theme", "dark", "-o", "x.html"), "a page is light or dark as its", 2),
        (("run.jsonl", "--spec", "-o", "run.jsonl"), "run.jsonl: is the run itself; name", 2),
        (("run.jsonl", "--tty", "--spec"), "--tty draws in the terminal, --spec does not", 2),
        (("run.jsonl", "-t", "mpi4py"), "nothing to show; the run has -t", 2),
        (("run.jsonl", "-k", "compare"), "--kind compare: name two runs, BASE and NEW", 2),
    ],
)
def test_what_cannot_be_drawn_is_one_line(shell, run_file, arguments, said, status):
    result = shell.call("plot", *arguments)
    assert result.status == status
    assert result.out == ""
    assert said in result.err
    assert len(result.err.splitlines()) == 1
    assert [*shell.directory.glob("*.tmp")] == []


def test_without_the_library_it_says_how_to_get_it(shell, run_file):
    code = (
        "import sys; sys.modules['altair'] = None; sys.argv = ['halftrip', *sys.argv[1:]];"
        "from halftrip.cli import main; main()"
    )
    result = shell.execute(sys.executable, "-c", code, "plot", run_file)
    assert result.status == 2
    assert result.err == (
        "halftrip: pictures need Vega-Altair, vl-convert and plotext (altair is missing): "
        f"{install_command('plot')}\n"
    )
