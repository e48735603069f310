"""Each host with each other: tables, characters, and records for programs."""

import csv
import io
import json
from itertools import combinations

import pytest

from halftrip.cli.show import Shown, show_runs
from halftrip.errors import UsageError
from halftrip.report.selection import Selection
from harness.runs import between_hosts, save


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
        show_runs([str(path)], Shown(views=["matrix"], **options))
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
    lines = shown(hosts_run(5, ("n3",)), sort=True).splitlines()
    assert lines[2].startswith("n3")
    (summary,) = [line for line in lines if line.startswith("n3") and " to n" in line][:1]
    assert float(summary.split()[2]) == pytest.approx(2.0, rel=0.05)


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
        show_runs([], Shown(sort=True))
