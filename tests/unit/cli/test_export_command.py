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

from halftrip.cli import exporting
from halftrip.cli.exporting import export_run
from halftrip.cli.show import Shown, show_runs
from halftrip.convert.export.writing import write
from halftrip.errors import HalftripError, UsageError
from halftrip.registry import EXPORTS
from harness import runs


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A run file in the current directory."""
    monkeypatch.chdir(tmp_path)
    both_ends = (runs.usage(), runs.usage())
    measured = [
        runs.measurement(size=size, half_ns=100.0 + size, usage=both_ends) for size in (8, 64, 512)
    ]
    runs.save(runs.run(*measured), tmp_path / "a.jsonl")
    return "a.jsonl"


def names():
    return sorted(os.listdir())


def halftrip(*words, **options):
    command = [sys.executable, "-m", "halftrip", "export", *words]
    return subprocess.run(command, check=False, capture_output=True, text=True, **options)


@pytest.mark.parametrize("to", list(EXPORTS))
def test_every_format_is_written_beside_where_one_is(run, to, capsys):
    assert export_run(run, to, None, False) == 0
    said = capsys.readouterr().out.split()
    assert sorted([*said, run]) == names()
    assert all(name.startswith("a") and os.path.getsize(name) > 50 for name in said)


def test_without_a_file_it_is_the_newest_run(run, capsys):
    os.rename(run, "halftrip-20260131-120000.jsonl")
    export_run(None, "json", None, False)
    assert capsys.readouterr().out == "halftrip-20260131-120000.json\n"
    assert json.loads(Path("halftrip-20260131-120000.json").read_text())["rows"]


def test_no_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=r"^no run file"):
        export_run(None, "json", None, False)
    with pytest.raises(UsageError, match=r"^b.jsonl: no such file"):
        export_run("b.jsonl", "json", None, False)


def test_a_name_of_the_only_file_is_its_name(run):
    export_run(run, "openmetrics", "metrics.txt", False)
    assert names() == [run, "metrics.txt"]


@pytest.mark.parametrize("output", ["table", "table.csv"])
def test_a_name_of_several_files_is_their_base(run, output):
    export_run(run, "csv", output, False)
    assert names() == [run, "table-samples.csv", "table.csv"]
    assert len(list(csv.DictReader(Path("table.csv").read_text().splitlines()))) == 3


@pytest.mark.parametrize(
    ("to", "said"),
    [
        ("parquets", "--to: 'parquets' is not known; did you mean parquet?"),
        ("gnu-plot", "--to: 'gnu-plot' is not known; did you mean gnuplot?"),
        ("zz", f"--to: 'zz' is not known; allowed: {', '.join(EXPORTS)}"),
    ],
)
def test_an_unknown_format(run, to, said):
    with pytest.raises(UsageError) as found:
        export_run(run, to, None, False)
    assert str(found.value) == said
    assert names() == [run]


def test_a_run_without_rows(run):
    runs.save(runs.run(), Path("b.jsonl"))
    for to in EXPORTS:
        with pytest.raises(UsageError, match=r"^b.jsonl: the run has no rows to export$"):
            export_run("b.jsonl", to, None, False)


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

    for to in ("csv", "json", "openmetrics", "google-benchmark"):
        export_run("b.jsonl", to, f"one-{to}", False, {"transport": "tcp", "pair": "0-2"})
    assert {row["transport"] + row["pair"] for row in lines("one-csv.csv")} == {"tcp0-2"}
    assert {row["transport"] + row["pair"] for row in lines("one-csv-samples.csv")} == {"tcp0-2"}
    assert len(json.loads(Path("one-json").read_text())["rows"]) == 2
    assert 'transport="shm"' not in Path("one-openmetrics").read_text()
    assert "shm" not in Path("one-google-benchmark").read_text()
    done = halftrip("b.jsonl", "--to", "csv", "-o", "two.csv", "-t", "shm", "-s", "8")
    assert done.returncode == 0, done.stderr
    assert {row["size_bytes"] for row in lines("two.csv")} == {"8"}


def test_a_choice_of_no_row_says_what_there_is(run):
    for chosen, said in (
        (
            {"transport": "tcp"},
            r"^nothing to show; the run has -t shm; -p pingpong; -s 8, 64, 512;",
        ),
        ({"transport": "tpc"}, r"^--transport: 'tpc' .* tcp"),
        ({"sizes": "many"}, r"^--sizes: "),
    ):
        with pytest.raises(UsageError, match=said):
            export_run(run, "csv", None, False, chosen)
    assert names() == [run]


def test_what_exists_stays_unless_it_is_to_be_replaced(run):
    with open("a-samples.csv", "w") as file:
        file.write("mine")
    with pytest.raises(UsageError, match=r"^a-samples.csv: exists already; .* --force$"):
        export_run(run, "csv", None, False)
    assert names() == ["a-samples.csv", run]
    assert Path("a-samples.csv").read_text() == "mine"
    export_run(run, "csv", None, True)
    assert names() == ["a-samples.csv", "a.csv", run]
    assert Path("a-samples.csv").read_text().startswith("measurement,")


@pytest.mark.parametrize("force", [False, True])
def test_a_device_is_not_replaced(run, force):
    with pytest.raises(UsageError, match=r"^/dev/full: (exists already|is no regular file)"):
        export_run(run, "json", "/dev/full", force)
    assert not os.path.isfile("/dev/full")


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("to", ["csv", "gnuplot"])
@pytest.mark.parametrize("output", ["/dev/full", "here", "pipe"])
def test_what_is_no_regular_file_is_no_base_name_of_several(run, to, output, force):
    os.mkdir("here")
    os.mkfifo("pipe")
    with pytest.raises(UsageError, match=rf"^-o {output}: is no regular file, and .* makes 2"):
        export_run(run, to, output, force)
    assert names() == [run, "here", "pipe"]
    assert not [name for name in os.listdir("/dev") if name.startswith("full.")]


@pytest.mark.parametrize("to", ["csv", "json"])
def test_no_file_is_made_among_devices(run, to):
    with pytest.raises(
        UsageError, match=r"^/dev/halftrip-test(.csv)?: /dev is no place for files$"
    ):
        export_run(run, to, "/dev/halftrip-test", True)
    assert not [name for name in os.listdir("/dev") if name.startswith("halftrip-test")]


def test_an_error_about_a_style_names_the_option_that_asked_for_it(run):
    runs.save(runs.run(runs.measurement("tcp", pattern="put")), Path("put.jsonl"))
    with pytest.raises(UsageError, match=r"^--to hpcbench: the run has no stream or ping-pong"):
        export_run("put.jsonl", "hpcbench", None, False)
    with pytest.raises(UsageError, match=r"^--style hpcbench: the run has no stream or ping-pong"):
        show_runs(["put.jsonl"], Shown(style="hpcbench"))


def test_a_directory_that_is_missing_or_cannot_be_written(run):
    with pytest.raises(UsageError, match=r"^no/a.json: cannot be written: no such file"):
        export_run(run, "json", "no/a.json", False)
    with pytest.raises(UsageError, match=r"^/proc/a.json: cannot be written: "):
        export_run(run, "json", "/proc/a.json", False)
    with pytest.raises(UsageError, match=r"^a.jsonl/b: cannot be written: not a directory$"):
        export_run(run, "json", "a.jsonl/b", False)
    with pytest.raises(UsageError):
        export_run(run, "json", "", False)
    with pytest.raises(UsageError):
        export_run(run, "csv", "", False)
    with pytest.raises(UsageError, match=r"no file can have this name"):
        export_run(run, "json", "a\0b", False)
    assert names() == [run]


def test_standard_output_has_the_only_file_byte_by_byte(run):
    done = halftrip(run, "--to", "json", "-o", "-")
    assert (done.returncode, done.stderr) == (0, "")
    export_run(run, "json", "b.json", False)
    assert done.stdout == Path("b.json").read_text()


def test_several_files_are_too_many_for_standard_output(run):
    with pytest.raises(UsageError, match=r"^-o -: --to csv makes 2 files; name them with -o PATH$"):
        export_run(run, "csv", "-", False)


def test_a_full_disk_behind_standard_output(run):
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "halftrip", "export", run, "--to", "json", "-o", "-"]
        done = subprocess.run(command, check=False, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert done.stderr == "halftrip: standard output: no space left on device\n"


def test_a_file_that_cannot_be_written_whole_leaves_none(run):
    """A limit on the size of files is like a full disk."""

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))

    with open("a.csv", "w") as file:
        file.write("older")
    done = halftrip(run, "--to", "csv", "--force", preexec_fn=limit)
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
    write({"a.prom": b"new"}, force=True)
    assert seen == [("old", "new")]
    assert (names(), Path("a.prom").read_text()) == (["a.prom"], "new")


def test_a_collector_of_another_user_may_read_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = os.umask(0o022)
    try:
        write({"a.prom": b"1"}, force=False)
    finally:
        os.umask(before)
    assert os.stat("a.prom").st_mode & 0o777 == 0o644


def test_a_mistake_is_one_line_and_status_2(run):
    done = halftrip(run, "--to", "csvv")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "halftrip: --to: 'csvv' is not known; did you mean csv?\n"
    done = halftrip(run)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "--to" in done.stderr


def test_formats_may_make_text_under_any_names(run, monkeypatch):
    """As a plug-in may, or one with names that its readers demand."""
    monkeypatch.setitem(EXPORTS.built_in, "other", f"{__name__}:files")
    export_run(run, "other", None, False)
    assert {"a-1.out", "a-2.out"} <= set(names())
    assert issubclass(UsageError, HalftripError)
    assert exporting.STANDARD_OUTPUT == "-"


def files(document):
    return {"-1.out": f"{len(document.rows)}\n", "-2.out": "é\n"}
