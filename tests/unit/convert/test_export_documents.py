"""JSON, Markdown and LaTeX as files are what show prints."""

import pytest

from halftrip.convert.export import documents
from halftrip.report.document import document
from halftrip.report.layout import Column, Line, Table, as_latex
from halftrip.results.run_file import load
from harness import runs
from harness.files import ROOT


def golden():
    return load(ROOT / "tests" / "golden" / "formats" / "1.jsonl")


@pytest.mark.parametrize("name", ["json", "markdown", "latex"])
def test_the_file_is_what_show_prints(name, capsys, tmp_path):
    from halftrip.cli.show import Shown, show_runs

    path = runs.save(golden(), tmp_path / "a.jsonl")
    show_runs([str(path)], Shown(format=name))
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
    text = as_latex(Table([column], [Line([str(n)], "", False) for n in range(60)]))
    assert text.startswith("\\begin{longtable}[l]{l}\n\\toprule\na \\\\\n\\midrule\n\\endhead\n0 ")
    assert text.endswith("\\bottomrule\n\\end{longtable}\n")


def test_latex_escapes_what_it_would_obey():
    column = Column("a_b", "%", str, is_text=True)
    text = as_latex(Table([column], [Line(["&%$#_{}~^\\<>±"], "", False)]))
    assert "a\\_b (\\%)" in text
    row = text.split("\\midrule\n")[1].split(" \\\\\n")[0]
    assert row == (
        "\\&\\%\\$\\#\\_\\{\\}\\textasciitilde{}\\textasciicircum{}\\textbackslash{}$<$$>$$\\pm$"
    )
