"""What a terminal gets is no wider than that."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from halftrip.cli.output import LEAST_WIDTH
from halftrip.cli.recipes import recipes
from halftrip.render.blocks import text_table
from halftrip.render.terminal import lines
from halftrip.results.run_file import encode, newest
from harness import runs
from harness.shell import call

CELLS = st.text("x", max_size=30)


@given(
    st.integers(2, 12).flatmap(
        lambda n: st.lists(st.lists(CELLS, min_size=n, max_size=n), min_size=1, max_size=4)
    ),
    st.integers(LEAST_WIDTH, 120),
)
def test_no_table_is_wider_than_its_terminal_and_columns_that_are_missing_are_named(rows, width):
    names = [f"c{n}" for n in range(len(rows[0]))]
    found = [line.plain for line in lines([text_table("", names, rows)], width)]
    least = sum(max(2, *(len(row[n]) for row in rows)) for n in (0, 1)) + 1
    assert max(map(len, found)) <= max(width, least)
    said = " ".join(found)
    assert all(name in said.replace(",", " ").replace(":", " ").split() for name in names)


def test_recipes_fit_a_terminal_and_no_help_of_a_command_is_cut_off(tmp_path, monkeypatch, capsys):
    assert "exit with 1 if anything will" in " ".join(call(tmp_path, "--help").out.split())
    monkeypatch.setenv("COLUMNS", "80")
    recipes()
    assert all(len(line) <= 80 for line in capsys.readouterr().out.splitlines())


def test_a_run_without_rows_is_not_the_newest_unless_there_is_no_other(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    empty = runs.run()
    Path("halftrip-2.jsonl").write_bytes(encode(empty.header))
    assert newest().name == "halftrip-2.jsonl"
    path = runs.save(runs.run(runs.measurement()), tmp_path / "halftrip-1.jsonl")
    assert path.stat().st_mtime >= Path("halftrip-2.jsonl").stat().st_mtime
    Path("halftrip-3.jsonl").write_bytes(encode(empty.header))
    assert newest().name == "halftrip-1.jsonl"
    Path("halftrip-4.jsonl").mkdir()
    assert newest().name == "halftrip-1.jsonl"
