"""What UCX and libfabric get from a peer of another host that only knows a secret."""

import socket
import struct
import sys
from types import SimpleNamespace

import pytest

from halftrip.control.network import Network
from halftrip.errors import Unavailable
from halftrip.transports.native.libfabric import LibfabricPath
from halftrip.transports.native.ucx import UcxTransport
from harness.runs import configuration

NETWORK = Network(partners=("10.0.0.5", "fe80::1%eth0"))


def name(host, family=socket.AF_INET):
    raw = socket.inet_pton(family, host)
    begin = family.to_bytes(2, sys.byteorder)
    if family == socket.AF_INET:
        return begin + struct.pack("!H", 5000) + raw + bytes(8)
    return begin + struct.pack("!HI", 5000, 0) + raw + struct.pack("=I", 2)


@pytest.mark.parametrize(
    ("own", "given", "said"),
    [
        ("10.0.0.1", name("10.0.0.5"), None),
        ("10.0.0.1", name("10.0.0.6"), "has called from another address; its FI_TCP_IFACE"),
        # The provider would read beyond it, or another form.
        ("10.0.0.1", name("10.0.0.5")[:8], "are not checked here"),
        ("10.0.0.1", name("fe80::1", socket.AF_INET6), "are not checked here"),
        ("", name("10.0.0.5"), "are not checked here"),
        ("fe80::2", name("fe80::1", socket.AF_INET6), None),
        ("fe80::2", name("::ffff:10.0.0.5", socket.AF_INET6), None),
    ],
)
def test_a_name_of_libfabric_leads_to_the_host_that_called(own, given, said):
    path = object.__new__(LibfabricPath)
    path.provider, path._network, path._name = "tcp;ofi_rxm", NETWORK, bytes(16)
    if own:
        path._name = name(own, socket.AF_INET6 if ":" in own else socket.AF_INET)
    if said is None:
        path._check_stranger(given)
        return
    with pytest.raises(Unavailable, match=said):
        path._check_stranger(given)


def test_put_and_get_of_ucx_are_none_for_a_stranger():
    put = configuration("ucx", 64, pattern="put", mode="onesided")
    stranger, known = (
        UcxTransport(SimpleNamespace(network=network)) for network in (NETWORK, Network())
    )
    pair = SimpleNamespace(end_of=lambda each: each.initiator)
    assert "does not check what they reach" in stranger.obstacle(put, pair)
    assert known.obstacle(put, pair) is None
    assert stranger.obstacle(configuration("ucx", 64), pair) is None
