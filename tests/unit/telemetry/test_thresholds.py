"""The thresholds of a machine and of sockets, as the kernel shows them."""

import mmap
import socket
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halftrip.results.threshold import Threshold
from halftrip.telemetry.copy_thresholds import copy_thresholds, parse_tunables
from halftrip.telemetry.socket_thresholds import LinkSizes, parse_link, socket_thresholds
from halftrip.telemetry.topology import machine_thresholds

CACHES = "sys/devices/system/cpu/cpu3/cache"
LINK = struct.pack("=BxHiII", 0, 1, 7, 0, 0)


def cache(kernel, index, level, kind, size, shared):
    for name, text in (("level", level), ("type", kind), ("size", size)):
        kernel(f"{CACHES}/index{index}/{name}", f"{text}\n")
    kernel(f"{CACHES}/index{index}/shared_cpu_list", f"{shared}\n")


def test_caches_of_data_and_pages_are_those_of_a_core(bare_kernel):
    cache(bare_kernel, 0, 1, "Data", "48K", "3")
    cache(bare_kernel, 1, 1, "Instruction", "32K", "3")
    cache(bare_kernel, 2, 2, "Unified", "2048K", "2-3")
    cache(bare_kernel, 3, 3, "Unified", "much", "0-7")
    bare_kernel("sys/kernel/mm/transparent_hugepage/hpage_pmd_size", "2097152\n")
    found = machine_thresholds(3, bare_kernel.reader)
    assert [(each.name, each.value, each.acts, each.cores) for each in found] == [
        ("the L1 cache", 48 << 10, "cache", [3]),
        ("the L2 cache", 2 << 20, "cache", [2, 3]),
        ("the huge page", 2 << 20, "page", []),
        ("the page", mmap.PAGESIZE, "page", []),
    ]
    # Of a rank on any core, only pages are known.
    anywhere = machine_thresholds(None, bare_kernel.reader)
    assert [each.name for each in anywhere] == ["the huge page", "the page"]


TUNABLES = """\
glibc.rtld.nns: 0x4 (min: 0x1, max: 0x10)
glibc.cpu.x86_rep_movsb_threshold: 0x840 (min: 0x200, max: 0xffffffffffffffff)
glibc.cpu.x86_non_temporal_threshold: 0xc0000 (min: 0x4040, max: 0xfffffffffffffff)
glibc.cpu.x86_shstk:
"""


@pytest.mark.parametrize(("flags", "values"), [("fpu erms", [2112, 786432]), ("fpu", [786432])])
def test_the_dynamic_loader_says_where_copies_change(bare_kernel, flags, values):
    bare_kernel("proc/cpuinfo", f"flags\t: {flags}\n")
    found = parse_tunables(TUNABLES, bare_kernel.reader)
    assert [each.value for each in found] == values
    assert all(each.acts == "copy" and each.same_host for each in found)
    assert parse_tunables("not a tunable", bare_kernel.reader) == ()
    # Whatever this host has.
    assert all(each.value > 0 for each in copy_thresholds())


def attribute(kind, value):
    return struct.pack("=HHI", 8, kind, value)


def reply(*attributes, kind=16):
    body = LINK + b"".join(attributes)
    return struct.pack("=IHHII", 16 + len(body), kind, 0, 1, 0) + body


def test_sizes_of_a_link_are_read_for_each_family():
    both = [attribute(41, 65536), attribute(58, 65537), attribute(63, 1000), attribute(64, 2000)]
    assert parse_link(reply(*both), "ipv6") == LinkSizes(65536, 65537)
    assert parse_link(reply(*both), "ipv4") == LinkSizes(1000, 2000)
    # Before Linux 6.3, both families have the same.
    assert parse_link(reply(*both[:2]), "ipv4") == LinkSizes(65536, 65537)
    assert parse_link(reply(attribute(4, 1500)), "ipv4") == LinkSizes()
    assert parse_link(reply(*both, kind=2), "ipv4") == LinkSizes()


@given(st.binary(max_size=80))
def test_any_answer_of_the_kernel_is_read_or_left_out(data):
    for answer in (data, reply(data)):
        found = parse_link(answer, "ipv4")
        assert all(each is None or each > 0 for each in found)


@pytest.fixture
def connected():
    """Makes a connected socket of a kind: of TCP, of UDP, or a Unix one."""
    made = []

    def make(kind):
        if kind == "unix":
            made.extend(socket.socketpair())
            return made[0]
        type_ = socket.SOCK_STREAM if kind == "tcp" else socket.SOCK_DGRAM
        other, own = (socket.socket(socket.AF_INET, type_) for _ in range(2))
        made.extend([other, own])
        other.bind(("127.0.0.1", 0))
        if kind == "tcp":
            other.listen()
        own.connect(other.getsockname())
        return own

    yield make
    for each in made:
        each.close()


@pytest.mark.parametrize("kind", ["tcp", "udp", "unix"])
def test_a_socket_has_its_buffers_and_the_packets_of_its_path(connected, kind):
    end = connected(kind)
    end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 20_000)
    found = {each.name: each for each in socket_thresholds(end.fileno())}
    assert all(isinstance(each, Threshold) for each in found.values())
    buffer = found["the sender's socket buffer"]
    # As the kernel counts: twice what it was asked for.
    assert (buffer.value, buffer.scale) == (40_000, 0.5)
    assert (buffer.acts, buffer.setting) == ("capacity", "--socket-buffer")
    packets = [each for each in found.values() if each.acts == "pieces"]
    if kind == "unix":
        assert packets == []
        return
    if kind == "udp":
        (mtu,) = packets
        assert mtu.name == "the MTU of lo"
        assert 60_000 < mtu.value <= 65_536
        assert mtu.header == 28
    else:
        # Over loopback, half of the peer's window, which is less than the MTU.
        first, *_ = packets
        assert first.name in ("the TCP segment", "the MTU of lo")
        assert first.header <= 100
        assert "--mss" in first.setting
