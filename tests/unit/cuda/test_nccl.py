"""NCCL between two processes, played by a stand-in; and why it cannot be used."""

import pytest

from halftrip.cuda import nccl
from halftrip.errors import Unavailable
from harness.cuda import begun_python, stand_in

# A rank on a device: what it says of how it joined, what it received, and of a peer that has ended.
_RANK = """
import ctypes
import sys
from halftrip.cuda import driver as cuda
from halftrip.cuda import nccl
from halftrip.cuda.device import find
from halftrip.errors import Unavailable
from halftrip.memory.cuda import CudaRegion
import numpy as np

rank, name, size = int(sys.argv[1]), sys.argv[2], 200_001
device = find(name)
device.enter()
if rank == 0:
    unique_id = nccl.nccl().new_id()
    print(unique_id.hex(), flush=True)
else:
    unique_id = bytes.fromhex(input())
try:
    joined = nccl.nccl().join(unique_id, rank)
except Unavailable as error:
    print(error)
    raise SystemExit

out, in_ = CudaRegion(device, size), CudaRegion(device, size)
out.write(np.arange(size).astype(np.uint8) + np.uint8(rank))
library = ctypes.CDLL(nccl.LIBRARY)

def call(name, *arguments):
    code = getattr(library, name)(*arguments)
    return code or None

def move(function, region, size=size):
    return call(function, ctypes.c_void_p(region.pointer), ctypes.c_size_t(size), 1, 1 - rank,
                ctypes.c_void_p(joined.address), None)

# Each sends first: in a group, both move on.
call("ncclGroupStart")
move("ncclSend", out)
move("ncclRecv", in_)
print(call("ncclGroupEnd"))
got = np.zeros(size, np.uint8)
in_.read(got)
print((got == np.arange(size).astype(np.uint8) + np.uint8(1 - rank)).all())
# What is not in a group waits for the other end.
if rank == 0:
    move("ncclSend", in_, 8)
    print(move("ncclRecv", in_, size + 5000), move("ncclRecv", in_, 8))
else:
    print(move("ncclRecv", in_, 8))
"""


def program(rank, device):
    """The rank, with its arguments."""
    return f"import sys\nsys.argv = ['', '{rank}', '{device}']\n" + _RANK


def two_ranks(folder, tmp_path, devices, **settings):
    """What the ranks print, in lines; rank 1 has ended, but nobody has asked for its status, when
    rank 0 waits for it at last."""
    environment = stand_in(folder, **settings) | {"TMPDIR": str(tmp_path)}
    with (
        begun_python(program(0, devices[0]), environment) as first,
        begun_python(program(1, devices[1]), environment) as second,
    ):
        unique_id = first.stdout.readline()
        second.stdin.write(unique_id)
        second.stdin.close()
        # Its status is asked for last, so it is a zombie meanwhile.
        of_first = first.communicate(timeout=60)
        of_second = second.stdout.read(), second.stderr.read()
    assert of_first[1] + of_second[1] == ""
    assert not list(tmp_path.iterdir())
    return of_first[0].splitlines(), of_second[0].splitlines()


def test_two_ranks_exchange_bytes_of_their_devices(cuda_libraries, tmp_path):
    """Beyond an allocation: invalid argument, 4; of a rank that has ended: remote error, 6."""
    first, second = two_ranks(cuda_libraries, tmp_path, (0, 1))
    assert first == ["None", "True", "4 6"]
    assert second == ["None", "True", "None"]


def test_two_ranks_on_one_device_are_refused(cuda_libraries, tmp_path):
    refusal = ["ncclCommInitRank: invalid usage (Duplicate GPU detected)"]
    assert two_ranks(cuda_libraries, tmp_path, (1, 1)) == (refusal, refusal)


def test_a_library_that_is_not_there_or_lacks_its_functions(monkeypatch):
    """One that is too old, or is something else, is told in one line."""
    monkeypatch.setattr(nccl, "LIBRARY", "libnccl-of-nobody.so.2")
    with pytest.raises(Unavailable, match=r"^no NCCL: there is no libnccl-of-nobody.so.2$"):
        nccl.Nccl()
    monkeypatch.setattr(nccl, "LIBRARY", None)
    library = nccl.Nccl()
    with pytest.raises(Unavailable, match=r"^this None has no ncclGetUniqueId$"):
        library.new_id()
    with pytest.raises(Unavailable, match=r"^this None has no nccl"):
        _ = library.addresses
