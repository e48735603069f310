"""Hosts made of network namespaces: needs root; each test makes its own and removes them."""

import pytest

from lab import hosts


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
