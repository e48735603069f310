"""Records of devices are read as they were written, and not where they make no sense."""

import msgspec
import pytest

from halftrip.results.device import DeviceCopy, DeviceLatency
from halftrip.results.run_file import encode, load
from harness import runs

COPY = DeviceCopy(
    rank=0, memory="cuda@0", direction="host to device", host="pinned", size=4096, ns=812.5
)
BETWEEN = DeviceCopy(
    rank=0, memory="cuda@0", direction="device to device", host="", size=8, ns=1.5, peer="cuda@1"
)
LATENCY = DeviceLatency(rank=0, memory="cuda@0", synchronize=1500.0, kernel=4000.0)
RECORDS = [runs.device(), runs.device(1, stand_in=True, mig=None, launch=2), COPY, BETWEEN, LATENCY]


def test_a_run_has_all_of_them(tmp_path):
    made = runs.run(devices=tuple(RECORDS[:2]), device_copies=(COPY, BETWEEN),
                    device_latencies=(LATENCY,))  # fmt: skip
    found = load(runs.save(made, tmp_path / "run.jsonl"))
    assert found.problems == ()
    assert found.devices == made.devices
    assert found.device_copies == made.device_copies
    assert found.device_latencies == made.device_latencies
    assert load(runs.save(runs.run(), tmp_path / "other.jsonl")).devices == ()


@pytest.mark.parametrize(
    ("record", "change"),
    [
        (runs.device(), {"index": -1}),
        (runs.device(), {"power_limit": -1.0}),
        (runs.device(), {"reaches": [1]}),
        (COPY, {"ns": 0.0}),
        (COPY, {"direction": "elsewhere"}),
        (COPY, {"host": "cold"}),
        (LATENCY, {"kernel": 0.0}),
        # Of a rank that no environment describes.
        (runs.device(), {"rank": 7}),
        (COPY, {"rank": 7}),
    ],
)
def test_a_record_that_makes_no_sense_is_left_out_and_named(tmp_path, record, change):
    path = runs.save(runs.run(), tmp_path / "run.jsonl")
    whole = msgspec.json.decode(encode(record))
    path.write_bytes(path.read_bytes() + msgspec.json.encode(whole | change) + b"\n")
    found = load(path)
    assert len(found.problems) == 1
    assert (found.devices, found.device_copies, found.device_latencies) == ((), (), ())
