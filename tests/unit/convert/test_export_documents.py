"""JSON, Markdown and LaTeX as files are what show prints."""

import pytest

from halftrip.convert.export import documents
from halftrip.report.document import document
from halftrip.report.layout import Column, Line, Table, as_latex
from halftrip.results.run_file import load
from harness import runs
from harness.files import ROOT


def golden():
    return load(ROOT / "tests" / "golden" / "formats" / "9.jsonl")


@pytest.mark.parametrize("name", ["json", "markdown", "latex"])
def test_the_file_is_what_show_prints(name, capsys, tmp_path):
    from halftrip.cli.show import Shown, show_runs

    path = runs.save(golden(), tmp_path / "a.jsonl")
    show_runs([str(path)], Shown(format=name))
    (content,) = getattr(documents, name)(document(load(path))).values()
    assert content == capsys.readouterr().out


def test_latex_has_the_rules_of_booktabs():
    text = documents.latex(document(golden()))[".tex"]
    assert text.startswith("% needs \\usepackage{booktabs}\n")
    for rule in ("\\toprule", "\\midrule", "\\bottomrule"):
        assert text.count(f"{rule}\n") == text.count("\\begin{tabular}") > 0
    assert "\\hline" not in text


def test_latex_escapes_what_it_would_obey():
    column = Column("a_b", "%", str, is_text=True)
    text = as_latex(Table([column], [Line(["&%$#_{}~^\\<>"], "", False)]))
    assert "a\\_b (\\%)" in text
    row = text.split("\\midrule\n")[1].split(" \\\\\n")[0]
    assert row == (
        "\\&\\%\\$\\#\\_\\{\\}\\textasciitilde{}\\textasciicircum{}\\textbackslash{}$<$$>$"
    )
