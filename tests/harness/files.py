"""The files of this repository that are no part of the package."""

import importlib.util
import os
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
# Run files of every kind of run, of the present format.
RUN_FILES = sorted((ROOT / "tests" / "golden" / "formats").glob("*.jsonl"))


def golden(name, shown):
    """The text of tests/golden/NAME; ``make golden``, by WRITE_GOLDEN, writes what is shown now."""
    path = ROOT / "tests" / "golden" / name
    if os.environ.get("WRITE_GOLDEN"):
        path.write_text(shown)
    return path.read_text()


def module(path):
    """Imports a Python file by its path from the root of the repository, and what it imports from
    its own directory."""
    name = f"file_{path.replace('/', '_').removesuffix('.py')}"
    specification = importlib.util.spec_from_file_location(name, ROOT / path)
    made = importlib.util.module_from_spec(specification)
    sys.modules[name] = made
    sys.path.insert(0, str((ROOT / path).parent))
    try:
        specification.loader.exec_module(made)
    finally:
        sys.path.pop(0)
    return made
