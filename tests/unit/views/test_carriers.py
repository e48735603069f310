"""What carried messages where a library chose that, a line for each thing that was asked of it."""

from halftrip.results.carrier import Carrier
from halftrip.views.carriers import lines, table
from harness import runs

LIBRARY = "UCX 1.13.1, /lib/libucp.so.0"


def test_a_line_for_each_way_that_was_asked_for():
    asked = (
        ((("ucx_api", "tag"),), ["sysv/memory", "cma/memory"]),
        ((("ucx_api", "am"), ("ucx_tls", "tcp")), []),
    )
    carriers = tuple(
        Carrier(transport="ucx", rank=rank, peer=1 - rank, library=LIBRARY, ways=ways, extra=extra)
        for extra, ways in asked
        for rank in (0, 1)
    )
    run = runs.run(carriers=carriers)
    assert lines(run) == [
        f"ucx: by sysv/memory and cma/memory ({LIBRARY})",
        f"ucx with UCX API am, UCX_TLS tcp: by what it does not say ({LIBRARY})",
    ]
    (made,) = table(run)
    assert [line.values for line in made.lines] == [
        ["ucx", "", "sysv/memory and cma/memory", LIBRARY],
        ["ucx", "UCX API am, UCX_TLS tcp", "what it does not say", LIBRARY],
    ]
    assert table(runs.run()) == []
