import pytest

from harness.kernel import Kernel


@pytest.fixture
def kernel(tmp_path):
    """A kernel that shows what most do."""
    return Kernel(tmp_path)


@pytest.fixture
def bare_kernel(tmp_path):
    """A kernel that shows nothing."""
    return Kernel(tmp_path, {})
