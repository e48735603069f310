"""What a person asks for wrongly: one line that says what is wrong and where, exit status 2."""

import pytest

from halftrip.cli.help import EXAMPLES
from halftrip.plan.option import GROUPS

MISTAKES = [
    (("run", "--szes", "8"), "--szes: no such option; did you mean --sizes?"),
    (("run", "--iteration", "8"), "--iteration: no such option; did you mean --iterations?"),
    (("run", "--no-systemlog"), "--no-systemlog: no such option; did you mean --no-system-log?"),
    (("run", "-z"), "-z: no such option; halftrip run --help"),
    (("show", "--tail"), "--tail: no such option; did you mean --tails?"),
    (("--versoin",), "--versoin: no such option; did you mean --version?"),
    (("run", "-x", "-1"), "--warmup: -1 is too few; at least 0"),
    (("run", "-s", "4Q"), "--sizes: '4Q' is not a size"),
    (("run", "-m", "nonblocking"), "--sizes: 'nonblocking' is a mode, not a size; --mode nonbl"),
    (("run", ""), "'': no such file or recipe; allowed: quick"),
    (("run", "."), ".: is a directory"),
    (("run", "-s"), "requires an argument"),
    (("run", "-t", "pigeon"), "--transport: 'pigeon' is not known; allowed: mpi, shm, pipe"),
    (("run", "-p", "dance"), "--pattern: 'dance' is not known; allowed: pingpong"),
    (("run", "--wait", "sleep"), "--wait: 'sleep' is not known; allowed: block, spin"),
    (("run", "--wait", "spin:sleep"), "--wait: 'sleep' is not known; allowed: block, spin"),
    (("run", "--ci", "2"), "--ci: '2' is out of range"),
    (("run", "--time", "soon"), "--time: 'soon' is not a time"),
    (("run", "-n", "3"), "--ranks: 3 ranks cannot form halves; an even number is needed"),
    (
        ("run", "-n", "3", "--pairs", "neighbours"),
        "--ranks: 3 ranks cannot form neighbours; an even",
    ),
    (
        ("run", "-n", "5", "--pairs", "reciprocal"),
        "--ranks: 5 ranks cannot form reciprocal pairs; an even number is needed",
    ),
    (("run", "--cores", "0"), "--cores: 1 core for 2 ranks; name 2, one for each, as 0,1"),
    (("run", "--cores", "²,1"), "--cores: '²' is not a core"),
    (("run", "--cores", "0-9999999999"), "--cores: '0-9999999999' is not a core"),
    (("run", "--window", "8"), "--window: pingpong has no window; --pattern stream,"),
    (
        ("run", "-t", "shm", "-p", "stream", "-s", "8", "--window", "1000000000"),
        "--window: 1000000000 is too many in flight",
    ),
    (("run", "--concurrent-pairs", "2"), "2 concurrent pairs: 2 ranks make 1 pair"),
    (
        ("run", "-t", "tcp", "--rate", "1MB"),
        "nothing of this can be measured: tcp: --rate: only a stream of udp has one",
    ),
    (
        ("run", "-t", "mpi", "-p", "stream", "-c", "onesided"),
        "nothing of this can be measured: mpi: no onesided stream, only put, get",
    ),
    (
        ("run", "-t", "udp", "-p", "stream", "--rate", "1"),
        "a window of 64 takes 64 s at this --rate, --time allows 0.3 s",
    ),
    (("run", "-s", "9" * 400), "is more than any memory holds"),
    (("run", "--mpiexec", "a 'b"), '--mpiexec: "a \'b": no closing quotation'),
    (("run", "--launcher", "rocket"), "--launcher: 'rocket' is not known"),
    (("run", "--mpiexec", "/nowhere/mpiexec"), "--mpiexec: '/nowhere/mpiexec' is not a program"),
    (("run", "none.toml"), "none.toml: no such file or directory"),
    (("run", "wrong.toml"), "wrong.toml: szes: no such key; did you mean sizes?"),
    (("run", "model.toml"), "model.toml: simulated: latncy: no such key; did you mean latency?"),
    (("run", "parts.toml"), "parts.toml: part 2: sizes: '4Q' is not a size"),
    (("run", "broken.toml"), "broken.toml: not TOML"),
    (("run", "-o", "there.jsonl"), "there.jsonl: exists already; choose another name"),
    (("run", "-o", "nowhere/run.jsonl"), "nowhere/run.jsonl: cannot be written"),
    (("run", "-o", "/dev/full"), "/dev/full: exists already"),
    (("show", "none.jsonl"), "none.jsonl: no such file or directory"),
    (("show", "wrong.toml"), "wrong.toml: not a run file of halftrip"),
    (("run", "--tolerance", "5%"), "--tolerance: only with --expect or --baseline"),
    (("run", "--baseline", "none.jsonl"), "none.jsonl: no such file"),
    (("run", "--baseline", "wrong.toml"), "wrong.toml: not a run file of halftrip"),
    (("show", "there.jsonl", "--format", "poem"), "--format: 'poem' is not known; allowed: table"),
    (("show", "-s", "1K.."), "--sizes: '1K..' has one end only; write 8 or 1K..1M"),
    (("show", "-s", "8,:1M"), "--sizes: ':1M' has one end only; write 8 or 1K..1M"),
    (("show", "--pair", "all"), "--pair: 'all' is not known; write pairs as 0-3,1-2"),
    (("run", "--pairs", "some"), "--pairs: 'some' is not known; allowed: halves, "),
    (("show",), "no run file (halftrip-*.jsonl) in this directory; name one"),
    (("fly",), "fly: no such command; allowed: run, show, doctor"),
    (("rnu",), "rnu: no such command; did you mean run?"),
    (("run", "papr"), "papr: no such file or recipe; did you mean paper?"),
    (("run", "elephant"), "elephant: no such file or recipe; allowed: quick, standard, paper, "),
    (("recipes", "papr"), "papr: no such recipe; did you mean paper?"),
    (("help", "shwo"), "shwo: no such command; did you mean show?"),
]
# One for each place that finds them: the command line, a file, a rank.
AS_A_COMMAND = [
    (("run", "--szes", "8"), "--szes: no such option; did you mean --sizes?"),
    (("show", "none.jsonl"), "none.jsonl: no such file or directory"),
    (("run", "-t", "shm", "--cores", "0,4096"), "--cores: there is no core 4096"),
]


def check_one_line(shell, make, arguments, said):
    (shell.directory / "wrong.toml").write_text('szes = "8"\n')
    (shell.directory / "parts.toml").write_text('[[part]]\n[[part]]\nsizes = "4Q"\n')
    (shell.directory / "broken.toml").write_text("sizes = \n")
    (shell.directory / "model.toml").write_text('[simulated]\nlatncy = "7us"\n')
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


@pytest.mark.parametrize(("arguments", "said"), AS_A_COMMAND)
def test_a_mistake_of_a_command_is_one_line(shell, arguments, said):
    check_one_line(shell, shell.halftrip, arguments, said)


@pytest.mark.parametrize("arguments", [
    (), ("--help",), ("-h",), ("run", "--help"), ("help",), ("help", "run"), ("help", "help"),
])  # fmt: skip
def test_help_is_no_mistake(shell, arguments):
    result = shell.call(*arguments)
    assert (result.status, result.err) == (0, "")
    assert "Usage:" in result.out
    assert max(len(line) for line in result.out.splitlines()) <= 80


def test_the_help_of_a_run_has_groups_and_examples(shell):
    said = shell.call("help", "run").out
    assert said == shell.call("run", "--help").out
    titles = [*GROUPS.values(), "Examples"]
    assert [line[:-1] for line in said.splitlines() if line[:-1] in titles] == titles
    assert len(EXAMPLES) == 5


def test_the_command_has_a_version(shell):
    result = shell.halftrip("--version")
    assert (result.status, result.err) == (0, "")
    assert result.out.startswith("halftrip ")
    assert shell.call("-V").out == result.out


def test_a_mistake_in_the_defaults_names_their_file(shell):
    (shell.directory / "mine.toml").write_text('transport = "pigeon"\n')
    result = shell.halftrip("run", HALFTRIP_CONFIG="mine.toml")
    assert (result.status, result.out) == (2, "")
    assert result.err.startswith("halftrip: mine.toml: transport: 'pigeon' is not known; allowed:")
