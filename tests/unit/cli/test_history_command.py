"""``halftrip history``: which files it reads, and what it says where it cannot."""

import json
import os
import subprocess
import sys

import msgspec
import pytest

from halftrip.cli.history import Asked, show_history
from halftrip.errors import UsageError
from halftrip.report.selection import Selection
from halftrip.results.reported import Source
from harness import runs
from harness.histories import weekly


@pytest.fixture
def directory(tmp_path, monkeypatch):
    """Twelve runs, whose names are not in the order of time."""
    monkeypatch.chdir(tmp_path)
    for number, run in enumerate(weekly(12, step_at=6, factor=1.5)):
        runs.save(run, tmp_path / f"{99 - number}.jsonl")
    return tmp_path


def said(capsys, *paths, **asked):
    assert show_history(paths, Asked(**asked)) == 0
    return capsys.readouterr()


def test_a_directory_files_and_this_directory_are_the_same_history(directory, capsys):
    by_name = said(capsys, str(directory))
    assert "got slower from run 7 of 12 on" in by_name.out
    assert not by_name.err
    assert said(capsys) == by_name
    assert said(capsys, *os.listdir()) == by_name
    assert said(capsys, ".", "99.jsonl", str(directory)) == by_name


def test_only_selected_rows_are_judged(directory, capsys):
    found = said(capsys, format="json", selection=Selection(transports=["mpi"]))
    assert {row["transport"] for row in json.loads(found.out)["rows"]} == {"mpi"}
    with pytest.raises(UsageError, match=r"^nothing to show"):
        show_history([], Asked(selection=Selection(transports=["zmq"])))


def test_what_is_no_run_is_left_out_with_a_line(directory, capsys):
    plain = said(capsys)
    (directory / "notes.txt").write_text("slow since Monday\n")
    (directory / "a.png").write_bytes(b"\x89PNG\0")
    (directory / ".hidden").write_text("x")
    (directory / "empty.jsonl").touch()
    (directory / "more").mkdir()
    os.mkfifo(directory / "fifo")
    found = said(capsys)
    assert found.out == plain.out
    assert found.err == (
        "halftrip: left out, since they are no run files: a.png, empty.jsonl, notes.txt\n"
    )


def test_damaged_files_count_as_far_as_they_can_be_read(directory, capsys):
    whole = (directory / "99.jsonl").read_bytes()
    (directory / "99.jsonl").write_bytes(whole[:-20] + b"\n{}\n")
    found = said(capsys)
    assert "of 12 on" in found.out
    (line,) = found.err.splitlines()
    assert line.startswith("halftrip: 99.jsonl: line ")
    assert line.endswith("(and 1 more)")


def test_runs_of_newer_formats_and_without_rows_are_left_out_with_a_line(directory, capsys):
    newer = (directory / "99.jsonl").read_bytes().replace(b'"version":1', b'"version":99')
    (directory / "99.jsonl").write_bytes(newer)
    runs.save(runs.run(), directory / "98.jsonl")
    lines = said(capsys).err.splitlines()
    assert lines == [
        "halftrip: 98.jsonl: the run has no rows; left out",
        "halftrip: 99.jsonl: format 99 is newer than 1; update halftrip; left out",
    ]


def test_an_unreadable_file_is_left_out_with_a_line(directory, capsys, monkeypatch):
    from halftrip.cli import history

    load = history.load

    def refusing(file):
        if file == "95.jsonl":
            raise UsageError(f"{file}: permission denied")
        return load(file)

    monkeypatch.setattr(history, "load", refusing)
    found = said(capsys)
    assert found.err == "halftrip: 95.jsonl: permission denied; left out\n"
    assert "of 11 on" in found.out


def imported(run, date):
    source = Source(tool="osu", file="a.txt", place=1, statistic="mean", date=date)
    return msgspec.structs.replace(run, sources=(source,), environments=())


def test_runs_without_a_date_are_left_out_among_others_that_have_one(directory, capsys):
    undated, *others = weekly(2)
    runs.save(imported(undated, None), directory / "10.jsonl")
    runs.save(imported(*others, "2026-01-12"), directory / "11.jsonl")
    found = said(capsys)
    assert found.err == "halftrip: 10.jsonl: nothing says when it was measured; left out\n"
    assert "13 runs" in found.out


def test_where_none_has_a_date_the_order_is_that_of_the_import(tmp_path, capsys):
    for number, run in enumerate(weekly(12, step_at=6, factor=1.5)):
        runs.save(imported(run, None), tmp_path / f"{number}.jsonl")
    found = said(capsys, str(tmp_path))
    assert "got slower from run 7 of 12 on" in found.out
    assert found.err.count("\n") == 1
    assert "in the order of their import" in found.err


def test_one_run_is_no_history(directory, capsys):
    assert said(capsys, "99.jsonl").out.startswith("No answer yet: 1 run, 2026-01-05 03:00;")


def history(*words, **environment):
    return subprocess.run(
        [sys.executable, "-m", "halftrip", "history", *words],
        check=False,
        capture_output=True,
        text=True,
        env=os.environ | environment,
    )


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["nothing"], "nothing: no such file or directory"),
        (["empty"], "empty: no run with rows; name run files, or a directory of them"),
        (["-t", "foo"], "--transport: 'foo' is not known; allowed: "),
        (["--format", "jsn"], "--format: 'jsn' is not known; "),
        (["--all", "-j"], "--all: --format json has all rows; leave it out"),
        (["--wide", "--format", "csv"], "--wide: --format csv has all columns; leave it out"),
    ],
)
def test_mistakes_are_one_line(directory, words, line):
    (directory / "empty").mkdir()
    ended = history(*words)
    assert ended.returncode == 2
    assert not ended.stdout
    assert ended.stderr.startswith(f"halftrip: {line}")
    assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("environment", "is_ascii"),
    [
        ({"PYTHONIOENCODING": "utf-8", "TERM": "xterm"}, False),
        ({"PYTHONIOENCODING": "utf-8", "TERM": "dumb"}, True),
        ({"PYTHONIOENCODING": "latin-1", "TERM": "xterm"}, True),
    ],
)
def test_blocks_are_for_terminals_that_have_them(directory, environment, is_ascii):
    ended = history(**environment)
    assert ended.returncode == 0
    assert ended.stdout.isascii() is is_ascii


def test_the_help_says_what_it_takes():
    ended = subprocess.run(
        [sys.executable, "-m", "halftrip", "help", "history"],
        check=False,
        capture_output=True,
        text=True,
    )
    assert "[DIR|RUN...]" in ended.stdout
    for option in ("--transport", "--sizes", "--all", "--format"):
        assert option in ended.stdout
