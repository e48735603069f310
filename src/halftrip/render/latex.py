"""Blocks as tables of LaTeX, each below its title, with the rules of the package booktabs, and
checks as lists; all else is in comments."""

from __future__ import annotations

from collections.abc import Sequence

from halftrip.render import blocks
from halftrip.render.plain import found_by, lines_of, title_of, unfolded
from halftrip.texts import printable

_NEEDS = "needs \\usepackage{booktabs,longtable}"
# A page has room for so many lines of a table, and a heading.
_MOST_LINES_OF_A_PAGE = 40
_LATEX = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "<": r"$<$",
    ">": r"$>$",
}


def render(view: blocks.View) -> str:
    """The tables and lists, and between them comments. No text is on more than one line: it would
    leave its comment."""
    parts: list[str] = []
    comments = [_NEEDS]
    columns: Sequence[blocks.Column] = ()
    for block in unfolded(view.blocks):
        if isinstance(block, blocks.Table | blocks.Checks):
            if comments:
                parts.append(_commented(comments))
            comments = []
            parts.append(_titled(block) if isinstance(block, blocks.Table) else _checks(block))
        if isinstance(block, blocks.Table):
            columns = block.columns
        elif isinstance(block, blocks.Legend):
            comments += block.lines(columns)
        elif not isinstance(block, blocks.Checks):
            comments += lines_of(block)
    return "\n".join([*parts, *([_commented(comments)] if comments else [])])


def _commented(lines: Sequence[str]) -> str:
    return "".join(f"% {printable(line)}\n" for line in lines)


def _checks(checks: blocks.Checks) -> str:
    """A list, which breaks long lines."""
    name = "enumerate" if checks.numbered else "itemize"
    items = "".join(
        f"\\item {latex_text(each.asks)} \\textbf{{{latex_text(each.state)}}}: "
        f"{latex_text(found_by(each))}\n"
        for each in checks.checks
    )
    return f"\\begin{{{name}}}\n{items}\\end{{{name}}}\n"


def _titled(table: blocks.Table) -> str:
    """A table below its title, in a paragraph of its own; space behind it, also before another."""
    title = latex_text(title_of(table))
    heading = f"\\noindent {title}\\par\\nopagebreak\\smallskip\n"
    return f"{heading}\\noindent\n{tabular(table)}\\par\\bigskip\n"


def tabular(table: blocks.Table) -> str:
    """A tabular with the rules of the package booktabs; one that no page has room for is a
    longtable, of the package of that name."""

    def joined(cells: Sequence[str]) -> str:
        return " & ".join(cells) + r" \\" + "\n"

    kinds = "".join("l" if column.is_text else "r" for column in table.columns)
    lines = "".join(
        ("\\addlinespace\n" if line.begins_section else "")
        + joined([latex_text(cell) for cell in line.cells])
        for line in table.lines
    )
    heading = joined([_heading(column) for column in table.columns])
    is_long = len(table.lines) > _MOST_LINES_OF_A_PAGE
    name, place, end = ("longtable", "[l]", "\\endhead\n") if is_long else ("tabular", "", "")
    return (
        f"\\begin{{{name}}}{place}{{{kinds}}}\n\\toprule\n{heading}"
        f"\\midrule\n{end}{lines}\\bottomrule\n\\end{{{name}}}\n"
    )


def _heading(column: blocks.Column) -> str:
    """The name and the unit, with a power and a micro as formulas."""
    unit = f" ({column.unit})" if column.unit else ""
    found = latex_text(f"{column.name}{unit}").replace("10\\textasciicircum{}6", "$10^6$")
    return found.replace("(us)", r"($\mu$s)")


def latex_text(text: str) -> str:
    """A text whose characters LaTeX prints and does not obey."""
    return "".join(_LATEX.get(sign, sign) for sign in text)
