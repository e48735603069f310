"""What a style prints of a run."""

import io

from rich.console import Console

from halftrip.report.document import document


def printed(style, run, round_trips=False, width=400):
    """The lines that a style prints of a run, without blanks at their ends."""
    return text(style, run, round_trips, width).splitlines()


def text(style, run, round_trips=False, width=400):
    """What a style prints of a run, without blanks at the ends of lines."""
    rendered = style(document(run, round_trips))
    if isinstance(rendered, str):
        return rendered
    return "".join(f"{line.rstrip()}\n" for line in text_of(rendered, width).splitlines())


def text_of(rendered, width):
    """What a console of this width prints."""
    console = Console(file=io.StringIO(), width=width, highlight=False)
    console.print(rendered)
    return console.file.getvalue()


def cells(lines, column):
    """The cells of a column of the first table, by its heading; right-aligned figures end under
    the end of that."""
    heading = next(line for line in lines if column in line)
    end = heading.index(column) + len(column)
    begin = len(lines[: lines.index(heading)]) + 3
    table = []
    for line in lines[begin:]:
        if not line:
            break
        table.append(line[:end].split()[-1] if line[:end].strip() else "")
    return table
