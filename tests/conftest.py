import tempfile

import pytest
from hypothesis import settings

from harness.shell import Shell, orphaned_since, shared_memory

# How long an example takes says how busy the machine is, not whether the code is right.
settings.register_profile("halftrip", deadline=None)
settings.load_profile("halftrip")


@pytest.fixture
def shell(tmp_path):
    """Runs halftrip in a directory of its own; in the end none of its processes may be left, nor
    shared memory that nobody maps."""
    before = shared_memory()
    # Its name is short: sockets have longer ones in it.
    with tempfile.TemporaryDirectory(prefix="ht-") as temporary:
        shell = Shell(tmp_path, temporary)
        yield shell
        assert shell.left_behind() == []
    assert orphaned_since(before) == set()
