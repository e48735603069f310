"""Writes what is made of the tables of options, settings and figures, or printed by views of a run:
the schema, docs/options.md, docs/flags.md and the golden files of the present format. ``make
golden`` calls it.
"""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

import causes_page
import flags_page
import json_schema
import options_page

from golden.formats import write
from halftrip.cli.show import ShowRequest, show_runs
from halftrip.registry import EXTRA_SETTINGS
from halftrip.results.reading import FORMAT

ROOT = Path(__file__).parents[1]
GOLDEN = ROOT / "tests" / "golden" / "formats"
# What ``show`` prints of the run file of the present format, by the ending of the file that has it.
SHOWN = {
    ".txt": ShowRequest(wide=True),
    ".csv": ShowRequest(format="csv"),
    **{
        f".{view}.txt": ShowRequest(views=[view], wide=True)
        for view in ("flags", "cost", "system-log")
    },
}


def shown(suffix: str) -> str:
    """The contents of a golden file."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        show_runs([str(GOLDEN / f"{FORMAT}.jsonl")], SHOWN[suffix])
    return printed.getvalue()


def main() -> None:
    if names := ", ".join(EXTRA_SETTINGS):
        raise SystemExit(f"it would have settings of other packages, installed here: {names}")
    write.main()
    (ROOT / "docs/schema" / f"halftrip-{FORMAT}.schema.json").write_text(json_schema.text())
    (ROOT / "docs/options.md").write_text(options_page.page())
    (ROOT / "docs/flags.md").write_text(flags_page.page())
    causes = ROOT / "docs/causes.md"
    causes.write_text(causes_page.page(causes.read_text()))
    for suffix in SHOWN:
        (GOLDEN / f"{FORMAT}{suffix}").write_text(shown(suffix))


if __name__ == "__main__":
    main()
