"""Benchmarks are run by hand, some on machines of their own: their imports are checked here."""

import ast
from importlib import import_module
from importlib.util import find_spec

import pytest

from harness.files import ROOT


@pytest.mark.parametrize("path", sorted((ROOT / "benchmarks").glob("*.py")), ids=lambda p: p.stem)
def test_what_a_benchmark_imports_is_there(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("halftrip"):
            module = import_module(node.module)
            for name in (each.name for each in node.names):
                is_there = hasattr(module, name) or find_spec(f"{node.module}.{name}")
                assert is_there, f"{node.module}.{name}"
