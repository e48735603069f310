"""Prints a picture of the first screen of a run as SVG, which refers to no other file or host.

python scripts/terminal_picture.py RUN.jsonl > docs/terminal.svg
"""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console

from halftrip.render import terminal
from halftrip.report.document import document
from halftrip.results.run_file import load
from halftrip.views.screen import first_screen

# Columns of the terminal: what has no room is left out.
WIDTH = 92
FONTS = "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace"


def svg_format() -> str:
    """rich's template without the fonts that it would fetch, and without its name and address."""
    plain = re.sub(r"\n *@font-face \{\{.*?\}\}", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    plain = re.sub(r"\n *<!--.*?-->", "", plain, flags=re.DOTALL)
    return plain.replace("Fira Code, monospace", FONTS).replace("arial", "sans-serif")


def picture(path: str) -> str:
    """The picture of the run in the file `path`."""
    console = Console(record=True, file=io.StringIO(), width=WIDTH, highlight=False)
    console.print("$ halftrip run", style="bold")
    view = first_screen(document(load(path), flags=False), Path(path).name)
    console.print(terminal.render(view.blocks, WIDTH))
    svg = console.export_svg(title="halftrip", code_format=svg_format(), unique_id="screen")
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"


if __name__ == "__main__":
    print(picture(sys.argv[1]), end="")
