"""What a test needs of the machine, and what to do where that is missing."""

import contextlib
import os
import shutil
import subprocess

import pytest


def need(has: bool, what: str) -> None:
    """Skips the test where something is missing, with the reason; fails where tests must run."""
    if not has:
        assert "CI" not in os.environ, what
        pytest.skip(what)


def can_unshare(*options: str) -> bool:
    """Whether this user may start a process in namespaces of its own."""
    if shutil.which("unshare") is None or shutil.which("ip") is None:
        return False
    return (
        subprocess.run(["unshare", *options, "true"], capture_output=True, check=False).returncode
        == 0
    )


@contextlib.contextmanager
def no_permission(directory):
    """Only root may look into a directory, and this process is not root for so long."""
    directory.chmod(0)
    users = os.getresuid()
    if os.geteuid() == 0:
        os.setresuid(65534, 65534, 0)
    try:
        yield
    finally:
        os.setresuid(*users)
        directory.chmod(0o700)


def need_root(what: str) -> None:
    need(os.geteuid() == 0, f"{what} needs root")
