"""``halftrip export``: which files it writes, and what it says where it cannot."""

import csv
import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from halftrip.cli.export import export
from halftrip.cli.show import ShowRequest, show_runs
from halftrip.errors import UsageError
from halftrip.export.writing import write
from halftrip.registry import EXPORTS
from harness import runs
from harness.shell import call


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    both_ends = (runs.usage(), runs.usage())
    measured = [
        runs.measurement(size=size, half_ns=100.0 + size, usage=both_ends) for size in (8, 64, 512)
    ]
    runs.save(runs.run(*measured), tmp_path / "a.jsonl")
    return "a.jsonl"


def names():
    return sorted(os.listdir())


def halftrip(*words):
    return call(Path.cwd(), "export", *words)


def started(*words, **options):
    """The command as a process, of whose end or output this is about."""
    command = [sys.executable, "-m", "halftrip", "export", *words]
    return subprocess.run(command, check=False, stderr=subprocess.PIPE, text=True, **options)


@pytest.mark.parametrize("to", list(EXPORTS))
def test_every_format_is_written_beside_where_one_is(run, to, capsys):
    assert export(to, run) == 0
    said = capsys.readouterr().out.split()
    assert sorted([*said, run]) == names()
    assert all(name.startswith("a") and os.path.getsize(name) > 50 for name in said)


def test_without_a_file_it_is_the_newest_run(run, capsys):
    with pytest.raises(UsageError, match=r"^b.jsonl: no such file"):
        export("json", "b.jsonl")
    os.rename(run, "halftrip-20260131-120000.jsonl")
    export("json")
    assert capsys.readouterr().out == "halftrip-20260131-120000.json\n"
    assert json.loads(Path("halftrip-20260131-120000.json").read_text())["rows"]
    os.remove("halftrip-20260131-120000.jsonl")
    with pytest.raises(UsageError, match=r"^no run file"):
        export("json")


def test_a_name_is_that_of_the_only_file_or_the_base_of_several(run):
    export("openmetrics", run, output="metrics.txt")
    assert names() == [run, "metrics.txt"]
    for output in ("one", "two.csv"):
        export("csv", run, output=output)
    tables = ["one-samples.csv", "one.csv", "two-samples.csv", "two.csv"]
    assert names() == [run, "metrics.txt", *tables]
    assert len(list(csv.DictReader(Path("two.csv").read_text().splitlines()))) == 3


def test_rows_are_chosen_as_in_show(run):
    measured = [
        runs.measurement(transport, size=size, pair=pair)
        for transport in ("shm", "tcp")
        for size in (8, 64)
        for pair in ((0, 1), (0, 2))
    ]
    ranks = tuple(runs.environment(rank) for rank in range(3))
    runs.save(runs.run(*measured, environments=ranks), Path("b.jsonl"))

    def lines(name):
        return list(csv.DictReader(Path(name).read_text().splitlines()))

    for to in ("csv", "json", "openmetrics"):
        export(to, "b.jsonl", output=f"one-{to}", transport="tcp", pair="0-2")
    assert {row["transport"] + row["pair"] for row in lines("one-csv.csv")} == {"tcp0-2"}
    assert {row["transport"] + row["pair"] for row in lines("one-csv-samples.csv")} == {"tcp0-2"}
    assert len(json.loads(Path("one-json").read_text())["rows"]) == 2
    assert 'transport="shm"' not in Path("one-openmetrics").read_text()
    done = halftrip("b.jsonl", "--to", "csv", "-o", "two.csv", "-t", "shm", "-s", "8")
    assert done.status == 0, done.err
    assert {row["size_bytes"] for row in lines("two.csv")} == {"8"}
    runs.save(runs.run(), Path("c.jsonl"))
    for to in EXPORTS:
        with pytest.raises(UsageError, match=r"^c.jsonl: the run has no rows to export$"):
            export(to, "c.jsonl")


def test_what_exists_stays_unless_it_is_to_be_replaced(run):
    with open("a-samples.csv", "w") as file:
        file.write("mine")
    with pytest.raises(UsageError, match=r"^a-samples.csv: exists already; .* --force$"):
        export("csv", run)
    assert names() == ["a-samples.csv", run]
    assert Path("a-samples.csv").read_text() == "mine"
    export("csv", run, force=True)
    assert names() == ["a-samples.csv", "a.csv", run]
    assert Path("a-samples.csv").read_text().startswith("measurement,")


@pytest.mark.parametrize("force", [False, True])
def test_a_device_is_not_replaced_nor_made(run, force):
    with pytest.raises(UsageError, match=r"^/dev/full: (exists already|is no regular file)"):
        export("json", run, output="/dev/full", force=force)
    os.mkdir("here")
    os.mkfifo("pipe")
    for output in ("/dev/full", "here", "pipe"):
        with pytest.raises(UsageError, match=rf"^-o {output}: is no regular file, and .* makes 2"):
            export("csv", run, output=output, force=force)
    for to in ("csv", "json"):
        with pytest.raises(UsageError, match=r"^/dev/halftrip-test(.csv)?: /dev is no place for"):
            export(to, run, output="/dev/halftrip-test", force=force)
    assert names() == [run, "here", "pipe"]
    assert not [name for name in os.listdir("/dev") if name.startswith(("full.", "halftrip"))]
    assert not os.path.isfile("/dev/full")


def test_an_error_about_a_style_names_the_option_that_asked_for_it(run):
    runs.save(runs.run(runs.measurement("tcp", pattern="put")), Path("put.jsonl"))
    with pytest.raises(UsageError, match=r"^--to hpcbench: the run has no stream or ping-pong"):
        export("hpcbench", "put.jsonl")
    with pytest.raises(UsageError, match=r"^--style hpcbench: the run has no stream or ping-pong"):
        show_runs(["put.jsonl"], ShowRequest(style="hpcbench"))


def test_a_directory_that_is_missing_or_cannot_be_written(run):
    for to, output, said in (
        ("json", "no/a.json", r"^no/a.json: cannot be written: no such file"),
        ("json", "/proc/a.json", r"^/proc/a.json: cannot be written: "),
        ("json", "a.jsonl/b", r"^a.jsonl/b: cannot be written: not a directory$"),
        ("json", "", None),
        ("csv", "", None),
        ("json", "a\0b", r"no file can have this name"),
    ):
        with pytest.raises(UsageError, match=said):
            export(to, run, output=output)
    assert names() == [run]


def test_standard_output_has_the_only_file_byte_by_byte_or_is_full(run):
    done = started(run, "--to", "json", "-o", "-", stdout=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (0, "")
    export("json", run, output="b.json")
    assert done.stdout == Path("b.json").read_text()
    with pytest.raises(UsageError, match=r"^-o -: --to csv makes 2 files; name them with -o PATH$"):
        export("csv", run, output="-")
    with open("/dev/full", "w") as full:
        done = started(run, "--to", "json", "-o", "-", stdout=full)
    said = "halftrip: standard output: no space left on device\n"
    assert (done.returncode, done.stderr) == (1, said)


def test_a_file_that_cannot_be_written_whole_leaves_none(run):
    """A limit on the size of files is like a full disk."""

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))

    with open("a.csv", "w") as file:
        file.write("older")
    done = started(run, "--to", "csv", "--force", preexec_fn=limit)
    assert (done.returncode, done.stderr) == (1, "halftrip: a.csv: file too large\n")
    assert names() == ["a.csv", run]
    assert Path("a.csv").read_text() == "older"


def test_a_second_file_that_is_there_at_the_last_moment_takes_the_first_back(run, monkeypatch):
    link = os.link

    def late(source, target):
        if target == "y":
            with open("y", "w") as file:
                file.write("other")
        link(source, target)

    monkeypatch.setattr(os, "link", late)
    with pytest.raises(UsageError, match=r"^y: exists already"):
        write({"x": b"1", "y": b"2"}, force=False)
    assert names() == [run, "y"]
    assert Path("y").read_text() == "other"


def test_a_reader_finds_a_whole_file_at_any_moment(tmp_path, monkeypatch):
    """What is written has another name until it is whole."""
    monkeypatch.chdir(tmp_path)
    with open("a.prom", "w") as file:
        file.write("old")
    replace = os.replace
    seen = []

    def watched(source, target):
        seen.append((Path("a.prom").read_text(), Path(source).read_text()))
        assert not source.endswith(".prom")
        replace(source, target)

    monkeypatch.setattr(os, "replace", watched)
    before = os.umask(0o022)
    try:
        write({"a.prom": b"new"}, force=True)
    finally:
        os.umask(before)
    assert seen == [("old", "new")]
    assert (names(), Path("a.prom").read_text()) == (["a.prom"], "new")
    # A collector of another user may read it.
    assert os.stat("a.prom").st_mode & 0o777 == 0o644


def test_a_mistake_is_one_line_and_status_2(run):
    for words, said in (
        ((run, "--to", "csvv"), "'csvv' is not known; did you mean csv?\n"),
        ((run,), "--to"),
    ):
        done = halftrip(*words)
        assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
        assert said in done.err
    assert names() == [run]


def test_formats_may_make_text_under_any_names(run, monkeypatch):
    monkeypatch.setitem(EXPORTS.built_in, "other", f"{__name__}:files")
    export("other", run)
    assert {"a-1.out", "a-2.out"} <= set(names())


def files(document):
    return {"-1.out": f"{len(document.rows)}\n", "-2.out": "é\n"}
