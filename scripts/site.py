"""Makes the documentation site of the repository's own Markdown files: SITE/1.0 and so on, a folder
for each version, beside a page that leads to the newest and lists the others.

Within a version the files are at their paths in the repository, so a relative link leads to the
same place on the repository's host and in the site. Versions that are in SITE already stay there.

Usage: site.py SITE
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from halftrip import __version__

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT = Path(__file__).parents[1]
VERSION = ".".join(__version__.split(".")[:2])
START = "README"
NAVIGATION = {
    "Installing": "docs/installing",
    "Measuring": "docs/measuring",
    "Reading the results": "docs/reading",
    "Pictures": "docs/pictures",
    "Why a curve bends": "docs/causes",
    "A page about a run": "docs/report",
    "What changed": "docs/comparing",
    "A gate in CI": "docs/ci",
    "Models of the curve": "docs/models",
    "LogGP, NetPIPE, max-rate": "docs/loggp",
    "How halftrip measures": "docs/method",
    "One-way times": "docs/one-way",
    "Other tools": "docs/other-tools",
    "Exporting": "docs/exporting",
    "Simulating a larger network": "docs/simgrid",
    "Memory and devices": "docs/memory",
    "Python": "docs/python",
    "Dragon": "docs/dragon",
    "Words": "docs/words",
    "Options": "docs/options",
    "Flags": "docs/flags",
    "Resource usage": "docs/usage",
    "Run file": "docs/run-file",
    "Security": "docs/security",
    "Slurm": "docs/slurm",
    "Lab": "docs/lab",
    "Benchmarks": "benchmarks/README",
    "Dependencies": "docs/dependencies",
    "Contributing": "CONTRIBUTING",
    "Reporting what is not safe": "SECURITY",
    "Changelog": "CHANGELOG",
}
CONFIGURATION = {
    "project": "halftrip",
    "release": VERSION,
    "html_title": f"halftrip {VERSION}",
    "extensions": ["myst_parser"],
    "root_doc": START,
    "include_patterns": [f"{page}.md" for page in (START, *NAVIGATION.values())],
    "exclude_patterns": [".*", "build", "native", "packaging", "src", "tests"],
    # Anchors as hosts of repositories make them.
    "myst_heading_anchors": 6,
    # Two dashes begin an option.
    "smartquotes": False,
    "highlight_language": "text",
    "html_theme": "furo",
    "html_static_path": [str(ROOT / "scripts" / "site.css")],
    "html_css_files": ["site.css"],
    "html_use_index": False,
    "html_copy_source": False,
    "html_show_sphinx": False,
    "html_show_copyright": False,
}
NEWEST = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>halftrip</title>
<meta http-equiv="refresh" content="0; url={}/README.html">
<p>Versions: {}.
"""


def add_navigation(_: Sphinx, name: str, source: list[str]) -> None:
    """The tree of pages, at the end of the first."""
    if name == START:
        entries = "\n".join(f"{title} <{page}>" for title, page in NAVIGATION.items())
        source[0] += f"\n```{{toctree}}\n:hidden:\n\n{entries}\n```\n"


def write_versions(site: Path) -> None:
    """The page that leads to the newest version and lists all, the newest first."""
    versions = [each.name for each in site.iterdir() if re.fullmatch(r"\d+\.\d+", each.name)]
    versions.sort(key=lambda name: [int(part) for part in name.split(".")], reverse=True)
    links = ", ".join(f'<a href="{name}/README.html">{name}</a>' for name in versions)
    (site / "index.html").write_text(NEWEST.format(versions[0], links))


def main(site: Path) -> int:
    """Returns the exit status: not 0 after a warning, as of a link that leads nowhere."""
    # Not above: tests read the names of the pages where Sphinx is not installed.
    from sphinx import application

    made = site / VERSION
    shutil.rmtree(made, ignore_errors=True)
    with TemporaryDirectory() as doctrees:
        app = application.Sphinx(
            ROOT, None, made, doctrees, "html", CONFIGURATION, status=None, warningiserror=True
        )
        app.connect("source-read", add_navigation)
        app.build()
    write_versions(site)
    return app.statuscode


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
