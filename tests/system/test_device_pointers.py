"""Pointers to a device's memory in the hands of real MPI libraries. The driver is a stand-in whose
memory traps when a library that does not know it reads there; READABLE plays one that does."""

import pytest

from harness.choice import extended
from harness.mpi import chosen, quick_start

QUICK = ("-i", "20", "--warmup", "2", "--slices", "1", "--no-message-rate", "--verify")
STAGED = "-t mpi --staging whole sends by way of the host's memory"
# The library's own answer, as far as halftrip is concerned.
TAKES = "from halftrip.transports import device_pointers\ndevice_pointers._query = lambda: True\n"
# A library without the question.
UNASKED = "from halftrip.transports import device_pointers\ndevice_pointers._QUERY = 'MPIX_None'\n"


@pytest.mark.parametrize("name", extended("wheel", "openmpi", "mpich"))
def test_a_library_that_says_no_stages_beside_the_reason(shell, cuda, name):
    result = shell.measure(
        *(*chosen(name), "-t", "mpi,mpi4py", "--memory", "cuda,cuda:host,host"),
        *("--staging", "none,whole,chunk=4K", "-s", "8,10001", *QUICK),
        **cuda(),
        **quick_start(name),
    )
    assert result.cells("transport", "memory", "staging_bytes") == {
        *(("mpi", memory, chunk) for memory in ("cuda", "cuda:host") for chunk in (0, 4096)),
        ("mpi", "host", None),
        ("mpi4py", "host", None),
    }
    for transport in ("mpi", "mpi4py"):
        (reason,) = result.reasons(transport)
        assert reason.startswith("--memory cuda: ")
        assert reason.endswith(
            f" says that it takes no pointers to devices (MPIX_Query_cuda_support); {STAGED}"
        )


@pytest.mark.parametrize(
    ("transports", "mode", "patterns"),
    extended(
        ("mpi,mpi4py", "blocking", "pingpong,stream,bidirectional,exchange,pingping"),
        ("mpi,mpi4py", "nonblocking", "pingpong,stream,bidirectional"),
        ("mpi,mpi4py", "persistent", "pingpong,stream"),
        ("mpi", "onesided", "put,get"),
    ),
)
def test_a_library_that_takes_device_pointers_gets_them(shell, cuda, transports, mode, patterns):
    """Every byte arrives, also where one end is in the host's memory."""
    responders = "cuda:host" if mode == "onesided" else "cuda,cuda@0:cuda@1,host:cuda"
    result = shell.measure(
        *("-t", transports, "--memory", responders, "-p", patterns, "--mode", mode),
        *("-s", "8,10001", "-W", "3", *QUICK),
        **cuda(readable=1),
        **shell.patched(TAKES),
        **quick_start("wheel"),
    )
    found = result.cells("transport", "memory", "pattern", "size_bytes")
    names = [len(each.split(",")) for each in (transports, responders, patterns)]
    assert len(found) == 2 * names[0] * names[1] * names[2]
    assert not result.run.skips
    assert not result.run.failures


@pytest.mark.extended
@pytest.mark.parametrize("name", ["wheel", "mpich"])
def test_a_library_that_cannot_be_asked_is_tried(shell, cuda, name):
    """In a process of its own, which crashes where the memory traps."""
    for readable in (0, 1):
        result = shell.measure(
            *(*chosen(name), "-t", "mpi,mpi4py", "--memory", "cuda,host", "-s", "8", *QUICK),
            **cuda(**({"readable": 1} if readable else {})),
            **shell.patched(UNASKED),
            **quick_start(name),
        )
        memories = ("cuda", "host") if readable else ("host",)
        expected = {(transport, memory) for transport in ("mpi", "mpi4py") for memory in memories}
        assert result.cells("transport", "memory") == expected
        for reason in result.reasons("mpi"):
            assert "does not take its pointers: a trial was ended by SIGSEGV" in reason
            assert reason.endswith(STAGED)
        assert bool(result.reasons("mpi")) == (not readable)
        assert "Traceback" not in result.out + result.err
        result.path.unlink()
