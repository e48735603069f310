"""What is said to ssh, and of it."""

import subprocess

import pytest

from halftrip.errors import UsageError
from halftrip.job.launchers import ssh
from halftrip.plan.plan import Plan


@pytest.mark.parametrize(
    ("command", "said"),
    [("ssh 'x", "--ssh: .*No closing quotation"), ("  ", "--ssh: .*names no program")],
)
def test_a_command_that_is_none_is_a_mistake(command, said):
    with pytest.raises(UsageError, match=said):
        ssh.SshLauncher(Plan(hosts=("a", "b"), ranks=2, ssh=command))


def test_a_path_with_blanks_is_one_word_of_the_other_shell(tmp_path, monkeypatch):
    place = tmp_path / "a b"
    place.mkdir()
    (place / "halftrip").touch(mode=0o755)
    monkeypatch.setattr(ssh.sys, "executable", str(place / "python"))
    script = place / "halftrip"
    script.write_text("#!/bin/sh\necho it is there: $1\n")
    line = ssh.remote_line(None)
    done = subprocess.run(["sh", "-c", line], check=True, capture_output=True, text=True)
    assert done.stdout == "it is there: agent\n"
    assert ssh.remote_line("/opt/halftrip -x") == "/opt/halftrip -x agent"
