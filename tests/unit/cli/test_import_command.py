"""The command that makes runs of what other tools have printed: of several files, and of what is
said beside them."""

import pytest

from halftrip.results.run_file import load
from harness.imports import sample
from harness.shell import call

LATENCY = sample("osu", "latency")
OTHER = LATENCY.replace("0.38", "0.40")
ALLREDUCE = "# OSU MPI Allreduce Latency Test v7.4\n# Size Avg Latency(us)\n4 2.00\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "logs").mkdir()
    for name, content in (
        *(("a.out", LATENCY), ("b.out", OTHER + ALLREDUCE), ("none.out", "hello\n")),
        *(("logs/a.out", LATENCY), ("logs/b.out", OTHER)),
    ):
        (tmp_path / name).write_text(content)
    return tmp_path


def launches(path):
    run = load(path)
    return [len(found) for found in run.by_configuration.values()], len(run.sources)


def test_files_and_folders_are_joined_and_what_is_left_out_is_said(folder):
    for words, name in ((("a.out", "b.out", "none.out"), "a"), (("logs",), "logs")):
        result = call(folder, "import", *words)
        assert result.status == 0
        assert "osu, imported from a.out and 1 more file · 2 launches" in result.out
        assert launches(folder / f"{name}.jsonl") == ([2, 2], 2)
        said = result.err.splitlines()
        if name == "a":
            assert "b.out: line 6: no point-to-point test that is read here" in said[0]
            assert "none.out: the output of no tool that is known" in said[1]
        assert len(said) == (2 if name == "a" else 0)


def test_each_file_is_a_run_of_its_own(folder):
    result = call(folder, "import", "--each", "-q", "a.out", "none.out", "b.out")
    assert (result.status, result.out.split()) == (0, ["a.jsonl", "b.jsonl"])
    assert launches(folder / "b.jsonl") == ([1, 1], 1)
    assert call(folder, "import", "--each", "none.out").status == 1
    assert call(folder, "import", "--each", "a.out", "-o", "x.jsonl").status == 2


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("none.out",), 1, "no tool that is known"),
        (("a.out", "missing"), 2, "missing: no such file"),
        (("a.out", "--set", "wait"), 2, "--set 'wait': NAME=VALUE is needed"),
        (("a.out", "--set", "wait=spin", "--set", "wait=block"), 2, "--set wait: it has two"),
        (("a.out", "--size", "x"), 2, "'x' is not a size"),
        (("a.out", "--memory", "cuda"), 2, "--memory: the text says this"),
    ],
)
def test_what_is_wrong_is_said_in_a_line_and_nothing_is_written(folder, words, status, said):
    result = call(folder, "import", *words, "-o", "run.jsonl")
    assert (result.status, result.err.count("\n")) == (status, 1)
    assert said in result.err
    assert not result.path.exists()


def test_what_a_text_does_not_say_is_said(folder):
    words = ("--set", "wait=spin", "--set", "kernel=6.1", "-o", "run.jsonl")
    result = call(folder, "import", "a.out", *words)
    assert "mpi, wait spin, pattern pingpong, kernel 6.1" in result.out
