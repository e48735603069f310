"""Tables: which columns there is room for, and what Markdown and LaTeX make of them."""

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from halftrip.analysis.figure import ALWAYS, BRIEF, MORE
from halftrip.cli.show import ShowRequest, show_runs
from halftrip.export import documents
from halftrip.render import html, markdown
from halftrip.render.blocks import Column, Table, TableLine, View, text_table
from halftrip.render.blocks import table as made
from halftrip.render.latex import tabular
from halftrip.report.document import document
from halftrip.results.run_file import load
from harness import runs
from harness.files import ROOT
from harness.screens import text_of

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
    return made(lines, columns)


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
    found = made(
        [[str(n), "-", "1.0" if n else "-", "spin", "0"] for n in range(4)], columns, say_once=True
    )
    assert [column.name for column in found.columns] == ["size", "jitter"]
    assert (found.unknown, found.zero, found.alike) == (["lost"], ["errors"], ["wait spin"])


def test_sections_are_apart():
    found = made("aab", columns_of([("x", ALWAYS)]), section=str)
    assert text_of(View([found]), 80).splitlines() == ["x", "a", "a", "", "b"]


def test_markdown_escapes_bars():
    table = made(["a|b"], [Column("x", "us", str, rank=ALWAYS)])
    assert markdown.render(View([table])) == "| x (us) |\n| ---: |\n| a\\|b |\n"


def test_a_file_is_what_show_prints(capsys, tmp_path):
    path = str(runs.save(load(ROOT / "tests/golden/formats/1.jsonl"), tmp_path / "a.jsonl"))
    for name in ("json", "markdown", "latex"):
        show_runs([path], ShowRequest(format=name))
        (content,) = getattr(documents, name)(document(load(path))).values()
        assert content == capsys.readouterr().out


def test_a_table_of_latex_is_below_its_title_and_does_not_touch_the_next():
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


def test_a_table_of_latex_that_is_longer_than_a_page_can_be_broken():
    column = Column("a", "", str, is_text=True)
    text = tabular(Table([column], [TableLine([str(n)], "", False) for n in range(60)]))
    assert text.startswith("\\begin{longtable}[l]{l}\n\\toprule\na \\\\\n\\midrule\n\\endhead\n0 ")
    assert text.endswith("\\bottomrule\n\\end{longtable}\n")


def test_latex_escapes_what_it_would_obey():
    column = Column("a_b", "%", str, is_text=True)
    text = tabular(Table([column], [TableLine(["&%$#_{}~^\\<>±"], "", False)]))
    assert "a\\_b (\\%)" in text
    row = text.split("\\midrule\n")[1].split(" \\\\\n")[0]
    assert row == (
        "\\&\\%\\$\\#\\_\\{\\}\\textasciitilde{}\\textasciicircum{}\\textbackslash{}$<$$>$$\\pm$"
    )
