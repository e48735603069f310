"""The published texts of four older systems, prose and all: their figures, whatever is wrong with
them, and their own tables again."""

import re

import pytest

from halftrip.report.document import document
from harness.files import ROOT
from harness.imports import causes, figures, imported_run, in_style, reference, table

MPI4PY_VE, EIGHT, DRAGON, ONE_BOX = range(4)
STYLES = {
    MPI4PY_VE: "mpi4py-ve",
    EIGHT: "eight-measurements",
    DRAGON: "dragon",
    ONE_BOX: "one-box",
}
MPI4PY_VE_TABLES = {
    "mpi4py-ve-vh-vh": "VH-VH",
    "mpi4py-ve-vh-ve": "VH-VE",
    "mpi4py-ve-ve-ve-same-node": "VE-VE (same VE node)",
    "mpi4py-ve-ve-ve-two-nodes": "VE-VE (different VE node)",
}


@pytest.fixture(scope="module")
def runs():
    return {number: imported_run(reference(number)) for number in STYLES}


@pytest.mark.parametrize(("name", "between"), MPI4PY_VE_TABLES.items())
def test_mpi4py_ve_figures(runs, name, between):
    run = runs[MPI4PY_VE]
    found = figures(run, variant=(("between", between),))
    assert [tuple(each.values()) for each in found] == [tuple(row.values()) for row in table(name)]
    rows = {
        row.configuration.size: row
        for row in document(run).rows
        if row.configuration.variant == (("between", between),)
    }
    for row in table(name):
        shown = rows[int(row["size_bytes"])]
        assert shown.summary.latency == pytest.approx(1e9 * float(row["one_way_s"]))
        assert shown.summary.bandwidth == pytest.approx(float(row["bandwidth_gib_per_s"]) * 2**30)


def test_eight_measurements_figures(runs):
    run = runs[EIGHT]
    for row in table("eight-measurements"):
        size, *totals = row.values()
        measured = [m for m in run.measurements if m.configuration.size == int(size)]
        assert [m.launch for m in measured] == list(range(8))
        assert [m.reported.figures["total (ms)"] for m in measured] == totals
        assert {m.iterations for m in measured} == {100_000}
        times = [m.samples[0] / m.iterations / 2 for m in measured]
        assert times == pytest.approx([float(total) * 10 / 2 for total in totals])


@pytest.mark.parametrize(("name", "launch", "column"), [
    ("dragon-latency", 0, "Lat"),
    ("dragon-message-rate", 1, "Msg/Sec"),
    ("dragon-bandwidth", 2, "Bandwidth"),
])  # fmt: skip
def test_dragon_figures(runs, name, launch, column):
    run = runs[DRAGON]
    wanted = {}
    for row in table(name):
        node, *_, value = row.values()
        wanted.setdefault(int(node), []).append((row["size_bytes"], value))
    for node, cells in wanted.items():
        found = [
            m
            for m in run.measurements
            if m.launch == launch and m.configuration.pair == (node, node ^ 1)
        ]
        said = [(m.reported.figures["MsgSize"], m.reported.figures[column]) for m in found]
        assert said == cells


def test_one_box_figures(runs):
    run = runs[ONE_BOX]
    said = {
        (dict(m.configuration.variant)["boxes"], m.configuration.size): m.reported.figures
        for m in run.measurements
    }
    assert said == {
        ("One Box", 4): {"time (s)": "2E-6"},
        ("One Box", 4000): {"time (s)": "8E-6"},
        ("Two Boxes", 4): {"time (s)": "1.44E-4"},
        ("Two Boxes", 4000): {"time (s)": "1.81E-4"},
    }


@pytest.mark.parametrize("number", STYLES)
def test_what_is_not_said_stays_unknown(runs, number):
    run = runs[number]
    assert run.environments == ()
    for each in run.measurements:
        for end in each.configuration.ends:
            assert (end.wait, end.pages) == ("unknown", "unknown")
        assert each.first is each.warm_up is each.at is None
    warm_up = {MPI4PY_VE: 0, EIGHT: 0}.get(number)
    assert {source.warm_up for source in run.sources} == {warm_up}


@pytest.mark.parametrize(("number", "begins"), [
    (MPI4PY_VE, ("{'dev1'", "|", "$ mpiexec", "Issuing", "Data transfer")),
    (EIGHT, ("Table", "Size", "(Bytes)", *"123456789")),
])  # fmt: skip
def test_its_own_style_has_the_lines_of_the_text(runs, number, begins):
    said = reference(number).decode().splitlines()
    wanted = [line.strip() for line in said if line.strip().startswith(begins)]
    printed = [line.strip() for line in in_style(runs[number], STYLES[number]).splitlines()]
    assert len(wanted) > 30
    assert [line for line in printed if line in wanted] == wanted


def test_dragons_own_style_has_the_lines_of_each_node(runs):
    """The nodes' lines come in whatever order, behind what the runtime prints."""
    text = reference(DRAGON).decode()
    wanted = sorted(re.findall(r"\d-stdout: .*MsgSize = .*", text))
    printed = in_style(runs[DRAGON], "dragon").splitlines()
    assert sorted(line for line in printed if "MsgSize = " in line) == wanted
    assert len(wanted) == 36


def test_cold_first_rows_and_the_outlier_are_found(runs):
    found = causes(runs[MPI4PY_VE])
    cold = {place for place, cause in found.items() if cause.name == "cold start"}
    assert cold == {((between,), 8) for between in MPI4PY_VE_TABLES.values()}
    outlier = found[("VH-VH",), 2048]
    assert outlier.name == "contradicted"
    assert "36.1 us, where 4K take 5.90 us" in outlier.seen


def test_the_measurement_in_another_mode_is_found(runs):
    found = causes(runs[EIGHT])
    assert {size for (_, size), cause in found.items() if cause is not None} == {
        4 << power for power in range(12)
    }
    for (_, size), cause in found.items():
        if size <= 8192:
            assert cause.name == "another mode"
            assert cause.seen.startswith("launch 0 took")


def test_the_contradiction_of_two_programs_is_found(runs):
    rows = [
        row
        for row in document(runs[DRAGON]).rows
        if row.configuration.size == 8 and row.configuration.window == 64
    ]
    assert len(rows) == 2
    for row in rows:
        assert row.verdict.word == "no"
        assert row.verdict.cause.name == "contradicted"
        assert "7.6 times as long as another" in row.verdict.cause.seen


def test_the_clock_of_one_microsecond_is_found(runs):
    found = causes(runs[ONE_BOX])
    assert {place for place, cause in found.items() if cause.name == "coarse clock"} == {
        (("One Box",), 4),
        (("One Box",), 4000),
    }


def test_each_row_has_the_table_that_it_is_in(runs):
    """Tables of one text may differ in their pattern alone: then the line of a row decides."""
    imb = imported_run((ROOT / "tests/golden/imports/imb/four-benchmarks.txt").read_bytes())
    hpcbench = imported_run(reference(4))
    for run in (*runs.values(), imb, hpcbench):
        places = sorted(source.place for source in run.sources)
        for configuration, source in run.source_of.items():
            rows = [m.reported.place for m in run.by_configuration[configuration]]
            assert source.place <= min(rows)
            assert not any(source.place < place <= min(rows) for place in places)
            assert source.variant == configuration.variant
        assert run.source_of.keys() == run.by_configuration.keys()
