"""What may follow words that have been typed."""

import pytest
import typer

from halftrip.cli import command_line
from halftrip.cli.completion import candidates
from halftrip.plan.options import OPTIONS


def words_after(*typed):
    return [word for word, _ in candidates(typer.main.get_command(command_line()), typed)]


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        (("ru",), ["run"]),
        (("run", "--ref"), ["--refine"]),
        (("run", "-W", "4", "-t", "u"), ["unix", "udp"]),
        (("run", "-t", "unix,u"), ["unix,udp"]),
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


def test_all_options_are_offered():
    forms = {f"--{name.replace('_', '-')}" for name, option in OPTIONS.items() if option.help}
    assert forms | {"--resume", "--again", "--help"} <= set(words_after("run", "--"))
    assert words_after() == words_after("")


def test_plans_of_the_directory_are_offered(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "paths.toml").touch()
    assert words_after("run", "pa") == ["paper", "patterns", "paths.toml"]


def test_what_is_offered_is_read():
    for name in ("transport", "pattern", "mode", "wait", "pairs", "preset"):
        offered = words_after("run", f"--{name}", "")
        assert offered
        for word in offered:
            OPTIONS[name].read(word)
