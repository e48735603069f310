"""What shells complete: each script in its own shell, with the real command behind it."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from halftrip.cli.completion import SCRIPTS
from halftrip.plan.recipes import names
from halftrip.registry import TRANSPORTS
from harness.shell import HALFTRIP

# Calls the function that the script has made, as each shell does.
_ASK = {
    "bash": 'COMP_LINE="$LINE"; COMP_POINT=${#COMP_LINE}; _halftrip halftrip;'
    " printf '%s\\n' \"${COMPREPLY[@]}\"",
    "zsh": 'words=("${(@s: :)LINE}"); CURRENT=$#words; _halftrip',
    "fish": 'complete -C "$LINE"',
}
# What zsh has in its own functions only.
_BEFORE = {"zsh": 'compdef() { }; _files() { }; _describe() { print -rl -- "${(@)found%%:*}"; };'}


def offered(directory, shell, line):
    """The words that a shell offers for the end of the line."""
    script = directory / "script"
    script.write_text(SCRIPTS[shell])
    path = f"{Path(HALFTRIP).parent}:{os.environ['PATH']}"
    code = f"{_BEFORE.get(shell, '')} source ./script; {_ASK[shell]}"
    found = subprocess.run(
        [shell, "-c", code],
        cwd=directory,
        env=os.environ | {"LINE": line, "PATH": path, "HOME": str(directory)},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert found.stderr == ""
    return [word.partition("\t")[0] for word in found.stdout.splitlines() if word]


@pytest.mark.parametrize("shell", [name for name in SCRIPTS if shutil.which(name)])
def test_a_shell_completes_options_names_and_recipes(tmp_path, shell):
    for line, expected in {
        "halftrip do": ["doctor"],
        "halftrip run --iter": ["--iterations"],
        "halftrip run -t ": list(TRANSPORTS),
        "halftrip run -q -t shm,t": ["shm,tcp"],
        "halftrip run -p exch": ["exchange"],
        "halftrip run --preset q": ["quick"],
        "halftrip recipes ": names(),
        "halftrip run -s 8 sim": ["simulated"],
    }.items():
        assert sorted(offered(tmp_path, shell, line)) == sorted(expected), line


def test_bash_cuts_words_at_colons_and_equals_signs(tmp_path):
    assert offered(tmp_path, "bash", "halftrip run --wait spin:b") == ["block"]
    assert offered(tmp_path, "bash", "halftrip run --wait=sp") == ["spin"]
    # Nothing: bash goes on with files.
    assert offered(tmp_path, "bash", "halftrip run -o ") == []


def test_the_command_prints_the_scripts(shell):
    for name, script in SCRIPTS.items():
        result = shell.call("completion", name)
        assert (result.status, result.out, result.err) == (0, script, "")
