"""A name server that does not answer: whose name it was about is said, in bounded time."""

import re

import pytest

from lab.faults import close_ports

pytestmark = pytest.mark.extended

NAME = "n1.example"
UNRESOLVED = r"(no name server has answered in 10 s|Temporary failure in name resolution)"


@pytest.fixture
def unheard(lab):
    """The second host is the first one's name server, and drops what it is asked."""
    here, there = lab.hosts
    close_ports(there, (53, 53), "blackhole")
    here.settings("resolv.conf").write_text(f"nameserver {there.address}\n")
    return here


def test_of_a_server(unheard, shell):
    result = shell.run("-t", "tcp", "-s", "8", "--peer", NAME, prefix=unheard.prefix())
    assert result.status == 1
    assert re.fullmatch(rf"halftrip: {NAME}: {UNRESOLVED}\n", result.err)


def test_of_a_host_by_ssh(unheard, shell):
    options = ("--hosts", f"{unheard.name},{NAME}")
    result = shell.run("-t", "tcp", "-s", "8", *options, prefix=unheard.prefix())
    assert result.status == 1
    # It is ssh that looks for it.
    assert re.fullmatch(rf"halftrip: .*{NAME}.*{UNRESOLVED}\n", result.err), result.err
