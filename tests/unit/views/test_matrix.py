"""Each host with each other, alone or several pairs at once."""

import csv
import io
import json
from itertools import combinations

import pytest

from halftrip.analysis.baseline import Baseline
from halftrip.analysis.expectation import Expectations, judged
from halftrip.analysis.network import slow_parts
from halftrip.analysis.rows import by_limit, least
from halftrip.cli.show import ShowRequest, show_runs
from halftrip.errors import UsageError
from halftrip.render import csv as as_csv
from halftrip.render.blocks import Table
from halftrip.report.document import document
from halftrip.report.selection import Selection
from halftrip.results.counts import Delivery
from halftrip.results.names import Names
from halftrip.views import pairs
from halftrip.views.expected import lines
from halftrip.views.matrix import matrix
from halftrip.views.notes import at_once_ratios, tails_at_once
from halftrip.views.row_tables import row_tables
from harness.runs import between_hosts, environment, measurement, run, save, stream


def hosts_run(count, slow=(), ranks_per_host=1):
    """All pairs across hosts n1, n2, ..."""
    names = [f"n{rank // ranks_per_host + 1}" for rank in range(count * ranks_per_host)]
    across = [(a, b) for a, b in combinations(range(len(names)), 2) if names[a] != names[b]]
    return between_hosts(names, slow, pairs=across, slices=1)


@pytest.fixture
def shown(tmp_path, capsys, monkeypatch):
    def show(of, columns=100, **options):
        monkeypatch.setenv("COLUMNS", str(columns))
        path = tmp_path / "run.jsonl"
        path.unlink(missing_ok=True)
        save(of, path)
        show_runs([str(path)], ShowRequest(views=["matrix"], **options))
        return capsys.readouterr().out

    return show


def test_hosts_stand_in_the_order_of_their_numbers(shown):
    lines = shown(hosts_run(11)).splitlines()
    assert lines[0] == "tcp pingpong 8 B: latency, us"
    assert lines[1].split() == ["host", *(f"n{number}" for number in range(1, 12))]
    cells = lines[2].split()
    assert cells[0] == "n1"
    assert len(cells) == 11
    assert all(float(cell) == pytest.approx(20.0, rel=0.05) for cell in cells[1:])


def test_the_slowest_host_comes_first_if_asked(shown):
    assert "n3" not in shown(hosts_run(5, ("n3",))).splitlines()[2]
    lines = shown(hosts_run(5, ("n3",)), options=["sort"]).splitlines()
    assert lines[2].startswith("n3")
    (summary,) = [line for line in lines if line.startswith("n3") and " to n" in line][:1]
    assert float(summary.split()[2]) == pytest.approx(2.0, rel=0.05)


@pytest.mark.parametrize("count", [3, 4, 6])
def test_a_host_is_as_slow_as_the_run_says(count):
    """Among few hosts, half of the pairs are of the slow one."""
    made = between_hosts([f"n{n}" for n in range(count)], ("n1",), by=1.66)
    (slow,) = slow_parts(made, made.by_configuration)
    view = matrix(document(made, flags=False), by_slowness=True)
    (summary,) = (
        block
        for block in view.blocks
        if isinstance(block, Table) and block.title[0].endswith("latency, us, by host")
    )
    factors = {line.cells[0]: float(line.cells[2]) for line in summary.lines}
    assert factors["n1"] == pytest.approx(slow.effect.factor, rel=0.01)
    assert factors["n1"] == pytest.approx(1.66, rel=0.03)
    assert summary.lines[0].cells[0] == "n1"
    assert all(factors[f"n{n}"] == pytest.approx(1.0, abs=0.05) for n in range(count) if n != 1)


def test_a_host_is_as_slow_as_the_figure_of_its_matrix_says():
    """Windows take as long on all links, and half of what is sent to the first host is lost."""
    links = [
        stream(pair=pair, delivery=Delivery(sent=1000, lost=500 * (0 in pair), reordered=0))
        for pair in combinations(range(4), 2)
    ]
    hosts = tuple(environment(rank, host=f"n{rank}") for rank in range(4))
    view = matrix(document(run(*links, environments=hosts), flags=False))
    tables = [each for each in view.blocks if isinstance(each, Table) and each.titling != "heading"]
    for table in tables:
        factors = [float(line.cells[2]) for line in table.lines]
        assert factors == pytest.approx([2.0, 1.0, 1.0, 1.0], rel=0.05)
    assert len(tables) == 2


def test_bandwidth_is_that_of_one_way_in_all_that_is_said_of_links():
    """50 MB/s each way, 100 in all."""
    links = [
        measurement(
            "tcp", 1000, pattern="bidirectional", window=10, samples=[200_000] * 20,
            iterations=1, pair=pair, slice=number,
        )
        for pair in combinations(range(3), 2)
        for number in range(8)
    ]  # fmt: skip
    environments = tuple(environment(rank=rank, host=HOSTS[rank]) for rank in range(3))
    made = run(*links, environments=environments)
    base = Baseline.of(made, "base.jsonl")
    expected = Expectations({"bandwidth": 60e6}, base)
    found = document(made, flags=False, expectations=expected)
    (links_by_pair,) = ({row["bandwidth_bytes_per_s"] for row in matrix(found).records()},)
    assert links_by_pair == {50e6}
    said = "\n".join(_titles([*matrix(found).blocks, *pairs.blocks(found)]))
    assert said.count("bandwidth each way, MB/s") == 3
    assert "50.0" in _cells(pairs.blocks(found))
    assert {link.value for each in judged(found) for link in each.links} == {50e6}
    assert lines(found)[0].startswith("falls short: n1: tcp bidirectional bandwidth each way 50.0")
    (shown, *_) = row_tables(found, brief=True)
    assert "100.00" in {cell for line in shown.table.lines for cell in line.cells}
    assert "total bandwidth" in [column.name for column in shown.table.columns]


def _titles(blocks):
    return [line for block in blocks if isinstance(block, Table) for line in block.title]


def _cells(blocks):
    tables = [block for block in blocks if isinstance(block, Table)]
    return {cell.rstrip("~!") for each in tables for line in each.lines for cell in line.cells}


def test_of_many_hosts_each_pair_is_a_character(shown):
    out = shown(hosts_run(24, ("n7",)), columns=60)
    assert "one character a pair" in out
    first = out.splitlines()[1:25]
    assert all(len(line) <= 60 for line in out.splitlines())
    slow = first[6].removeprefix("n7").strip()
    assert set(slow.replace(" ", "")) <= {"#", "@"}
    assert all(
        line.count("#") + line.count("@") == 1 for line in first if not line.startswith("n7 ")
    )


def test_several_ranks_of_a_host_are_one_unless_they_are_on_one_host(shown):
    lines = shown(hosts_run(3, ranks_per_host=2)).splitlines()
    assert lines[1].split() == ["host", "n1", "n2", "n3"]
    lines = shown(between_hosts(["n1"] * 3, slices=1)).splitlines()
    assert lines[1].split() == ["host", "rank", "0", "rank", "1", "rank", "2"]


def test_programs_get_a_record_for_each_link(shown):
    of = hosts_run(4, ("n2",))
    rows = list(csv.DictReader(io.StringIO(shown(of, format="csv"))))
    assert rows == [
        {key: str(value) for key, value in each.items()}
        for each in json.loads(shown(of, format="json"))
    ]
    assert len(rows) == 6
    slow = [row for row in rows if "n2" in (row["host"], row["other_host"])]
    assert {float(row["latency_us"]) > 30 for row in slow} == {True}


def test_a_selection_holds(shown):
    of = hosts_run(3)
    assert shown(of, selection=Selection(sizes=((8, 8),))) == shown(of)
    with pytest.raises(UsageError, match="nothing to show"):
        shown(of, selection=Selection(sizes=((64, 64),)))
    with pytest.raises(UsageError, match="--sort: only with --matrix"):
        show_runs([], ShowRequest(options=["sort"]))


# What pairs get that talk at the same time, of what they get alone.

HOSTS = {0: "n1", 1: "n2", 2: "n3", 3: "n4"}
NAMES, NONE = Names(HOSTS), Names({})


def rows(slower, size=8, concurrency=2):
    """Four hosts, each with each other: alone, and two pairs at once, when they take `slower(pair)`
    times as long."""
    found = [
        measurement(
            "tcp",
            size=size,
            half_ns=20_000.0 * (1.0 if number == 1 else slower(pair)),
            pair=pair,
            concurrency=number,
        )
        for pair in combinations(range(4), 2)
        for number in (concurrency, 1)
    ]
    environments = tuple(environment(rank=rank, host=HOSTS[rank]) for rank in range(4))
    return document(run(*found, environments=environments)).rows


def test_rows_of_one_limit_are_together_and_it_may_leave_a_round_with_fewer():
    """Three at once of four pairs leave one, which has no other row beside it."""
    found = rows(lambda _: 2.0, concurrency=3)
    assert [len(each) for each in by_limit(found)] == [6, 6]
    left = [row for row in found if row.configuration.pair != (0, 1)]
    left += [row for row in found if row.configuration.pair == (0, 1)][:1]
    assert [len(each) for each in by_limit(left)] == [6, 5]
    assert [
        len(each) for each in by_limit([r for r in left if r.configuration.concurrency == 3])
    ] == [5]
    assert {row.configuration.concurrency for row in least(found)} == {1}
    assert least([]) == []
    assert at_once_ratios(least(found), NONE) == []


def test_who_shares_takes_longer_and_the_worst_is_named():
    (line,) = at_once_ratios(
        rows(lambda pair: 3.0 if pair == (1, 3) else 1.5, concurrency=8), NAMES
    )
    assert line.startswith(
        "8 pairs at once: tcp pingpong 8 B: 1.5 x the latency alone (median of 6"
    )
    assert line.endswith("pairs; worst 3.0: n2 to n4)")


def test_tails_are_said_where_pairs_run_at_once():
    found = rows(lambda pair: 3.0 if pair == (1, 3) else 1.5, concurrency=8)
    found = [
        row._replace(summary=row.summary._replace(p99=row.summary.time.scaled(2.0)))
        for row in found
    ]
    (line,) = tails_at_once(found, NAMES)
    assert line.startswith("tails, 8 pairs at once: tcp pingpong 8 B: p99 ")
    assert line.endswith(" us: n2 to n4")
    assert at_once_ratios(found, NAMES)[0].endswith("; p99 1.5 x")
    assert tails_at_once(least(found), NAMES) == []


def test_of_large_messages_the_bandwidth_is_said():
    (line,) = at_once_ratios(rows(lambda pair: 4.0 if pair == (0, 2) else 2.0, size=64 << 10), NONE)
    assert line.startswith("2 pairs at once: tcp pingpong 64K: 0.50 x the bandwidth alone (median")
    assert line.endswith("worst 0.25: ranks 0-2)")


def test_empty_messages_have_no_bandwidth_in_records():
    records = matrix(document(run(measurement(size=0), stream()))).records()
    assert [each["bandwidth_bytes_per_s"] is None for each in records] == [True, False]
    assert as_csv.text(records).count("\n") == 1 + len(records)
