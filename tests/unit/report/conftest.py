import pytest


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where run files may be written that no other test reads."""
    return tmp_path_factory.mktemp("runs")
