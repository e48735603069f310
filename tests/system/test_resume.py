"""A run that was interrupted is gone on with, and rows are measured again, in the same file."""

import json

import pytest

from halftrip.results.reading import decode
from halftrip.results.run_file import load


def counted(run, launch):
    """How many iterations each configuration has in a launch."""
    found = {}
    for each in run.measurements:
        if each.launch == launch:
            iterations = each.samples.size * each.iterations
            found[each.configuration] = found.get(each.configuration, 0) + iterations
    return found


PARTS = """\
transport = "shm,pipe"
slices = 4

[[part]]
sizes = "8,64"
iterations = 20

[[part]]
pattern = "stream"
sizes = "64"
window = 16
iterations = 6
"""


@pytest.mark.extended
def test_what_a_plan_with_parts_lacks_is_measured_as_its_parts_say(shell):
    """The file has the parts: neither the rest of a run nor a row again needs the plan."""
    (shell.directory / "plan.toml").write_text(PARTS)
    shell.measure("plan.toml", "-t", "pipe", "--warmup", "2")
    parts = load(shell.path).header.plan["part"]
    assert [(part.get("transport"), part["iterations"]) for part in parts] == [
        (None, 20), (None, 6),
    ]  # fmt: skip
    lines = shell.path.read_bytes().splitlines(keepends=True)
    # As if it had been killed before the last two measurements.
    measured = [line for line in lines if line.startswith(b'{"record":"measurement"')]
    rest = set(measured[-2:])
    shell.path.write_bytes(
        b"".join(line for line in lines if line not in rest and b'"record":"end"' not in line)
    )
    lacking = {decode(line).configuration for line in rest}

    result = shell.halftrip("run", "--resume", shell.path, "-q")
    assert result.status == 0, result.err
    assert counted(result.run, 1) == {
        configuration: 20 if configuration.pattern == "pingpong" else 6 for configuration in lacking
    }

    again = shell.halftrip("run", "--resume", shell.path, "--again", "caution,no", "-q")
    assert again.status == 0, again.err
    numbers = {(each.pattern, each.size): n for each, n in counted(again.run, 2).items()}
    assert numbers.items() <= {("pingpong", 8): 20, ("pingpong", 64): 20, ("stream", 64): 6}.items()


def test_mistakes_are_one_line_and_change_no_file(shell):
    assert shell.run("-t", "shm", "-s", "8", "--time", "1ms").status == 0
    whole = shell.path.read_bytes()
    lines = whole.splitlines(keepends=True)
    header = json.loads(lines[0])
    # The machine has fewer cores than when the run began; without its end it was interrupted.
    header["plan"]["cores"] = [900, 901]
    smaller = json.dumps(header).encode() + b"\n" + b"".join(lines[1:-1])
    for content, arguments, said in (
        (whole, (), "the run is complete, and no row of it has failed, or is one of --again's"),
        (whole, ("-s", "8"), "--sizes: --resume takes the plan of run.jsonl"),
        (whole, ("plan.toml",), "plan.toml: --resume takes the plan of run.jsonl"),
        (whole, ("--max-duration", "soon"), "--max-duration: 'soon' is not"),
        (whole, ("--again", "slow"), "'slow' is not known; allowed: caution, no, above-bound"),
        (smaller, (), "900"),
    ):
        shell.path.write_bytes(content)
        result = shell.call("run", *arguments, "--resume", "run.jsonl")
        assert result.status == 2
        assert result.err.count("\n") == 1
        assert said in result.err
        assert shell.path.read_bytes() == content
