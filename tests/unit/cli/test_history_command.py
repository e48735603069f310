"""``halftrip history``: what it prints, how it ends, and what it refuses."""

import contextlib
import io
import json
import os
import shutil

import msgspec
import pytest

from halftrip import forked_work
from halftrip.cli.history import history
from halftrip.errors import UsageError
from halftrip.results import run_file
from halftrip.results.reported import Source
from harness import runs
from harness.histories import weekly
from harness.shell import call


@pytest.fixture(scope="module")
def twelve(tmp_path_factory):
    """Twelve runs, whose names are not in the order of time."""
    folder = tmp_path_factory.mktemp("runs")
    for number, run in enumerate(weekly(12, step_at=6, factor=1.5)):
        runs.save(run, folder / f"{99 - number}.jsonl")
    return folder


@pytest.fixture
def directory(twelve, tmp_path, monkeypatch):
    """A copy of them, the working directory."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(twelve, tmp_path, dirs_exist_ok=True)
    return tmp_path


def said(capsys, *paths, **asked):
    assert history(paths, **asked) == 0
    return capsys.readouterr()


def test_a_directory_files_and_this_directory_are_the_same_history(directory, capsys):
    by_name = said(capsys, str(directory))
    assert "got slower from run 7 of 12 on" in by_name.out
    assert not by_name.err
    assert said(capsys) == by_name
    assert said(capsys, *os.listdir()) == by_name
    assert said(capsys, ".", "99.jsonl", str(directory)) == by_name


def test_only_selected_rows_are_judged(directory, capsys):
    found = said(capsys, format_="json", transport="mpi")
    assert {row["transport"] for row in json.loads(found.out)["rows"]} == {"mpi"}
    with pytest.raises(UsageError, match=r"^nothing to show"):
        history(transport="zmq")


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


def test_what_cannot_be_read_as_a_run_has_a_line_each(directory, capsys, monkeypatch):
    """A damaged file counts as far as it can be read."""
    whole = (directory / "99.jsonl").read_bytes()
    (directory / "99.jsonl").write_bytes(whole[:-20] + b"\n{}\n")
    newer = (directory / "98.jsonl").read_bytes().replace(b'"version":1', b'"version":99')
    (directory / "98.jsonl").write_bytes(newer)
    runs.save(runs.run(), directory / "97.jsonl")
    load = run_file.load

    def refusing(file):
        if file == "95.jsonl":
            raise UsageError(f"{file}: permission denied")
        return load(file)

    monkeypatch.setattr(run_file, "load", refusing)
    found = said(capsys)
    assert "of 9 on" in found.out
    *left_out, damaged = sorted(found.err.splitlines())
    assert left_out == [
        "halftrip: 95.jsonl: permission denied; left out",
        "halftrip: 97.jsonl: the run has no rows; left out",
        "halftrip: 98.jsonl: format 99 is newer than 1; update halftrip; left out",
    ]
    assert damaged.startswith("halftrip: 99.jsonl: line ")
    assert damaged.endswith("(and 1 more)")


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
    # Where none has a date, the order is that of the import.
    (directory / "more").mkdir()
    for number, run in enumerate(weekly(12, step_at=6, factor=1.5)):
        runs.save(imported(run, None), directory / "more" / f"{number}.jsonl")
    found = said(capsys, "more")
    assert "got slower from run 7 of 12 on" in found.out
    assert found.err.count("\n") == 1
    assert "in the order of their import" in found.err


def test_mistakes_are_one_line(directory):
    (directory / "empty").mkdir()
    for words, line in (
        (["nothing"], "nothing: no such file or directory"),
        (["empty"], "empty: no run with rows; name run files, or a directory of them"),
        (["-t", "foo"], "--transport: 'foo' is not known; allowed: "),
        (["--format", "jsn"], "--format: 'jsn' is not known; "),
        (["--all", "-j"], "--all: --format json has all rows; leave it out"),
        (["--wide", "--format", "csv"], "--wide: --format csv has all columns; leave it out"),
    ):
        ended = call(directory, "history", *words)
        assert (ended.status, ended.out, ended.err.count("\n")) == (2, "", 1)
        assert ended.err.startswith(f"halftrip: {line}")


def test_blocks_are_for_terminals_that_have_them(directory, monkeypatch):
    for encoding, terminal, is_ascii in (
        ("utf-8", "xterm", False),
        ("utf-8", "dumb", True),
        ("latin-1", "xterm", True),
    ):
        shown = io.TextIOWrapper(io.BytesIO(), encoding)
        monkeypatch.setenv("TERM", terminal)
        with contextlib.redirect_stdout(shown):
            history()
        shown.flush()
        assert shown.buffer.getvalue().isascii() is is_ascii


def test_runs_that_forks_have_read_are_the_same(directory, capsys, monkeypatch):
    (directory / "50.jsonl").write_text("nothing")
    (directory / "51.jsonl").write_bytes(b'{"record":"run","version":99}\n')
    alone = said(capsys, format_="json")
    monkeypatch.setattr(forked_work, "usable_cores", lambda: 2)
    assert said(capsys, format_="json") == alone
    assert "format 99 is newer" in alone.err
    assert "no run files: 50.jsonl" in alone.err
