import os

import pytest

from harness.kernel import Kernel


@pytest.fixture
def kernel(tmp_path):
    """A kernel with the files that most have."""
    return Kernel(tmp_path)


@pytest.fixture
def bare_kernel(tmp_path):
    """A kernel without any file."""
    return Kernel(tmp_path, {})


@pytest.fixture
def allowed(monkeypatch):
    """This process may use two cores."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
