import pytest
from hypothesis import settings

from harness.shell import Shell

# How long an example takes says how busy the machine is, not whether the code is right.
settings.register_profile("halftrip", deadline=None)
settings.load_profile("halftrip")


@pytest.fixture
def shell(tmp_path):
    """Runs halftrip in a directory of its own; in the end none of its processes may be left."""
    shell = Shell(tmp_path)
    yield shell
    assert shell.left_behind() == []
