"""What keeps a process from devices of verbs."""

import resource

import pytest

from halftrip.telemetry.verbs import obstacles


@pytest.mark.parametrize(
    ("device", "opens", "limit", "words"),
    [
        (None, False, 64 << 10, []),
        ("rdma_cm", False, 64 << 10, []),
        ("uverbs0", True, resource.RLIM_INFINITY, []),
        ("uverbs0", False, resource.RLIM_INFINITY, ["uverbs0 may not be opened"]),
        ("uverbs0", True, 64 << 10, ["no more than 64 KiB"]),
        ("uverbs0", False, 64 << 10, ["uverbs0 may not be opened", "no more than 64 KiB"]),
    ],
)
def test_a_line_for_each_obstacle(tmp_path, monkeypatch, device, opens, limit, words):
    if device:
        (tmp_path / device).touch()
    monkeypatch.setattr("os.access", lambda path, mode: opens)
    monkeypatch.setattr("resource.getrlimit", lambda kind: (limit, limit))
    found = obstacles(tmp_path)
    assert len(found) == len(words)
    assert all(word in line for word, line in zip(words, found, strict=True))
