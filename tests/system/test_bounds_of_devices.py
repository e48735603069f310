"""The bounds of devices in a run: measured at its end, kept in its file, and printed below its
table. A stand-in for the driver plants their times."""

import json

import pytest

from harness.cuda import stand_in

QUICK = ("-s", "8,64K", "-i", "20", "--warmup", "2", "--slices", "1", "--no-message-rate")
PLANTED = {"h2d": "400000", "d2h": "300000", "d2d": "200000", "p2p": "500000"}


def run(shell, folder, memory, *arguments, **settings):
    environment = stand_in(folder, **PLANTED, **settings)
    result = shell.run("--memory", memory, *QUICK, *arguments, **environment)
    assert result.status == 0, result.err
    return result


@pytest.mark.extended
def test_the_copies_of_every_device_are_in_the_file_and_below_the_table(shell, cuda_libraries):
    result = run(shell, cuda_libraries, "cuda@0:cuda@1", "-t", "cuda-ipc")
    found = result.run
    kinds = {(copy.memory, copy.direction, copy.host, copy.peer) for copy in found.device_copies}
    assert kinds == {
        (own, *kind)
        for own, peer in (("cuda@0", "cuda@1"), ("cuda@1", "cuda@0"))
        for kind in (
            ("host to device", "pageable", ""),
            ("host to device", "pinned", ""),
            ("device to host", "pageable", ""),
            ("device to host", "pinned", ""),
            ("device to device", "", ""),
            ("device to device", "", peer),
        )
    }
    assert {copy.size for copy in found.device_copies} == {4096, 65536, 1 << 20}
    assert all(copy.ns >= 200_000 for copy in found.device_copies)
    assert [each.memory for each in found.device_latencies] == ["cuda@0", "cuda@1"]
    assert found.copy_times
    printed = json.loads(result.show("--format", "json").out)
    assert len(printed["device_copies"]) == len(found.device_copies)
    lines = result.show("--details").out.splitlines()
    for own, peer in (("cuda@0", "cuda@1"), ("cuda@1", "cuda@0")):
        first = lines.index(f"bound: copies of {own}, GB/s, of 4K, 64K, 1M:")
        block = [line.strip().split(": ") for line in lines[first + 1 : first + 9]]
        assert [kind for kind, _ in block] == [
            "host to device, pageable", "device to host, pageable", "host to device, pinned",
            "device to host, pinned", "host to device, pinned, both ways at once",
            "device to device", f"to {peer}", f"to {peer}, both ways at once",
        ]  # fmt: skip
        assert all(len(rates.split(", ")) == 3 for _, rates in block)
        assert any(line.startswith(f"bound: {own}: ") for line in lines)
