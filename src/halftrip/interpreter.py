"""How halftrip starts Python again, and what installs what a Python lacks."""

from __future__ import annotations

import shlex
import sys
from urllib.parse import unquote, urlsplit

# Runs a module that follows. With -P nothing is imported from the working directory, in which
# anybody may have put a module.
RUN_MODULE = (sys.executable, "-P", "-m")


def install_command(extra: str) -> str:
    """The command that installs an extra of halftrip: of its directory, where it was installed from
    one (PEP 610), as no index then needs to have it."""
    # These take a while.
    import json
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        said = distribution("halftrip").read_text("direct_url.json")
        found = json.loads(said) if said else {}
    except (PackageNotFoundError, ValueError):
        found = {}
    url = urlsplit(found.get("url", ""))
    if url.scheme != "file":
        return f"pip install 'halftrip[{extra}]'"
    editable = "--editable " if found.get("dir_info", {}).get("editable") else ""
    return f"pip install {editable}{shlex.quote(f'{unquote(url.path)}[{extra}]')}"
