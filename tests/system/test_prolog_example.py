"""The script for a scheduler in docs/measuring.md does what it says."""

import shutil

import pytest

from halftrip.results.records import LostHost
from harness import runs
from harness.files import ROOT
from harness.need import need
from harness.shell import HALFTRIP


@pytest.fixture
def drained(shell):
    """Runs the page's only script, with a halftrip that judges an existing run in place of a new
    one, and a scontrol that writes down its arguments: the result, and these."""
    need(shutil.which("jq") is not None, "jq is not installed; see CONTRIBUTING.md")
    after = (ROOT / "docs" / "measuring.md").read_text().partition("    #!/bin/bash\n")[2]
    lines = after.partition("\n\n")[0].splitlines()
    (shell.directory / "prolog").write_text("".join(f"{line[4:]}\n" for line in lines))
    directory = shell.directory / "bin"
    directory.mkdir()
    said = shell.directory / "said"
    show = f"'{HALFTRIP}' show run.jsonl --format nodes --expect latency=20us"
    for name, content in (
        ("scontrol", f'printf "%s\\n" "$@" >"{said}"\n'),
        ("halftrip", f'[ "$2$3" = "--hostsn[0-2]" ] && exec {show}\n'),
    ):
        shell.script(f"bin/{name}", f"#!/bin/bash\n{content}")
    job = {"SLURM_JOB_NODELIST": "n[0-2]", "SLURM_JOB_ID": "7"}

    def run():
        path = f"{directory}:{shell.environment['PATH']}"
        result = shell.execute("bash", "prolog", environment=job | {"PATH": path})
        return result, said.read_text().splitlines() if said.exists() else None

    return run


@pytest.mark.parametrize("wrong", [None, "slow", "lost"])
def test_the_nodes_that_fall_short_are_drained(shell, drained, wrong):
    hosts = ["n0", "n1"] if wrong == "lost" else ["n0", "n1", "n2"]
    gone = (LostHost(host="n2", ranks=[2], reason="ssh to n2 ended with status 255"),)
    lost = gone if wrong == "lost" else ()
    slow = ["n1"] if wrong == "slow" else []
    runs.save(runs.between_hosts(hosts, slow, lost=lost), shell.path)
    result, said = drained()
    assert result.err == ""
    if wrong is None:
        assert (result.status, said) == (0, None)
    else:
        node = {"slow": "n1", "lost": "n2"}[wrong]
        assert result.status == 1
        assert said == [
            "update", f"NodeName={node}", "State=DRAIN", "Reason=halftrip: network",
        ]  # fmt: skip


def test_where_nothing_could_be_measured_it_fails(drained):
    result, said = drained()
    assert (result.status, said) == (1, None)
    assert result.err == "halftrip: run.jsonl: no such file or directory\n"
