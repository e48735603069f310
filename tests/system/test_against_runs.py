"""An earlier run's configurations measured again, base and new in turn, by real ranks."""

import re

import pytest

from halftrip.results.run_file import load
from harness.shell import HALFTRIP, opened_shell

BASE = ("-t", "shm", "-s", "8,64", "--time", "10ms", "-r", "2", "--ci", "none")
QUICK = ("--launches", "2", "--time", "10ms", "-r", "2")
VARIABLE = "MY_SETTING"
# By chance, something that was measured so briefly may be slower.
MEASURED = {0, 1}


@pytest.fixture(scope="module")
def measured_base(tmp_path_factory):
    with opened_shell(tmp_path_factory.mktemp("base")) as shell:
        result = shell.measure("-q", *BASE)
        return result.path.read_bytes()


@pytest.fixture
def base(shell, measured_base):
    """The file of a base's run, of the directory of the command."""
    (shell.directory / "base.jsonl").write_bytes(measured_base)
    return "base.jsonl"


@pytest.mark.extended
def test_base_and_new_are_measured_in_turn(shell, base):
    result = shell.run("--against", base, *QUICK, "--base-env", f"{VARIABLE}=old")
    assert result.status in MEASURED
    assert result.err == ""
    run = result.run
    sides = run.sides
    assert sides.against == {"file": base, "env": [[VARIABLE, "old"]]}
    assert run.base_file == base
    assert {e.variables.get(VARIABLE) for e in sides.base.environments} == {"old"}
    assert {e.variables.get(VARIABLE) for e in sides.new.environments} == {None}
    known = load(shell.directory / base).by_configuration.keys()
    assert sides.base.by_configuration.keys() == sides.new.by_configuration.keys() == known
    for side in (sides.base, sides.new):
        assert sorted(sides.rounds[launch.number] for launch in side.launches) == [0, 1]
    assert f"base: {base}, measured again with {VARIABLE}=old" in result.out
    # Where the cores moved meanwhile, a row may have a launch of each side in the same state.
    said = (
        r"The runs have 2 launches each, in turn: |(near|far|middle) in 1 launch of 2"
        r"|not counted: launches in another state"
    )
    assert re.search(said, result.out)
    assert f"differs: {VARIABLE}: old -> not set" in result.out
    again = shell.call("compare", "run.jsonl")
    assert again.status == result.status
    assert again.out in result.out

    # What was cut off is measured on its side.
    content = shell.path.read_bytes().splitlines(keepends=True)
    begun = [n for n, line in enumerate(content) if line.startswith(b'{"record":"launch"')]
    shell.path.write_bytes(b"".join(content[: begun[2] + 2]))
    again = shell.halftrip("run", "--resume", shell.path)
    assert again.status in MEASURED
    assert again.err == ""
    sides = load(shell.path).sides
    for side, value in ((sides.base, "old"), (sides.new, None)):
        assert {e.variables.get(VARIABLE) for e in side.environments} == {value}
        assert {sides.rounds[m.launch] for m in side.measurements} == {0, 1}


@pytest.mark.extended
def test_another_installation_measures_the_launches_of_the_base(shell, base):
    script = f'#!/bin/bash\necho "$*" >> calls\nexec "{HALFTRIP}" "$@"\n'
    command = shell.script("old halftrip", script)
    result = shell.run("--against", base, *QUICK, "--base-command", command)
    assert result.status in MEASURED
    assert result.err == ""
    calls = (shell.directory / "calls").read_text().splitlines()
    assert len(calls) == 2
    assert all(re.fullmatch(r"run .+/plan\.toml -o .+/run\.jsonl", call) for call in calls)
    run = result.run
    assert run.problems == ()
    sides = run.sides
    assert sides.base.by_configuration.keys() == sides.new.by_configuration.keys()
    assert all(e.halftrip == run.header.halftrip for e in sides.base.environments)
    assert {e.halftrip for e in sides.new.environments} == {None}
    assert max(len(found) for found in sides.base.by_configuration.values()) == 4
