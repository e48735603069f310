"""Runs pytest with another build of the native module: run_with_module.py MODULE ARGUMENTS..."""

import importlib.util
import sys

import pytest

NAME = "halftrip._native"

specification = importlib.util.spec_from_file_location(NAME, sys.argv[1])
sys.modules[NAME] = importlib.util.module_from_spec(specification)
specification.loader.exec_module(sys.modules[NAME])

from halftrip import _native  # noqa: E402 (the module has to be there first)

assert _native.__file__ == sys.argv[1]
sys.exit(pytest.main(sys.argv[2:]))
