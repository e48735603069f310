"""Hosts made of network namespaces: needs root; each test makes its own and removes them."""

import pytest

from harness.choice import FULL
from lab import hosts

# Dragon takes three minutes of processor time to start on two hosts, and to end there.
collect_ignore = [] if FULL else ["test_dragon_nodes.py"]


@pytest.fixture
def lab(tmp_path):
    """Two hosts with a cable between them."""
    hosts.need_hosts()
    with hosts.cabled(tmp_path) as made:
        yield made


@pytest.fixture
def relayed(tmp_path):
    """Two hosts with a relay between them."""
    hosts.need_relay()
    with hosts.relayed(tmp_path) as made:
        yield made


@pytest.fixture
def three(tmp_path):
    """Three hosts on a switch."""
    hosts.need_hosts()
    with hosts.cabled(tmp_path, count=3) as made:
        yield made
