import hypothesis
import pytest

from harness.shell import Shell

# How long an example takes says what else the machine is doing.
hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")


@pytest.fixture
def shell(tmp_path):
    """Runs halftrip in a directory of its own; in the end none of its processes may be left."""
    shell = Shell(tmp_path)
    yield shell
    assert shell.left_behind() == []
