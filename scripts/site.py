"""Makes the documentation site of the repository's own Markdown files: a hook of mkdocs.yml.

The site has the files at their paths in the repository, so a relative link leads to the same place
on the repository's host and in the site.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "benchmarks/README.md")
FENCE = re.compile(r" *(```|~~~)")
ITEM = re.compile(r"(?:[-*]|\d+\.) +")


def on_files(files: Files, config: Any) -> Files:
    """The files of docs/ and the other pages, by their paths in the repository."""
    docs = Path(config.docs_dir)
    for file in list(files):
        if file.src_dir == config.docs_dir:
            files.remove(file)
    paths = sorted(path.relative_to(ROOT) for path in docs.rglob("*") if path.is_file())
    for path in (*PAGES, *map(str, paths)):
        files.append(File(path, str(ROOT), config.site_dir, config.use_directory_urls))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Indents what belongs to an item of a list as Python-Markdown wants it: by four columns, where
    CommonMark has as many as the item's mark; and puts an empty line before each list."""
    made: list[str] = []
    starts: list[int] = []
    fenced = False
    for line in markdown.splitlines():
        text = line.lstrip(" ")
        indent = len(line) - len(text)
        if text and not fenced:
            while starts and indent < starts[-1]:
                starts.pop()
        inner = indent - (starts[-1] if starts else 0)
        item = None if fenced or inner >= 4 else ITEM.match(text)
        if FENCE.match(line):
            fenced = not fenced
        before = made[-1].lstrip(" ") if made else ""
        if item and before and not ITEM.match(before) and not starts:
            made.append("")
        made.append(" " * (4 * len(starts) + inner) + text if text else "")
        if item:
            starts.append(indent + item.end())
    return "\n".join(made)
