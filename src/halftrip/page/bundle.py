"""The JavaScript that draws, in one text: Vega, Vega-Lite and vega-embed as vl-convert has them.

To make it takes seconds, so it is kept in the user's cache, under a name with its own hash.
"""

from __future__ import annotations

import hashlib
import os
import re
from importlib.metadata import version
from pathlib import Path

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
