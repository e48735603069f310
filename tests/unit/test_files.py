"""Files that appear as a whole, wherever they are written."""

import pytest

from halftrip.export import writing as exports
from halftrip.plots import writing as pictures


@pytest.mark.parametrize(
    "write",
    [lambda path, content: exports.write({path: content}, force=True), pictures.write],
    ids=["export", "plot"],
)
def test_a_link_stays_and_what_it_leads_to_is_replaced(tmp_path, write):
    there = tmp_path / "there"
    there.mkdir()
    (there / "a.svg").write_bytes(b"old")
    link = tmp_path / "a.svg"
    link.symlink_to(there / "a.svg")
    write(str(link), b"new")
    assert link.is_symlink()
    assert (there / "a.svg").read_bytes() == b"new"
    assert [path.name for path in tmp_path.rglob("*.tmp")] == []
