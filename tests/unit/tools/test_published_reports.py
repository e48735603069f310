"""The published texts of five older systems, prose and all: their figures, whatever is wrong with
them, and their own tables again."""

import re

import pytest

from halftrip.report.document import document
from harness.files import ROOT
from harness.imports import causes, imported_run, in_style, reference, sample

MPI4PY_VE, EIGHT, DRAGON, ONE_BOX, HPCBENCH = range(5)
STYLES = {
    MPI4PY_VE: "mpi4py-ve",
    EIGHT: "eight-measurements",
    DRAGON: "dragon",
    ONE_BOX: "one-box",
    HPCBENCH: "hpcbench",
}
ENDS = ("VH-VH", "VH-VE", "VE-VE (same VE node)", "VE-VE (different VE node)")


@pytest.fixture(scope="module")
def runs():
    return {number: imported_run(reference(number)) for number in STYLES}


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


@pytest.mark.parametrize(("number", "line", "count"), [
    (MPI4PY_VE, r"\{'dev1'.*|\|.*|\$ mpiexec.*|Issuing.*|Data transfer.*", 30),
    (EIGHT, r"Table [12].*|Size.*|\(Bytes\).*|\d.*", 30),
    # The nodes' lines come in whatever order, behind what the runtime prints.
    (DRAGON, r".*?(\d-stdout: .*MsgSize = .*)", 36),
    (HPCBENCH, r"\s*\d+ .*\d|#.*|MPI R.*|Message size.*", 500),
])  # fmt: skip
def test_its_own_style_has_the_lines_of_the_text(runs, number, line, count):
    said, printed = (
        [found[found.lastindex or 0] for each in text.splitlines()
         if (found := re.fullmatch(line, each if number == HPCBENCH else each.strip()))]
        for text in (reference(number).decode(), in_style(runs[number], STYLES[number]))
    )  # fmt: skip
    assert len(said) >= count
    if number == DRAGON:
        said, printed = sorted(said), sorted(printed)
    assert printed == said


def test_cold_first_rows_and_the_outlier_are_found(runs):
    found = causes(runs[MPI4PY_VE])
    cold = {place for place, cause in found.items() if cause.name == "cold start"}
    assert cold == {((between,), 8) for between in ENDS}
    outlier = found[("VH-VH",), 2048]
    assert outlier.name == "contradicted"
    assert "36.1 us, where 4K take 5.90 us" in outlier.seen


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


def test_each_row_has_the_table_that_it_is_in(runs):
    """Tables of one text may differ in their pattern alone: then the line of a row decides."""
    imb = imported_run((ROOT / "tests/golden/imports/imb/four-benchmarks.txt").read_bytes())
    for run in (*runs.values(), imb):
        places = sorted(source.place for source in run.sources)
        for configuration, source in run.source_of.items():
            rows = [m.reported.place for m in run.by_configuration[configuration]]
            assert source.place <= min(rows)
            assert not any(source.place < place <= min(rows) for place in places)
            assert source.variant == configuration.variant
        assert run.source_of.keys() == run.by_configuration.keys()


NETWORKS = {"gigabit-ethernet": "Gigabit Ethernet", "myrinet": "Myrinet"}


def named(runs, network, name, **wanted):
    wanted["variant"] = (("network", NETWORKS[network]), ("test", name))
    found = [
        each
        for each in runs[HPCBENCH].measurements
        if all(getattr(each.configuration, field) == value for field, value in wanted.items())
    ]
    return sorted(found, key=lambda each: each.reported.place)


def test_the_settings_are_those_of_the_experiment(runs):
    (each, *others) = named(runs, "myrinet", "fixed", mode="nonblocking", pattern="pingpong")
    configuration = each.configuration
    assert (configuration.pattern, configuration.mode) == ("pingpong", "nonblocking")
    assert (configuration.transport, configuration.size) == ("mpi", 1 << 20)
    assert (configuration.directions, configuration.window) == (2, 1)
    assert (each.iterations, each.slice) == (567, 0)
    assert [other.slice for other in others] == [1, 2, 3, 4, 5]
    # The sum of both ways.
    assert each.reported.bandwidth == pytest.approx(3776.2298e6 / 8 / 2)
    (blocking, *_) = named(runs, "myrinet", "fixed", mode="blocking", pattern="pingpong")
    assert blocking.reported.bandwidth == pytest.approx(1910.7564e6 / 8)
    # Without the acknowledgement of 2 bytes.
    (first, *_) = named(runs, "gigabit-ethernet", "exponential", mode="blocking")
    assert first.iterations == 10_000
    assert first.reported.bandwidth == pytest.approx(0.0081e6 / 8 / 1.0002)


def test_every_table_has_its_date_hosts_and_logs(runs):
    assert len(runs[HPCBENCH].sources) == 18
    assert all(each.hosts == ["mk3", "mk4"] for each in runs[HPCBENCH].sources)
    assert runs[HPCBENCH].sources[0].date == "2004-07-14T16:32:53+00:00"
    logged = [each for each in runs[HPCBENCH].sources if each.listings]
    assert [dict(each.variant)["network"] for each in logged] == ["Gigabit Ethernet", "Myrinet"]
    for each in logged:
        names = ("", " <loop>", " <eth0>", *(f" CPU{cpu}" for cpu in range(4)))
        titles = [listing.title for listing in each.listings]
        assert titles == [f"{log}{name}" for log in ("m_log", "s_log") for name in names]
        assert {len(listing.rows) for listing in each.listings} == {1, 7}
    eth0 = logged[0].listings[2]
    assert dict(zip(eth0.columns, eth0.rows[1], strict=True))["SentByte"] == "586438922"


def test_networks_of_hpcbench_are_programs_where_nothing_is_said_of_them():
    fixed = sample("hpcbench", "fixed").replace("ping-pong", "stream")
    assert [source.variant for source in imported_run(fixed).sources] == [()]
    text = "".join(f"$ {name}run -n 2 {name}test -r 5\n{fixed}" for name in ("mpi", "tcp-mpi"))
    text = text.replace("tcp-mpirun", "mpirun")
    run = imported_run(text)
    assert [dict(each.variant)["network"] for each in run.sources] == ["mpitest", "tcp-mpitest"]
