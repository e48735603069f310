"""Which UCX a process takes, and what is said of one that cannot be used."""

import struct
import subprocess

import pytest

from halftrip.errors import Unavailable
from halftrip.ucx import library as module
from halftrip.ucx.library import LIBRARY, Library, library
from harness.native_build import COMPILER

VERSION = (
    "void ucp_get_version(unsigned* a, unsigned* b, unsigned* c) {{ *a = 1; *b = {}; *c = 0; }}"
)
# The header of a shared object for aarch64.
ELSEWHERE = struct.pack(
    "<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", 3, 183, 1, *[0] * 4, 64, 56, 0, 0, 0, 0
)


def made(folder, contents):
    path = folder / LIBRARY
    if isinstance(contents, bytes):
        path.write_bytes(contents)
    else:
        source = folder / "library.c"
        source.write_text(contents)
        subprocess.run([COMPILER, "-x", "c", "-shared", "-o", path, source], check=True)
    return path


@pytest.mark.parametrize(
    ("contents", "said"),
    [
        (b"no library", "UCX cannot be loaded: {path}: file too short"),
        (ELSEWHERE, "UCX cannot be loaded: {path}: "),
        ("", "{path} is no UCX: it has no ucp_get_version"),
        (VERSION.format(8), "UCX 1.8.0 ({path}) is too old: 1.10 is needed"),
    ],
    ids=["broken", "of another machine", "of another name", "too old"],
)
def test_one_that_cannot_be_used_is_said_in_a_line(tmp_path, contents, said):
    path = made(tmp_path, contents)
    with pytest.raises(Unavailable) as caught:
        Library(str(path))
    assert str(caught.value).startswith(said.format(path=path))
    assert "\n" not in str(caught.value)


def test_one_that_lacks_a_function_names_it(tmp_path):
    found = Library(str(made(tmp_path, VERSION.format(10))))
    with pytest.raises(Unavailable, match=r"^UCX 1\.10\.0 has no ucp_config_read$"):
        _ = found.addresses


def test_the_first_that_can_be_used_is_taken(tmp_path, monkeypatch):
    folders = [tmp_path / name for name in "abc"]
    for folder, contents in zip(
        folders, (b"", VERSION.format(13), VERSION.format(20)), strict=True
    ):
        folder.mkdir()
        made(folder, contents)
    paths = [str(folder / LIBRARY) for folder in folders]
    monkeypatch.setattr(module, "_loaded", lambda: None)
    monkeypatch.setattr(module, "installed", lambda: paths)
    take = library.__wrapped__
    assert take().path == paths[1]
    assert take(str(folders[2])).path == paths[2]
    with pytest.raises(
        Unavailable, match=r"^--ucx-library: UCX cannot be loaded: .*file too short"
    ):
        take(paths[0])
    with pytest.raises(Unavailable, match=f"^--ucx-library {tmp_path}: there is no {LIBRARY}$"):
        take(str(tmp_path))
    monkeypatch.setattr(module, "installed", lambda: paths[:1])
    with pytest.raises(Unavailable, match="file too short"):
        take()
    monkeypatch.setattr(module, "installed", list)
    with pytest.raises(Unavailable, match=r"^there is no libucp\.so\.0; apt install libucx0"):
        take()
    monkeypatch.setattr(module, "_loaded", lambda: Library(paths[1]))
    assert take().path == take(str(folders[1])).path == paths[1]
    with pytest.raises(Unavailable, match=r"this process has UCX 1\.13\.0, .* already, as its MPI"):
        take(str(folders[2]))
