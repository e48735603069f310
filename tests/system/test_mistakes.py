"""What a person asks for wrongly: one line that says what is wrong and where, exit status 2."""

import re

import pytest

from halftrip.cli.help import EXAMPLES
from halftrip.plan.options import GROUPS

MISTAKES = [
    (("run", "--szes", "8"), "--szes: no such option; did you mean --sizes?"),
    (("run", "--no-systemlog"), "--no-systemlog: no such option; did you mean --no-system-log?"),
    (("run", "-z"), "-z: no such option; halftrip run --help"),
    (("run", "-s"), "-s: its value is missing; halftrip run --help"),
    (("run", "which-link"), "--pairs across: all ranks are on one host; --hosts a,b names several"),
    (
        ("run", "-t", "dragon", "--dragon", "no-such-dragon -s"),
        "--dragon: 'no-such-dragon -s' is not a program that can be run",
    ),
    (("run", "wrong.toml"), "wrong.toml: szes: no such key; did you mean sizes?"),
    (("run", "-o", "there.jsonl"), "there.jsonl: exists already; choose another name"),
    (("run", "-o", "nowhere/run.jsonl"), "nowhere/run.jsonl: cannot be written"),
    (("run", "-o", "/dev/full"), "/dev/full: exists already"),
    (("run", "--resume", "none.jsonl"), "none.jsonl: no such file or directory"),
    (("run", "--again", "drift"), "--again: only with --resume, which names the run file"),
    (("run", "--resume", "a", "--against", "a"), "--resume takes what --against said"),
    (("run", "--baseline", "wrong.toml"), "wrong.toml: not a run file of halftrip"),
    (("run", "--vary", "mpiexec=nor,this"), "mpiexec this: --mpiexec: 'this' is not a program"),
    (("run", "--base-mpiexec", "a"), "--base-mpiexec: only with --against"),
    (("show", "there.jsonl", "--format", "poem"), "--format: 'poem' is not known; allowed: table"),
    (("show", "-s", "1K.."), "--sizes: '1K..' has one end only; write 8 or 1K..1M"),
    (("show", "--pair", "all"), "--pair: 'all' is not known; write pairs as 0-3,1-2"),
    (("show",), "no run file (halftrip-*.jsonl) in this directory; name one"),
    (("doctor", "--load", "long"), "--load: 'long' is not a time; write 0.3s, 300ms, 2min or"),
    (("fly",), "fly: no such command; allowed: run, show, doctor"),
    (("agnet",), "import, export, serve, help, recipes, completion\n"),
    (("loggp",), "loggp: no such command; it is a recipe: halftrip run loggp"),
]


def check_one_line(shell, make, arguments, said):
    (shell.directory / "wrong.toml").write_text('szes = "8"\n')
    (shell.directory / "there.jsonl").write_text("")
    before = set(shell.directory.iterdir())
    result = make(*arguments)
    assert (result.status, result.out) == (2, "")
    assert result.err.startswith("halftrip: ")
    assert result.err.count("\n") == 1
    assert said in result.err
    assert (shell.directory / "there.jsonl").read_text() == ""
    assert set(shell.directory.iterdir()) == before


@pytest.mark.parametrize(("arguments", "said"), MISTAKES)
def test_a_mistake_is_one_line(shell, arguments, said):
    check_one_line(shell, shell.call, arguments, said)


def test_a_mistake_that_a_rank_finds_is_one_line(shell):
    work = ("run", "-t", "shm", "--cores", "0,4096")
    check_one_line(shell, shell.halftrip, work, "--cores: there is no core 4096")


@pytest.mark.parametrize("arguments", [(), ("-h",), ("run", "--help"), ("help",), ("help", "run")])
def test_help_is_no_mistake(shell, arguments):
    result = shell.call(*arguments)
    assert (result.status, result.err) == (0, "")
    # Alone, it names what most people want.
    assert ("Usage:" if arguments else "halftrip run ") in result.out
    assert max(len(line) for line in result.out.splitlines()) <= 80
    if "run" in arguments:
        titles = [*GROUPS.values(), "Examples"]
        found = [line[:-1] for line in result.out.splitlines() if line[:-1] in titles]
        assert found == titles
        assert len(EXAMPLES) == 5


def test_the_command_has_a_version(shell):
    result = shell.halftrip("--version")
    assert (result.status, result.err) == (0, "")
    assert result.out.startswith("halftrip ")


def test_a_report_of_a_bug_has_what_is_installed(shell):
    shell.environment |= {"HALFTRIP_SECRET": "not for a report", "HALFTRIP_CONFIG": ""}
    result = shell.call("--version", "--verbose")
    assert "not for a report" not in result.out
    assert "\nHALFTRIP_CONFIG=''\n" in result.out
    assert (result.status, result.err) == (0, "")
    for said in ("python", "system", "installed", "native module", "needs: click", "mpi: mpi4py"):
        assert re.search(rf"^{said}:? ", result.out, re.MULTILINE)
    assert "is not installed" not in result.out.partition("needs: ")[2].partition("\n")[0]


def test_a_mistake_in_the_defaults_names_their_file(shell):
    (shell.directory / "mine.toml").write_text('transport = "pigeon"\n')
    shell.environment["HALFTRIP_CONFIG"] = "mine.toml"
    result = shell.call("run")
    assert (result.status, result.out) == (2, "")
    assert result.err.startswith("halftrip: mine.toml: transport: 'pigeon' is not known; allowed:")
