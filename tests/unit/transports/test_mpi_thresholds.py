"""What the control variables of an MPI mean for messages: by its version text and their values."""

import pytest

from halftrip.transports import mpi
from halftrip.transports.mpi import _of_ucx

OPEN_MPI_5 = {
    "pml_ob1_priority": 20,
    "btl_sm_eager_limit": 4096,
    "btl_vader_eager_limit": 4096,
    "btl_sm_fbox_size": 4096,
    "btl_sm_max_send_size": 32768,
    "btl_self_eager_limit": 1024,
    "btl_tcp_eager_limit": 65536,
    "btl_tcp_max_send_size": 131072,
    "btl_tcp_put_limit": -1,
}
MPICH = {
    "MPIR_CVAR_CH4_IPC_CMA_P2P_THRESHOLD": 8192,
    "MPIR_CVAR_CH4_IPC_XPMEM_P2P_THRESHOLD": 65536,
    "MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_CELL_SIZE": 16384,
    "MPIR_CVAR_CH4_OFI_EAGER_THRESHOLD": 12288,
    "MPIR_CVAR_CH3_EAGER_MAX_MSG_SIZE": 131072,
    "MPIR_CVAR_NEMESIS_SHM_EAGER_MAX_SZ": -1,
}


@pytest.fixture
def of(monkeypatch):
    """The thresholds of an MPI of this version with these variables, by what sets each."""

    def found(version, values, same_host):
        import re

        def read(pattern):
            return {k: value for k, value in values.items() if re.fullmatch(pattern, k)}

        monkeypatch.setattr(mpi.library, "full_version", lambda: version)
        monkeypatch.setattr(mpi.control_variables, "read_numbers", read)
        monkeypatch.delenv("UCX_RNDV_THRESH", raising=False)

        mpi.known.cache_clear()
        made = mpi.known(same_host).thresholds
        return {each.setting: each for each in made}

    yield found
    mpi.known.cache_clear()


def test_open_mpi_has_one_component_within_a_host_and_others_between(of):
    here = of("Open MPI v5.0.11", OPEN_MPI_5, True)
    assert set(here) == {
        "OMPI_MCA_btl_sm_eager_limit",
        "OMPI_MCA_btl_sm_fbox_size",
        "OMPI_MCA_btl_sm_max_send_size",
    }
    # A fast box takes messages of a quarter of its size.
    box = here["OMPI_MCA_btl_sm_fbox_size"]
    assert (box.value, box.scale) == (1024, 4)
    there = of("Open MPI v5.0.11", OPEN_MPI_5, False)
    assert {name: each.acts for name, each in there.items()} == {
        "OMPI_MCA_btl_tcp_eager_limit": "protocol",
        "OMPI_MCA_btl_tcp_max_send_size": "pieces",
    }
    # Another PML does not use them.
    without = {name: value for name, value in OPEN_MPI_5.items() if name != "pml_ob1_priority"}
    assert of("Open MPI v5.0.11", without, True) == {}
    ucx = of("Open MPI v5.0.11", without | {"pml_ucx_priority": 51}, True)
    assert set(ucx) == {"UCX_RNDV_THRESH"}


@pytest.mark.parametrize(
    ("device", "same_host", "expected"),
    [
        # Measured with Debian's: the cell has no effect within a host, UCX's threshold has.
        ("ch4:ucx", True, {"UCX_RNDV_THRESH": 0}),
        (
            "ch4:ucx ofi",
            True,
            {
                "MPIR_CVAR_CH4_IPC_CMA_P2P_THRESHOLD": 8192,
                "MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_CELL_SIZE": 16384,
            },
        ),
        (
            "ch4:ucx ofi",
            False,
            {"MPIR_CVAR_CH4_OFI_EAGER_THRESHOLD": 12288, "UCX_RNDV_THRESH": 0},
        ),
        ("ch3:nemesis", False, {"MPIR_CVAR_CH3_EAGER_MAX_MSG_SIZE": 131072}),
        # -1: as the library likes.
        ("ch3:nemesis", True, {}),
        ("", True, {}),
    ],
)
def test_mpich_has_those_of_its_device(of, monkeypatch, device, same_host, expected):
    monkeypatch.setitem(mpi._NEEDED, "XPMEM", "/none/such")
    version = f"MPICH Version: 5.0.2\nMPICH Device:      {device}\nMPICH CC: gcc"
    found = of(version, MPICH, same_host)
    assert {name: each.value for name, each in found.items()} == expected
    # What a component needs has to be there.
    monkeypatch.setitem(mpi._NEEDED, "XPMEM", "/dev/null")
    xpmem = "MPIR_CVAR_CH4_IPC_XPMEM_P2P_THRESHOLD"
    assert (xpmem in of(version, MPICH, same_host)) == (same_host and "ofi" in device)
    assert of("Fine MPI 1.0", MPICH | OPEN_MPI_5, same_host) == {}


@pytest.mark.parametrize(
    ("text", "values"),
    [("64K", [65536]), ("auto", [0]), ("intra:8K", [0]), ("inf", []), (None, [0])],
)
def test_ucx_has_what_is_set(text, values):
    environ = {} if text is None else {"UCX_RNDV_THRESH": text}
    found = list(_of_ucx(True, environ))
    assert [each.value for each in found] == values
    assert all(each.header <= max(each.value, 128) for each in found)


@pytest.mark.parametrize(
    ("version", "values", "here", "there"),
    [
        ("Open MPI v5.0.11", OPEN_MPI_5, "shm (btl sm)", "tcp (btl tcp)"),
        ("Open MPI v5.0.11", OPEN_MPI_5 | {"btl_uct_eager_limit": 8}, "shm (btl sm)", ""),
        (
            "Open MPI v4.1.4",
            {"pml_ob1_priority": 20, "btl_tcp_eager_limit": 1},
            *["tcp (btl tcp)"] * 2,
        ),
        (
            "Open MPI v4.1.4",
            {"pml_ucx_priority": 51, "mtl_ofi_priority": 25},
            *["ucx (pml ucx)"] * 2,
        ),
        ("Open MPI v5.0.11", {"mtl_ofi_priority": 25}, *["libfabric (mtl ofi)"] * 2),
        ("Open MPI v5.0.11", {"mtl_ofi_priority": 25, "mtl_psm2_priority": 40}, "", ""),
        ("MPICH Device: ch4:ofi", {}, "shm (ch4:ofi)", "libfabric (ch4:ofi)"),
        ("MPICH Device: ch4:ofi", {"MPIR_CVAR_NOLOCAL": 1}, *["libfabric (ch4:ofi)"] * 2),
        ("MPICH Device: ch4:ucx", {}, *["ucx (ch4:ucx)"] * 2),
        ("MPICH Device: ch3:sock", {}, *["tcp (ch3:sock)"] * 2),
        ("MPICH Device: ch4:ucx ofi", {}, "shm (ch4:ucx ofi)", ""),
        ("another MPI", {}, None, None),
    ],
)
def test_the_transport_below_is_that_of_what_the_mpi_uses(of, version, values, here, there):
    for same_host, way in ((True, here), (False, there)):
        of(version, values, same_host)
        found = mpi.carried(same_host)
        assert (found.ways if found else None) == ([way] if way else None)
