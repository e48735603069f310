"""``halftrip compare``: what it prints, how it ends, and what it refuses."""

import csv
import io
import json
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from harness import runs
from harness.imports import imported_run
from harness.shell import call

SIZES = (8, 64, 1024)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Three runs of five launches: b is 10 % slower than a at 64 bytes; c has one launch, and is as
    fast as a. Beside them, what cannot be compared."""
    folder = tmp_path_factory.mktemp("runs")

    def saved(name, factors, launches=5, sizes="8,64,1K"):
        generator = np.random.default_rng(len(name))
        measured = [
            runs.measurement(
                size=size,
                launch=launch,
                slice=number,
                samples=np.rint(generator.normal(2e4 * factor, 2e2, 60)),
                **({"iterations": 1} if name == "single" and size != 8 else {}),
            )
            for launch in range(launches)
            for number in range(10 // launches)
            for size, factor in zip(SIZES, factors, strict=False)
        ]
        kernel = "Linux 6.1" if name == "a" else "Linux 6.18"
        ranks = tuple(runs.environment(rank, kernel=kernel) for rank in (0, 1))
        run = runs.run(*measured, environments=ranks)
        run.header.plan["sizes"] = sizes
        runs.save(run, folder / f"{name}.jsonl")

    saved("a", (1, 1, 1))
    saved("b", (1, 1.1, 1))
    saved("c", (1, 1, 1), launches=1)
    saved("single", (1, 1, 1))
    saved("gone", (1, 1))
    saved("fewer", (1, 1), sizes="8,64")
    whole = (folder / "a.jsonl").read_text()
    for name, text in {
        "plain.txt": "not a run\n",
        "c2.jsonl": (folder / "c.jsonl").read_text(),
        "single2.jsonl": (folder / "single.jsonl").read_text(),
        "newer.jsonl": whole.replace('"version":1', '"version":99', 1),
        "older.jsonl": whole.replace('"version":1', '"format":10', 1),
        "empty.jsonl": whole.splitlines()[0] + "\n",
        "cut.jsonl": (folder / "b.jsonl").read_text()[:-20000],
    }.items():
        (folder / name).write_text(text)
    return folder


def compare(directory, *words):
    return call(directory, "compare", *words)


def verdicts(lines):
    """The verdicts of a table."""
    words = (line.split(" ", 1)[0] for line in lines)
    return [word for word in words if word in ("slower", "faster", "cannot", "same")]


def test_the_answer_comes_first_then_what_has_changed(files):
    result = compare(files, "a.jsonl", "b.jsonl")
    assert result.status == 1
    lines = result.out.splitlines()
    assert lines[:5] == [
        "base: a.jsonl, 2026-01-31T12:00:00+00:00",
        "new: b.jsonl, 2026-01-31T12:00:00+00:00",
        "differs: kernel: Linux 6.1 -> Linux 6.18",
        "",
        "Of 3 rows, 1 slower, 2 the same within 2 %.",
    ]
    assert lines[5].startswith("shm 64 B takes 1.100 times as long (95 %: 1.098 to 1.102): 1.10")
    assert lines[6] == "The runs have 5 launches each: this holds for fresh processes, too."
    assert "2 rows more are the same: --all" in lines
    assert verdicts(lines) == ["slower"]
    every = compare(files, "a.jsonl", "b.jsonl", "--all").out
    assert verdicts(every.splitlines()) == ["slower", "same", "same"]


def test_nothing_slower_is_status_0(files):
    result = compare(files, "b.jsonl", "a.jsonl")
    assert result.status == 0
    assert "1 faster" in result.out
    # A factor is said from its larger side.
    assert "shm 64 B is 1.100 times as fast (95 %: 1.098 to 1.102): 0.9999" in result.out
    assert compare(files, "a.jsonl", "b.jsonl", "-s", "8,1K").status == 0
    assert compare(files, "a.jsonl", "b.jsonl", "--threshold", "20%").status == 0


def test_rows_are_chosen_by_the_names_that_are_printed(files):
    for names, status, said in (
        (["shm 8 B", "shm 1K"], 0, "All 2 rows are the same"),
        (["shm spin 64 B"], 1, "The only row is slower"),
        (["shm"], 1, "Of 3 rows, 1 slower"),
    ):
        result = compare(files, "a.jsonl", "b.jsonl", *names)
        assert (result.status, said in result.out) == (status, True)
    said = compare(files, "a.jsonl", "b.jsonl", "shm 9 B").err
    assert said == "halftrip: a.jsonl: it has none of the rows that were chosen\n"


def test_one_launch_is_said_and_is_status_3_if_it_is_strict(files):
    result = compare(files, "c.jsonl", "c2.jsonl")
    assert result.status == 0
    assert "has changed cannot be told." in result.out
    assert "--launches 37." in result.out
    assert "launches are taken to differ by 3 %" in result.out
    assert compare(files, "c.jsonl", "c2.jsonl", "--strict").status == 3
    said = compare(files, "c.jsonl", "c2.jsonl", "--launch-spread", "0.1%", "--strict")
    assert said.status == 0
    assert "as --launch-spread says" in said.out


def test_a_row_that_cannot_be_compared_is_untold_if_it_is_strict(files):
    """Its samples are of ten messages each: single ones are not known."""
    runs_and_options = ("single.jsonl", "single2.jsonl", "--quantile", "50%", "--strict")
    assert compare(files, *runs_and_options, "-s", "64,1K").status == 0
    assert compare(files, *runs_and_options).status == 3


def test_every_format_has_every_row(files):
    def printed(style):
        result = compare(files, "a.jsonl", "b.jsonl", "--format", style)
        assert result.status == 1
        return result.out

    (found,) = json.loads(printed("json"))
    assert [row["verdict"] for row in found["rows"]] == ["same", "slower", "same"]
    assert found["differences"] == [{"name": "kernel", "base": "Linux 6.1", "new": "Linux 6.18"}]
    slower = found["rows"][1]
    assert slower["time_ratio"] == pytest.approx(1.1, rel=0.01)
    assert slower["new_latency_ns"] == pytest.approx(1100, rel=0.01)
    assert slower["p_value_adjusted"] < 0.05
    rows = list(csv.DictReader(io.StringIO(printed("csv"))))
    assert [row["verdict"] for row in rows] == ["same", "slower", "same"]
    assert {row["new"] for row in rows} == {"b.jsonl"}
    suite = ET.fromstring(printed("junit").split("\n", 1)[1]).find("testsuite")
    counted = [suite.get(name) for name in ("tests", "failures", "skipped", "errors")]
    assert counted == ["3", "1", "0", "0"]
    (failed,) = [case for case in suite if case.find("failure") is not None]
    assert failed.get("name") == "shm 64 B"
    assert "| slower | shm | 64 |" in printed("markdown")
    assert "- differs: kernel: Linux 6.1 -> Linux 6.18" in printed("markdown")


def test_a_row_that_is_gone_fails_in_every_format(files):
    """The plan of the new run asks for three sizes, and it has two of them."""
    options = ("a.jsonl", "gone.jsonl", "--threshold", "20%")
    result = compare(files, *options)
    assert result.status == 1
    assert "1 row of the base is missing: shm 1K; --allow-missing passes that." in result.out
    assert compare(files, *options, "--allow-missing", "--strict").status == 0
    (found,) = json.loads(compare(files, *options, "-j").out)
    assert [each["size_bytes"] for each in found["missing"]] == [1024]
    rows = list(csv.DictReader(io.StringIO(compare(files, *options, "--format", "csv").out)))
    assert [row["verdict"] for row in rows] == ["same", "same", "missing"]
    printed = compare(files, *options, "--format", "junit")
    assert printed.status == 1
    suite = ET.fromstring(printed.out.split("\n", 1)[1]).find("testsuite")
    assert [suite.get(name) for name in ("tests", "failures")] == ["3", "1"]
    (failed,) = [case for case in suite if case.find("failure") is not None]
    assert (failed.get("name"), failed.find("failure").get("type")) == ("shm 1K", "missing")
    # A plan that asks for fewer sizes has to have them all only with --strict.
    assert compare(files, "a.jsonl", "fewer.jsonl").status == 0
    assert compare(files, "a.jsonl", "fewer.jsonl", "--strict").status == 1


def test_several_new_runs_are_compared_with_the_first_as_far_as_they_go(files):
    result = compare(files, "a.jsonl", "cut.jsonl", "c.jsonl")
    assert result.status == 1
    assert result.out.count("base: a.jsonl") == 2
    assert result.err.startswith("halftrip: cut.jsonl: ")


def test_what_one_run_has_several_of_is_named(files):
    both = runs.run(*(runs.measurement(wait=wait) for wait in ("spin", "block")))
    runs.save(both, files / "waits.jsonl")
    result = compare(files, "waits.jsonl")
    assert result.status == 2
    assert result.err.endswith("or one and --by NAME for what was varied: wait\n")


def test_what_cannot_be_compared(files):
    for words, said in (
        ([], "name two runs, BASE and NEW, or one and --by NAME for what was varied"),
        (["a.jsonl"], "a.jsonl: the same file twice"),
        (["b.jsonl", "--by", "x"], "--by: 'x' was not varied: nothing was varied in this run"),
        (["--by", "wait"], "--by: there is one wait: wait spin"),
        (["--by", "transport"], "--by: transports are not compared row by row: "),
        (["--by", "x"], "--by: 'x' was not varied: nothing was varied in this run"),
        (["b.jsonl", "-t", "tcp"], "a.jsonl: it has none of the rows that were chosen"),
        (["b.jsonl", "--threshold", "-1%"], "--threshold: "),
        (["b.jsonl", "--quantile", "99%"], "a.jsonl and b.jsonl: its samples are of"),
        (["b.jsonl", "--launch-spread", "x"], "--launch-spread: 'x' is not a share"),
        (["plain.txt"], "plain.txt: "),
        (["newer.jsonl"], "newer.jsonl: format 99 is newer than 1; "),
        (["older.jsonl"], "older.jsonl: written before the first release of halftrip;"),
        (["empty.jsonl"], "empty.jsonl: it has no rows to compare"),
    ):
        result = compare(files, "a.jsonl", *words)
        assert (result.status, result.out, result.err.count("\n")) == (2, "", 1)
        assert result.err.startswith(f"halftrip: {said}")


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """What a tool has printed before and after something became slower, a single figure a row."""
    folder = tmp_path_factory.mktemp("tables")
    for name, time in (("before", "12.02"), ("after", "18.40")):
        text = f"# OSU MPI Latency Test v5.8\n# Size          Latency (us)\n65536 {time}\n"
        runs.save(imported_run(text), folder / f"{name}.jsonl")
    return folder


@pytest.mark.parametrize(
    ("command", "status", "words"),
    [
        ("compare", 0, ["no interval: cannot tell of 1 row, 1.53 times", "as --launch-spread 3%"]),
        ("compare", 0, ["neither run says, so that they may differ in: wait, pages", "(mean)"]),
        ("compare --strict", 3, ["another output of the same test"]),
        ("compare --launch-spread 3%", 1, ["The only row is slower", "as --launch-spread says"]),
        (
            "history",
            0,
            ["12.0!    18.4!   us         1.53?", "? no interval: cannot tell of 1 row"],
        ),
        ("history --launch-spread 3%", 0, ["1.41 to 1.66", "by 3 %, as --launch-spread says"]),
        ("show", 0, ["1.53?", "as halftrip compare --launch-spread 3%"]),
    ],
)
def test_single_figures_have_a_ratio_and_what_it_takes_to_tell(tables, command, status, words):
    result = call(tables, *command.split(), "before.jsonl", "after.jsonl")
    assert result.status == status
    said = " ".join(result.out.split())
    assert [each for each in words if " ".join(each.split()) not in said] == []


def test_a_setting_that_one_run_does_not_say_is_the_same_only_if_asked(files, tables, tmp_path):
    ours = runs.measurement("mpi", 65536, places="own", samples=[200000] * 20)
    runs.save(runs.run(ours), tmp_path / "ours.jsonl")
    words = ["ours.jsonl", str(tables / "before.jsonl"), "--anyway"]
    refused = compare(tmp_path, *words[:2])
    assert refused.status == 2
    assert "does not say wait, pages; ours.jsonl has the median, " in refused.err
    assert refused.err.endswith(" the mean; --match-unknown --anyway compares them\n")
    asked = compare(tmp_path, *words, "--match-unknown")
    assert asked.status == 0
    assert "one run does not say, taken to be the same: wait, pages" in asked.out
