"""Tables: which columns there is room for, what Markdown and LaTeX make of them; every view has
every format."""

import csv
import io
import json
import re
import shlex
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halftrip.analysis.compared_run import ComparedRun
from halftrip.analysis.comparison import compare
from halftrip.analysis.figure import ALWAYS, BRIEF, MORE
from halftrip.analysis.history import history
from halftrip.analysis.loop_ratios import LoopRatio, LoopRow, Ratio
from halftrip.analysis.run_figures import run_figures
from halftrip.cli.compare import compare as compare_command
from halftrip.cli.output import LEAST_WIDTH, VIEW_FORMATS, put_view
from halftrip.cli.recipes import recipes
from halftrip.cli.show import ShowRequest, show_runs
from halftrip.errors import UsageError
from halftrip.export import documents
from halftrip.registry import VIEWS
from halftrip.render import csv as as_csv
from halftrip.render import html, markdown
from halftrip.render import json as as_json
from halftrip.render.blocks import Column, Table, TableLine, View, table, text_table
from halftrip.render.latex import tabular
from halftrip.render.plain import lines_of
from halftrip.render.terminal import lines
from halftrip.report.document import document
from halftrip.results.run_file import encode, load, newest
from halftrip.stats.estimate import Estimate
from halftrip.telemetry.doctor import Check
from halftrip.views import compare as compare_view
from halftrip.views import details, models, screen, side_by_side
from halftrip.views.doctor import doctor, loops
from halftrip.views.history import history as history_view
from harness import runs
from harness.files import ROOT
from harness.screens import text_of
from harness.shell import call

words = st.text(st.characters(whitelist_categories=("Lu", "Ll", "Nd")), min_size=1, max_size=12)
ranks = st.sampled_from([ALWAYS, BRIEF, MORE, MORE + 3])


def columns_of(specifications):
    """A column for each name and rank; the cell of a line is its item of that number."""
    return [
        Column(name, "", (lambda line, n=n: line[n]), rank=rank)
        for n, (name, rank) in enumerate(specifications)
    ]


@st.composite
def tables(draw):
    count = draw(st.integers(1, 8))
    names = draw(st.lists(words, min_size=count, max_size=count, unique=True))
    of_each = draw(st.lists(ranks, min_size=count, max_size=count))
    columns = columns_of(zip(names, of_each, strict=True))
    lines = draw(st.lists(st.lists(words, min_size=count, max_size=count), min_size=1, max_size=5))
    return table(lines, columns)


@settings(max_examples=50)
@given(table=tables(), width=st.integers(40, 200))
def test_what_is_left_out_ranks_below_what_is_shown(table, width):
    lines = text_of(View([table]), width).splitlines()
    said = next((n for n, line in enumerate(lines) if line.startswith("no room for ")), len(lines))
    last = re.fullmatch(r"no room for (.*): --wide", " ".join(map(str.strip, lines[said:])))
    left_out = last[1].split(", ") if last else []
    by_name = {column.name: column.rank for column in table.columns}
    shown = [rank for name, rank in by_name.items() if name not in left_out]
    # Never the first two that always stand there: they tell lines apart.
    first = [name for name, rank in by_name.items() if rank == ALWAYS][:2]
    assert not set(left_out).intersection(first)
    if left_out:
        assert max(shown, default=0) <= min(by_name[name] for name in left_out)
    if any(rank > ALWAYS for rank in shown):
        assert max(map(len, lines[:said])) <= width


@pytest.mark.parametrize("width", [40, 60, 80, 100, 200])
def test_figures_stand_beside_their_verdict_or_have_its_mark(width):
    lines = text_of(VIEWS.load("details")(document(RUN)), width).splitlines()
    for figure, mark, verdict in (("1.01", "~", "caution"), ("4.00", "!", "no")):
        (line,) = [each for each in lines if f" {figure}" in each]
        assert f"{figure}{mark}" in line or verdict in line.split()
    assert max(map(len, lines)) <= width


@settings(max_examples=50)
@given(table=tables(), repeated=st.integers(1, 6))
def test_a_page_shows_every_cell_in_parts_that_it_has_room_for(table, repeated):
    columns = [column._replace(name=f"{column.name}{n}") for n in range(repeated)
               for column in table.columns]  # fmt: skip
    lines = [line._replace(cells=[*line.cells] * repeated) for line in table.lines]
    whole = table._replace(columns=columns, lines=lines)
    parts = html._parts(whole)
    # What tells lines apart stands first in each part, all else once.
    assert [part[0] for part in parts] == [0] * len(parts)
    assert sorted(n for part in parts for n in part if n) == [*range(1, len(columns))]
    for part in parts:
        assert sum(html._width(whole, n) for n in part) <= html._ROOM or len(part) == 2
    if sum(html._width(whole, n) for n in range(len(columns))) <= html._ROOM:
        assert len(parts) == 1
    written = html.Writer(str).write([whole])
    assert written.count("<table") == len(parts)
    assert written.count("(continued)") == len(parts) - 1


def test_on_a_narrow_page_advice_stands_below_its_row():
    advice = "halftrip doctor, which says what else on this machine spoils it"
    rows = [("steal", "3", advice), ("drift", "1", "-")]
    written = html.Writer(str).write([text_table("Why", ["cause", "rows", "what to do"], rows)])
    assert '<table class="prose">' in written
    assert f'<td class="text long" data-head="what to do: ">{advice}</td>' in written
    assert "prose" not in html.Writer(str).write([text_table("Why", ["cause"], [["steal"]])])


def test_columns_that_say_nothing_are_named_instead():
    columns = [
        *columns_of([("size", ALWAYS), ("lost", MORE), ("jitter", MORE), ("wait", MORE)]),
        Column("errors", "", lambda line: line[4], is_rare=True),
    ]
    found = table(
        [[str(n), "-", "1.0" if n else "-", "spin", "0"] for n in range(4)], columns, say_once=True
    )
    assert [column.name for column in found.columns] == ["size", "jitter"]
    assert (found.unknown, found.zero, found.alike) == (["lost"], ["errors"], ["wait spin"])


def test_sections_are_apart_and_markdown_escapes_bars():
    found = table("aab", columns_of([("x", ALWAYS)]), section=str)
    assert text_of(View([found]), 80).splitlines() == ["x", "a", "a", "", "b"]
    found = table(["a|b"], [Column("x", "us", str, rank=ALWAYS)])
    assert markdown.render(View([found])) == "| x (us) |\n| ---: |\n| a\\|b |\n"


def test_a_file_is_what_show_prints(capsys, tmp_path):
    path = str(runs.save(load(ROOT / "tests/golden/formats/1.jsonl"), tmp_path / "a.jsonl"))
    for name in ("json", "markdown", "latex"):
        show_runs([path], ShowRequest(format=name))
        (content,) = getattr(documents, name)(document(load(path))).values()
        assert content == capsys.readouterr().out


def test_tables_of_latex():
    """Each is below its title and does not touch the next."""
    measured = (runs.measurement("tcp", 8), runs.stream())
    text = documents.latex(document(runs.run(*measured)))[".tex"]
    assert text.count("\\end{tabular}\n\\par\\bigskip\n") == 2
    title, rest = text.split("\n\n")[1].split("\\par\\nopagebreak", 1)
    assert title.startswith("\\noindent tcp, wait spin, pattern pingpong")
    assert rest.startswith("\\smallskip\n\\noindent\n\\begin{tabular}")
    assert "latency ($\\mu$s) & " in text
    assert "messages ($10^6$/s) & " in text
    assert "\\textasciicircum" not in text
    assert text.startswith("% needs \\usepackage{booktabs,longtable}\n")
    for rule in ("\\toprule", "\\midrule", "\\bottomrule"):
        assert text.count(f"{rule}\n") == 2
    # One that is longer than a page can be broken.
    column = Column("a", "", str, is_text=True)
    text = tabular(Table([column], [TableLine([str(n)], "", False) for n in range(60)]))
    assert text.startswith("\\begin{longtable}[l]{l}\n\\toprule\na \\\\\n\\midrule\n\\endhead\n0 ")
    assert text.endswith("\\bottomrule\n\\end{longtable}\n")
    # What LaTeX would obey is escaped.
    column = Column("a_b", "%", str, is_text=True)
    text = tabular(Table([column], [TableLine(["&%$#_{}~^\\<>±"], "", False)]))
    assert "a\\_b (\\%)" in text
    row = text.split("\\midrule\n")[1].split(" \\\\\n")[0]
    assert row == (
        "\\&\\%\\$\\#\\_\\{\\}\\textasciitilde{}\\textasciicircum{}\\textbackslash{}$<$$>$$\\pm$"
    )


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


RUN = load(ROOT / "tests/golden/formats/1.jsonl")


def of_run(view):
    return lambda: view(document(RUN))


def of_loops():
    ratio = LoopRatio(
        LoopRow("pipe", "pingpong", 8), 100.0, 102.0, Ratio(1.02, 1.0, 1.04), None, 12
    )
    return loops([ratio], {"mpi": "no mpiexec"}, "others had core 0", "stopped by SIGINT")


EVERY = {
    "first screen": of_run(screen.first_screen),
    "rows": of_run(details.in_short),
    **{name: of_run(VIEWS.load(name)) for name in VIEWS.built_in},
    "side by side": lambda: side_by_side.side_by_side([document(RUN)] * 2, ["a", "b"]),
    "models": lambda: models.models(models.fitted(RUN, models.MODELS, lambda _: True)),
    "compare": lambda: compare_view.compare(
        compare(ComparedRun.of(RUN, "a"), [ComparedRun.of(RUN, "b")]), True
    ),
    "history": lambda: history_view(history([run_figures("a", RUN)]), True, True),
    "loops": of_loops,
    "doctor": lambda: doctor([Check("governor", "warning", "powersave\non all", "set it")]),
}


@pytest.mark.parametrize("name", EVERY)
def test_every_view_has_every_format(name, capsys):
    view = EVERY[name]()
    for format_ in VIEW_FORMATS:
        put_view(view, format_)
        said = capsys.readouterr().out
        match format_:
            case "json":
                assert json.loads(said) is not None
            case "csv":
                heading, *lines = csv.reader(io.StringIO(said)) if said else [[]]
                assert len(set(heading)) == len(heading)
                assert all(len(line) == len(heading) for line in lines)
            case "latex":
                assert said.count("\\begin") == said.count("\\end") - said.count("\\endhead")
            case "html":
                assert said.startswith("<!DOCTYPE html>")
                assert f"<title>{view.title}</title>" in said
                assert view.title
            case _:
                assert said.isprintable() or "\n" in said


def test_what_a_check_found_and_its_advice_are_told_apart(capsys):
    view = EVERY["doctor"]()
    found = []
    for format_ in ("markdown", "latex"):
        put_view(view, format_)
        found.append(capsys.readouterr().out)
    assert found[0] == "- governor **warning**: powersave; on all; set it\n"
    assert "\\item governor \\textbf{warning}: powersave; on all; set it\n" in found[1]


@pytest.mark.parametrize("width", [40, 80, 200])
def test_a_command_has_lines_of_its_own_that_a_shell_reads(width):
    command = shlex.join(["rm", *(f"/dev/shm/segment.{n}" for n in range(5)), "/tmp/a b"])
    command += " > /dev/null"
    view = doctor([Check("segments", "warning", "six", "nobody has them", commands=[command])])
    _, copied = text_of(view, width).split("nobody has them:\n")
    assert max(map(len, copied.splitlines())) <= width
    assert copied.replace(" \\\n", " ").split() == command.split()
    assert command in lines_of(view.blocks[0])[0]


def test_records_in_csv():
    """An object within one is JSON; a table without records of its own has them, with values."""
    (_, (plain, whole)) = csv.reader(io.StringIO(as_csv.text([{"a": 1, "b": {"c": [None, "d"]}}])))
    assert (plain, json.loads(whole)) == ("1", {"c": [None, "d"]})
    columns = [
        Column("path", "", lambda line: line[0], is_text=True),
        Column("size", "bytes", lambda line: line[1]),
        Column("adds", "us", lambda line: "about 2", value=lambda line: line[2]),
        Column("95 %", "", lambda line: "± 3 %"),
    ]
    made = table(
        [("8", "1,024", Estimate(2.0, 1.5)), ("tcp", "-", Estimate(1.0, 0.5, 2.0))], columns
    )
    view = View([made.titled("Layers")])
    assert as_csv.render(view) == (
        "path,size_bytes,adds_us,adds_us_low,adds_us_high,95_percent\n"
        "8,1024,2.0,1.5,,± 3 %\n"
        "tcp,,1.0,0.5,2.0,± 3 %\n"
    )
    (found,) = json.loads(as_json.render(view))["tables"]
    assert found["title"] == "Layers"
    assert found["rows"][0]["adds_us_high"] is None
    several = as_csv.render(View([made, made]))
    assert several.startswith("table,path,")
    assert several.count("\n") == 5


def test_what_a_format_has_in_any_case_is_refused(tmp_path):
    paths = [str(runs.save(RUN, tmp_path / f"{name}.jsonl")) for name in "ab"]
    for changes, said in (
        ({"every": True, "format_": "csv"}, "--all: --format csv has all rows; leave it out"),
        ({"wide": True, "format_": "markdown"}, "--wide: --format markdown has all columns"),
    ):
        with pytest.raises(UsageError, match=said):
            compare_command(paths, **changes)


@pytest.mark.parametrize("count", [2, 4])
def test_several_names_of_a_row_share_a_column_on_a_narrow_page(count):
    names = ["transport", "pattern", "wait", "window"][:count]
    rows = [("tcp", "stream", "block", "16")[:count], ("<b>", "", "-", "1")[:count]]
    made = text_table("t", [*names, "latency"], [(*row, "5.1") for row in rows], ["latency"])
    page = html.Writer(lambda _: "").write([made])
    behind = re.findall(r'<th scope="row" class="text"(?: data-rest="(.*?)")?>(.*?)</th>', page)
    rest = [" stream block window 16", " window 1"] if count > 2 else ["", ""]
    assert behind == [*zip(rest, ["tcp", "&lt;b&gt;"], strict=True)]
    assert page.count('class="text other"') == (9 if count > 2 else 0)
