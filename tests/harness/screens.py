"""What a style prints of a run."""

import io
import re

from rich.console import Console

from halftrip.render import terminal
from halftrip.render.blocks import View
from halftrip.report.document import document


def printed(style, run, round_trips=False, width=400):
    """The lines that a style prints of a run, without blanks at their ends."""
    return text(style, run, round_trips, width).splitlines()


def text(style, run, round_trips=False, width=400):
    """What a style prints of a run, without blanks at the ends of lines."""
    rendered = style(document(run, round_trips))
    if isinstance(rendered, str):
        return rendered
    return "".join(
        f"{line.rstrip()}\n" for line in text_of(rendered, width, wide=True).splitlines()
    )


def text_of(rendered, width, wide=False):
    """What a console of this width prints."""
    if isinstance(rendered, View):
        rendered = terminal.render(rendered.blocks, width, wide)
    console = Console(file=io.StringIO(), width=width, highlight=False)
    console.print(rendered, soft_wrap=True)
    return console.file.getvalue()


def rows_under(lines, column):
    """The rows of the first table with this column, up to a blank line: the cells of each by the
    names of their columns. Figures end where the name of their column ends, texts begin there."""
    place = next(n for n, line in enumerate(lines) if column in _words(line).values())
    names = _words(lines[place])
    table = []
    # Below the names are the units.
    for line in lines[place + 2 :]:
        if not line:
            break
        found = {}
        for (begin, end), cell in _words(line).items():
            name = next(
                (name for (first, last), name in names.items() if first == begin or last == end),
                "",
            )
            found[name] = cell
        table.append(found)
    return table


def cells(lines, column):
    """The cells of a column of the first table that has it."""
    return [row.get(column, "") for row in rows_under(lines, column)]


def _words(line):
    """The cells of a line, which are at least two blanks apart, by where they begin and end."""
    return {match.span(): match[0] for match in re.finditer(r"\S+(?: \S+)*", line)}
