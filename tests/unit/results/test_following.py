"""A run file that is read while it is written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halftrip.results.following import FollowedRun
from halftrip.results.run_file import load
from harness.files import ROOT

FORMATS = ROOT / "tests" / "golden" / "formats"
LINES = (FORMATS / "1.jsonl").read_bytes().splitlines(keepends=True)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("run") / "run.jsonl"


@given(st.lists(st.integers(1, len(LINES)), max_size=5))
def test_what_is_read_in_parts_is_the_run(path, ends):
    followed = FollowedRun(path)
    ends = sorted({1, *ends, len(LINES)})
    for end in ends:
        path.write_bytes(b"".join(LINES[:end]))
        followed.read()
        found = followed.run()
        assert found.end is None
        assert len(found.measurements) == sum(
            line.startswith(b'{"record":"measurement"') for line in LINES[:end]
        )
    whole, found = load(path), followed.run()
    assert found.header == whole.header
    assert found.by_configuration.keys() == whole.by_configuration.keys()
    assert found.environments == whole.environments
    assert found.skips == whole.skips


def test_a_run_that_goes_on_has_no_end(path):
    """That of its first part is in the file."""
    path.write_bytes(b"".join(LINES))
    assert load(path).end is not None
    followed = FollowedRun(path)
    followed.read()
    assert followed.run().end is None
