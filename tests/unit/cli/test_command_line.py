"""The command line as a whole: the help has every command, and does not take as long as they do."""

import subprocess
import sys

import typer

from halftrip.cli import COMMANDS, command_line

# What reads, measures, judges and draws; and what a table is made with.
SLOW = ("numpy", "rich", "halftrip.api", "halftrip.analysis", "halftrip.report", "halftrip.measure")


def imported(*names):
    """The modules that the declarations of these commands import; of all, if none is named."""
    code = f"import sys; from halftrip.cli import command_line; command_line(*{names}); "
    made = subprocess.run(
        (sys.executable, "-c", f"{code}print(*sys.modules)"), capture_output=True, check=True
    )
    return made.stdout.decode().split()


def test_it_has_all_commands_in_their_order():
    assert list(typer.main.get_command(command_line()).commands) == list(COMMANDS)
    assert list(typer.main.get_command(command_line("import")).commands) == ["import"]


def test_options_are_declared_without_what_the_commands_need():
    assert not set(SLOW) & set(imported())


def test_a_command_is_declared_without_the_others():
    ours = {name for name in imported("fit") if name.startswith("halftrip.cli.")}
    assert ours == {f"halftrip.cli.{name}" for name in ("fit", "inputs", "output")}
