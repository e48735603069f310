"""A page that needs nothing but itself: its head, its style, and the scripts that draw."""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from halftrip import __version__
from halftrip.page.drawing import choice, figure, script_json
from halftrip.plots.chart import Chart
from halftrip.plots.theme import THEMES, config
from halftrip.render import html
from halftrip.render.blocks import Page, View
from halftrip.render.html import escaped
from halftrip.report.document import Document
from halftrip.views.details import in_short

_HERE = Path(__file__).parent
_NO_SCRIPT = "Pictures need JavaScript; what they show is in words below each, and in tables."


def page(made: Page) -> str:
    """A whole page."""
    body = html.body(made, figure, choice(made.charts))
    return _page(made.title, made.line, body, made.charts)


def render(view: View) -> str:
    """A page of a view alone."""
    return _page(view.title or "halftrip", "", html.Writer(figure).write(view.blocks), [])


def of_document(document: Document, brief: bool = True) -> str:
    """A page of a run's rows."""
    return render(in_short(document, brief))


def _page(title: str, line: str, body: str, charts: Sequence[Chart]) -> str:
    """A whole page in HTML: a title, a line below it, and a body that has the figures of these
    charts. It loads nothing, and runs no scripts but its own two."""
    scripts = [bundle(), _file("page.js")] if charts else [_file("page.js")]
    inlined = "\n".join(f'<script type="module">{each}</script>' for each in scripts)
    subtitle = f'<p class="line">{escaped(line)}</p>' if line else ""
    configs = {theme: _config(theme) for theme in THEMES}
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_policy(scripts)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="halftrip {__version__}">
<title>{escaped(title)}</title>
<link rel="icon" href="data:,">
<style>
{_file("page.css")}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header><h1>{escaped(title)}</h1>{subtitle}</header>
<main id="main" tabindex="-1">
{_NOSCRIPT if charts else ""}
{body}
</main>
<footer><p>Made by halftrip {__version__}. This page loads nothing from anywhere.</p></footer>
<script type="application/json" id="configs">{script_json(configs)}</script>
{inlined}
</body>
</html>
"""


_NOSCRIPT = f"<noscript><p>{_NO_SCRIPT}</p></noscript>"


def of_charts(title: str, charts: Sequence[Chart]) -> str:
    """A page with charts only."""
    return _page(title, "", choice(charts) + "\n".join(map(figure, charts)), charts)


def _file(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


def _config(theme: Any) -> dict[str, Any]:
    # What a picture shows stands beside it in words: to name each mark would only be noise.
    return {**config(theme), "aria": False}


def _policy(scripts: Sequence[str]) -> str:
    """The Content-Security-Policy: these scripts alone, and nothing from anywhere."""
    hashes = " ".join(f"'{hash_of(each)}'" for each in scripts)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def hash_of(script: str) -> str:
    """The hash of a script as a policy names it."""
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"


# The script that draws: Vega, Vega-Lite and vega-embed as vl-convert has them. To make it takes
# seconds, so it is kept in the user's cache, under a name with its own hash.

# What page.js uses of it.
_SNIPPET = "window.vegaEmbed = vegaEmbed;"


def bundle() -> str:
    """The text, which begins no comment of HTML and ends no script element."""
    folder = _folder()
    stem = f"vega-{version('vl-convert-python')}"
    found = _kept(folder, stem)
    if found is None:
        import vl_convert

        found = _safe(vl_convert.javascript_bundle(_SNIPPET))
        _keep(folder, stem, found)
    return found


def _safe(text: str) -> str:
    """The same program, without what a page would read as the end of the script; line ends are
    those that a browser makes of all others before it takes the hash of a script."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\\0")
    return re.sub(r"<(?=/script|!--)", r"\\x3c", text, flags=re.IGNORECASE)


def _folder() -> Path:
    named = os.environ.get("XDG_CACHE_HOME")
    return Path(named or os.path.expanduser("~/.cache")) / "halftrip"


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _kept(folder: Path, stem: str) -> str | None:
    """The kept text whose name has its hash; None where there is none, or it is damaged."""
    try:
        for path in folder.glob(f"{stem}-*.js"):
            text = path.read_bytes().decode()
            if path.stem == f"{stem}-{_hash(text)}":
                return text
    except (OSError, ValueError):
        return None
    return None


def _keep(folder: Path, stem: str, text: str) -> None:
    partial = folder / f"{stem}.{os.getpid()}.tmp"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        partial.write_bytes(text.encode())
        partial.replace(folder / f"{stem}-{_hash(text)}.js")
    except OSError:
        # A home that is full or cannot be written costs a few seconds the next time, no report.
        return
