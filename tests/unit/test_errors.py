"""What is short, where an error says so."""

import errno
import resource

import pytest

from halftrip.errors import shortage

NO_REASON = SystemError("error return without exception set")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (MemoryError(), "no memory is left"),
        (OSError(errno.EMFILE, "Too many open files", "/dev/null"), "too many open files: raise "),
        (OSError(errno.ENOENT, "No such file or directory"), None),
        (FileNotFoundError(errno.ENOENT, "No such file", "/dev/null"), "/dev/null: no such file; "),
        (RuntimeError("can't start new thread"), "no more threads can be started"),
        (RuntimeError("anything else"), None),
        (ImportError("x.so: failed to map segment from shared object"), "no memory is left"),
        (SystemError("anything else"), None),
        (ValueError(), None),
    ],
)
def test_a_shortage_is_told_from_a_defect(monkeypatch, error, said):
    found = shortage(error)
    assert found == said or (said is not None and found.startswith(said))
    # An error without a reason is a shortage where memory is limited.
    for limit, of_limit in ((resource.RLIM_INFINITY, None), (1 << 27, "no memory is left")):
        monkeypatch.setattr(resource, "getrlimit", lambda _, limit=limit: (limit, limit))
        assert shortage(NO_REASON) == of_limit
