"""A real sshd on a host of the lab, and how to reach it."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from harness.limits import AMPLE_SECONDS, until
from harness.need import need
from lab.hosts import Host, run


def need_sshd() -> str:
    """The path of sshd; skips where there is none."""
    # It wants to be called by its whole path.
    found = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin")
    need(found is not None and shutil.which("ssh") is not None, "openssh-server is not installed")
    return str(found)


@contextlib.contextmanager
def serving(hosts: tuple[Host, ...], directory: Path) -> Iterator[str]:
    """The command for ssh that reaches these hosts without a question."""
    program = need_sshd()
    # It gives up its rights in this directory, as on every host that runs it.
    Path("/run/sshd").mkdir(exist_ok=True)
    for key in ("host", "user"):
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(directory / key))
    (directory / "authorized").write_text((directory / "user.pub").read_text())
    server = directory / "sshd_config"
    server.write_text(
        f"HostKey {directory}/host\nAuthorizedKeysFile {directory}/authorized\nStrictModes no\n"
        "UsePAM no\nPidFile none\nPermitRootLogin yes\nPasswordAuthentication no\n"
        "AcceptEnv none\n"
    )
    client = directory / "ssh_config"
    client.write_text(
        f"Host *\n  User root\n  IdentityFile {directory}/user\n  IdentitiesOnly yes\n"
        "  StrictHostKeyChecking no\n  UserKnownHostsFile /dev/null\n"
    )
    with contextlib.ExitStack() as started:
        for host in hosts:
            process = subprocess.Popen(
                [*host.prefix(), program, "-D", "-e", "-f", str(server)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            started.callback(_end, process)
            listed = ("ip", "netns", "exec", host.name, "ss", "-tlnH")
            until(lambda listed=listed: ":22 " in run(*listed), "no sshd")
        yield f"ssh -F {client}"


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    process.wait(AMPLE_SECONDS)
