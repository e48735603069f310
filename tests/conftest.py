import pytest

from harness.shell import Shell


@pytest.fixture
def shell(tmp_path):
    """Runs halftrip in a directory of its own; in the end none of its processes may be left."""
    shell = Shell(tmp_path)
    yield shell
    assert shell.left_behind() == []
