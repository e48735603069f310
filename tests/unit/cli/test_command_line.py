"""The command line as a whole: its help, its man page, and what may follow typed words."""

import re
import shutil
import subprocess
import sys

import click
import pytest

from halftrip.cli import COMMANDS, command_line, mistake
from halftrip.cli.completion import candidates
from halftrip.cli.help import EXAMPLES, man_page
from halftrip.errors import UsageError
from halftrip.plan.options import GROUPS, OPTIONS
from halftrip.plan.recipes import names
from harness.need import need

# What reads, measures, judges and draws; and what a table is made with.
RUN = command_line("run").commands["run"]
SLOW = ("numpy", "rich", "halftrip.api", "halftrip.analysis", "halftrip.report", "halftrip.measure")


def imported(*names):
    """The modules that the declarations of these commands import; of all, if none is named."""
    code = f"import sys; from halftrip.cli import command_line; command_line(*{names}); "
    made = subprocess.run(
        (sys.executable, "-c", f"{code}print(*sys.modules)"), capture_output=True, check=True
    )
    return made.stdout.decode().split()


def test_options_are_declared_without_what_the_commands_need_and_commands_by_themselves():
    assert list(command_line().commands) == list(COMMANDS)
    assert list(command_line("import").commands) == ["import"]
    assert not set(SLOW) & set(imported())
    # A command, without the others.
    ours = {name for name in imported("fit") if name.startswith("halftrip.cli.")}
    assert ours == {f"halftrip.cli.{name}" for name in ("fit", "inputs", "output", "syntax")}


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("--szes", "--sizes"),
        ("--lanches", "--launches"),
        ("--tranpsort", "--transport"),
        ("--Sizes", "--sizes"),
        ("--placement-stat", "--placement-state"),
        ("--no-systemlog", "--no-system-log"),
        ("--trans", "--transport"),
        ("--wiat", "--wait"),
        ("--nope", None),
        ("--thyme", None),
        ("--colour", None),
        ("--x", None),
    ],
)
def test_only_what_is_close_is_suggested(typed, meant):
    error = click.NoSuchOption(typed, ctx=click.Context(RUN, info_name="halftrip run"))
    instead = "halftrip run --help" if meant is None else f"did you mean {meant}?"
    assert mistake(error) == f"{typed}: no such option; {instead}"


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("compare", "compare needs BASE NEW... [ROW...]; halftrip compare --help"),
        ("import", "import needs FILE...; halftrip import --help"),
        ("export", "export needs --to NAME; such as csv, "),
        ("run -o", "-o: its value is missing; halftrip run --help"),
        ("run --hosts -t tcp", "--hosts: its value is missing; halftrip run --help"),
        ("show --format", "--format: its value is missing; such as table, "),
        ("export --to", "--to: its value is missing; such as csv, "),
        ("compare --strict=3 a b", "--strict: takes no value; write it alone"),
        (
            "doctor foo",
            "foo: too much: doctor takes no argument; halftrip doctor --help",
        ),
        ("serve --open --libraries", "--open: with --libraries clients have a secret; leave"),
        ("recipes a b", "b: too much: recipes takes [recipe]; halftrip recipes --help"),
    ],
)
def test_a_wrong_command_line_is_told_what_to_do(typed, said):
    words = typed.split()
    with pytest.raises((click.ClickException, UsageError)) as error:
        command_line(words[0])(words, "halftrip", standalone_mode=False)
    found = error.value
    assert (str(found) if isinstance(found, UsageError) else mistake(found)).startswith(said)


def words_after(*typed):
    return [word for word, _ in candidates(command_line(), typed)]


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        (("ru",), ["run"]),
        (("run", "--ref"), ["--refine"]),
        (("run", "-W", "4", "-t", "u"), ["unix", "udp", "ucx"]),
        (("run", "-t", "unix,u"), ["unix,udp", "unix,ucx"]),
        (("run", "--wait", "spin:"), ["spin:block", "spin:spin", "spin:adaptive"]),
        (("run", "--nothing=c"), []),
        (("run", "--verify", "-c", "pers"), ["persistent"]),
        (("run", "paper", ""), []),
        (("help", "doc"), ["doctor"]),
        (("history", "--format", "j"), ["json"]),
        (("report", "--format", ""), ["html", "md"]),
        (("fit", "--format", "json", "--model", "p"), ["piecewise"]),
        (("run", "--format", "j"), ["json"]),
        (("run", "--resume", "a.jsonl", "--again", "cau"), ["caution"]),
        (("import", "--from", "netpi"), ["netpipe"]),
        (("recipes", "pap"), ["paper"]),
        (("export", "--to", "go"), ["google-benchmark"]),
        (("show", "-p", "pingpong,ex"), ["pingpong,exchange"]),
        (("completion", ""), ["bash", "zsh", "fish"]),
        (("unknown", "ru"), ["run"]),
    ],
)
def test_candidates_for_the_last_word(typed, offered):
    assert words_after(*typed) == offered


def test_all_options_and_plans_of_the_directory_are_offered(tmp_path, monkeypatch):
    forms = {f"--{name.replace('_', '-')}" for name, option in OPTIONS.items() if option.help}
    assert forms | {"--resume", "--again", "--help"} <= set(words_after("run", "--"))
    assert words_after() == words_after("")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "paths.toml").touch()
    assert words_after("run", "pa") == ["paper", "patterns", "paths.toml"]
    for name in ("transport", "pattern", "mode", "wait", "pairs", "preset"):
        offered = words_after("run", f"--{name}", "")
        assert offered
        for word in offered:
            OPTIONS[name].read(word)


@pytest.fixture(scope="module")
def page():
    commands = command_line()
    return man_page(commands, commands.make_context("halftrip", [], resilient_parsing=True))


def plain(page):
    """The text without its escapes and requests."""
    return re.sub(r"\\f[BR]|\\&", "", page).replace(r"\-", "-").replace(r"\(dq", '"')


def test_it_has_every_command_option_recipe_and_example(page):
    text = plain(page)
    assert re.findall(r"^\.SS \"(.*)\"$", text, re.MULTILINE)[: len(GROUPS)] == [*GROUPS.values()]
    for name, command in command_line().commands.items():
        assert (f'.SH "HALFTRIP {name.upper()}"' in text) is not command.hidden
    for name, option in OPTIONS.items():
        if option.help:
            assert f"--{name.replace('_', '-')}" in text
            assert f"\n{option.help}\n" in text
    for term in (*names(), *(command for command, _ in EXAMPLES), "HALFTRIP_CONFIG", "128 + N"):
        assert f".TP\n{term}\n" in text


def test_no_text_is_taken_for_a_request(page):
    requests = {line.split()[0] for line in page.splitlines() if line[0] in ".'"}
    assert requests == {".TH", ".SH", ".SS", ".TP", ".PP", ".br"}
    assert set(re.findall(r"\\(.)", page)) <= set("-fe(&")


def test_groff_has_nothing_to_say_about_it(page):
    need(shutil.which("groff") is not None, "groff is not installed")
    command = ("groff", "-man", "-Tutf8", "-ww", "-z")
    made = subprocess.run(command, input=page, capture_output=True, text=True, check=True)
    assert made.stderr == ""
