"""What a test needs of the machine, and what to do where that is missing."""

import os

import pytest


def need(has: bool, what: str) -> None:
    """Skips the test where something is missing, with the reason; fails where tests must run."""
    if not has:
        assert "CI" not in os.environ, what
        pytest.skip(what)


def need_root(what: str) -> None:
    need(os.geteuid() == 0, f"{what} needs root")
