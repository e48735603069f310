"""``halftrip run --baseline``: the exit status, what is said, and what is refused beforehand."""

import pytest

from halftrip.results.run_file import load

MODEL = ("-t", "simulated", "-s", "8,64K", "--time", "50ms")


@pytest.fixture
def base(shell):
    """A run of a path of 2 us."""
    (shell.directory / "path.toml").write_text('[simulated]\nlatency = "2us"\n')
    (shell.directory / "slow.toml").write_text('[simulated]\nlatency = "3us"\n')
    result = shell.run("path.toml", *MODEL)
    assert result.status == 0, result.err
    return result.path.rename(shell.directory / "base.jsonl")


def test_a_run_is_judged_by_an_earlier_one(shell, base):
    result = shell.run("path.toml", *MODEL, "--baseline", base.name)
    assert result.status == 0, result.err
    assert "as expected: 2 rows against base.jsonl, within 10 %" in result.out
    result.path.unlink()
    result = shell.run("slow.toml", *MODEL, "--baseline", base.name, "--tolerance", "20%")
    assert result.status == 1
    assert "falls short: rank 0 to rank 1: simulated pingpong 8 latency 3.0" in result.out
    assert load(result.path).header.plan["baseline"] == base.name
    assert result.show("--baseline", base.name).status == 1
    assert result.show("--baseline", base.name, "--tolerance", "90%").status == 0
    assert result.show().status == 0


def test_a_baseline_that_lacks_something_is_refused_before_anything_runs(shell, base):
    result = shell.run("path.toml", "-t", "simulated", "-s", "8,1K", "--baseline", base.name)
    assert result.status == 2
    assert result.err == (
        "halftrip: --baseline: base.jsonl has no simulated pingpong 1K; measure the same as there\n"
    )
    assert not result.path.exists()
