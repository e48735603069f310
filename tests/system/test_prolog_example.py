"""The script for a scheduler in docs/measuring.md does what it says."""

import shutil
import stat

import pytest

from halftrip.results.records import LostHost
from harness import runs
from harness.files import ROOT
from harness.need import need
from harness.shell import HALFTRIP

PAGE = ROOT / "docs" / "measuring.md"


def script():
    """The lines of the page's only script."""
    after = PAGE.read_text().partition("    #!/bin/bash\n")[2]
    block = after.partition("\n\n")[0]
    return "#!/bin/bash\n" + "".join(f"{line[4:]}\n" for line in block.splitlines())


@pytest.fixture
def programs(shell, monkeypatch):
    """A scontrol that writes down its arguments, and a halftrip that judges an existing run in
    place of a new one."""
    need(shutil.which("jq") is not None, "jq is not installed; see CONTRIBUTING.md")
    directory = shell.directory / "bin"
    directory.mkdir()
    said = shell.directory / "said"
    show = f"{HALFTRIP} show run.jsonl --format nodes --expect latency=20us"
    for name, content in (
        ("scontrol", f'printf "%s\\n" "$@" > {said}\n'),
        ("halftrip", f'[ "$2$3" = "--hostsn[0-2]" ] && exec {show}\n'),
    ):
        program = directory / name
        program.write_text(f"#!/bin/bash\n{content}")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setitem(shell.environment, "PATH", f"{directory}:{shell.environment['PATH']}")
    monkeypatch.setitem(shell.environment, "SLURM_JOB_NODELIST", "n[0-2]")
    monkeypatch.setitem(shell.environment, "SLURM_JOB_ID", "7")
    return said


@pytest.mark.parametrize("slow", [None, 1])
def test_the_nodes_that_fall_short_are_drained(shell, programs, slow):
    pairs = [(0, 1), (0, 2), (1, 2)]
    found = [
        runs.measurement(
            "tcp", 8, "block", half_ns=20_000.0 * (2 if slow in pair else 1), pair=pair,
            slice=slice_, seed=slice_,
        )
        for pair in pairs
        for slice_ in range(8)
    ]  # fmt: skip
    hosts = tuple(runs.environment(rank, host=f"n{rank}") for rank in range(3))
    runs.save(runs.run(*found, environments=hosts), shell.path)
    (shell.directory / "prolog").write_text(script())
    result = shell.execute("bash", "prolog")
    assert result.err == ""
    if slow is None:
        assert result.status == 0
        assert not programs.exists()
    else:
        assert result.status == 1
        assert programs.read_text().splitlines() == [
            "update", f"NodeName=n{slow}", "State=DRAIN", "Reason=halftrip: network",
        ]  # fmt: skip


def test_a_node_that_was_lost_is_drained(shell, programs):
    found = [
        runs.measurement("tcp", 8, "block", half_ns=20_000.0, slice=n, seed=n) for n in range(8)
    ]
    hosts = tuple(runs.environment(rank, host=f"n{rank}") for rank in range(2))
    lost = (LostHost(host="n2", ranks=[2], reason="ssh to n2 ended with status 255"),)
    runs.save(runs.run(*found, environments=hosts, lost=lost), shell.path)
    (shell.directory / "prolog").write_text(script())
    result = shell.execute("bash", "prolog")
    assert result.status == 1
    assert "NodeName=n2" in programs.read_text().splitlines()


def test_where_nothing_could_be_measured_it_fails(shell, programs):
    (shell.directory / "prolog").write_text(script())
    result = shell.execute("bash", "prolog")
    assert result.status == 1
    assert result.err == "halftrip: run.jsonl: no such file or directory\n"
    assert not programs.exists()
