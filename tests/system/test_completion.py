"""What shells complete: each script in its own shell, with the real command behind it."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from halftrip.cli.completion import SCRIPTS
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


@pytest.mark.parametrize("name", [name for name in SCRIPTS if shutil.which(name)])
def test_a_shell_completes_options_names_and_recipes(tmp_path, shell, name):
    result = shell.call("completion", name)
    assert (result.status, result.err) == (0, "")
    (tmp_path / "script").write_text(result.out)
    path = f"{Path(HALFTRIP).parent}:{os.environ['PATH']}"
    expected = {
        "halftrip do": ["doctor"],
        "halftrip run --iter": ["--iterations"],
        "halftrip run -t ": list(TRANSPORTS),
        "halftrip run -q -t shm,t": ["shm,tcp"],
        "halftrip run -s 8 sim": ["simulated"],
    }
    if name == "bash":
        # It cuts words at colons and equals signs; where nothing is offered, it goes on with files.
        expected |= {
            "halftrip run --wait spin:b": ["block"],
            "halftrip run --wait=sp": ["spin"],
            "halftrip run -o ": [],
        }
    for line, words in expected.items():
        found = subprocess.run(
            [name, "-c", f"{_BEFORE.get(name, '')} source ./script; {_ASK[name]}"],
            cwd=tmp_path,
            env=os.environ | {"LINE": line, "PATH": path, "HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        assert found.stderr == ""
        offered = [word.partition("\t")[0] for word in found.stdout.splitlines() if word]
        assert sorted(offered) == sorted(words), line
