"""How the buffers of a configuration lie in memory."""

import msgspec
import pytest

from halftrip.memory.ring import Layout, allocate_ring, layout
from harness.runs import configuration


def test_a_cold_ring_is_larger_than_the_cache():
    cold = layout(configuration(size=100, cache="cold"), cache_bytes=1 << 20)
    assert cold.stride == 128
    assert cold.slots * cold.stride == 2 << 20
    hot = layout(configuration(size=100, cache="hot"), cache_bytes=1 << 20)
    assert hot == Layout(slots=1, stride=128, extent=100, step=8)


@pytest.mark.parametrize("size", [8, 1 << 20])
def test_messages_of_a_window_share_one_place_or_have_one_each(size):
    window = configuration(size=size, pattern="stream", window=64)
    assert layout(window, 0).slots == 1
    own = layout(msgspec.structs.replace(window, places="own"), 0)
    assert own.slots == 64
    assert own.bytes == 63 * max(size, 64) + size
    # In a cold cache there are at least as many.
    cold = msgspec.structs.replace(window, places="own", cache="cold")
    assert layout(cold, cache_bytes=64).slots == 64
    assert layout(cold, cache_bytes=1 << 30).slots > 64


def test_with_verify_each_message_of_a_batch_has_its_own_buffer():
    verified = configuration("mpi", 64, pattern="stream", window=7, verify=True)
    assert layout(verified, 0).slots == (1 << 20) // 64
    assert layout(verified, 0, most_verified=1000).slots == 1000
    # An untimed window and a timed one, however large.
    large = msgspec.structs.replace(verified, size=1 << 20)
    assert layout(large, 0).slots == layout(large, 0, most_verified=1).slots == 14
    strided = msgspec.structs.replace(verified, datatype="vector")
    assert layout(strided, 0)[2:] == (128, 16)


@pytest.mark.parametrize("align", [1, 2, 64, 1024])
def test_buffers_have_exactly_the_requested_alignment(align):
    aligned = configuration(size=100, align=align, window=3, verify=True)
    found = layout(aligned, 0)
    ring = allocate_ring(found, aligned, aligned.initiator)
    for slot in range(3):
        address = ring.region.pointer + align + slot * found.stride
        assert address % align == 0
        assert address % (2 * align) == align
