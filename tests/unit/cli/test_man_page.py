"""The man page, made from the texts of the help."""

import re
import shutil
import subprocess

import pytest
import typer

from halftrip.cli import command_line
from halftrip.cli.help import EXAMPLES, man_page
from halftrip.plan.options import GROUPS, OPTIONS
from halftrip.plan.recipes import names
from harness.need import need


@pytest.fixture(scope="module")
def page():
    commands = typer.main.get_command(command_line())
    return man_page(commands, commands.make_context("halftrip", [], resilient_parsing=True))


def plain(page):
    """The text without its escapes and requests."""
    return re.sub(r"\\f[BR]|\\&", "", page).replace(r"\-", "-").replace(r"\(dq", '"')


def test_it_has_every_command_option_recipe_and_example(page):
    text = plain(page)
    assert re.findall(r"^\.SS \"(.*)\"$", text, re.MULTILINE)[: len(GROUPS)] == [*GROUPS.values()]
    for name, command in typer.main.get_command(command_line()).commands.items():
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
