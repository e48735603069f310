"""Which library and which provider are taken where there are several."""

from types import SimpleNamespace

import pytest

from halftrip.errors import Unavailable
from halftrip.libfabric import library
from halftrip.libfabric.library import LIBRARY, Asked, choose, installed, limits


@pytest.fixture
def having(monkeypatch):
    """The library has these providers, in its order."""

    def have(*names):
        def offers(asked):
            return [
                SimpleNamespace(provider=name) for name in names if asked.provider in ("", name)
            ]

        choose.cache_clear()
        monkeypatch.setattr(library, "offers", offers)

    yield have
    choose.cache_clear()


@pytest.mark.parametrize(
    ("names", "asked", "taken"),
    [
        (("verbs;ofi_rxm", "tcp;ofi_rxm", "shm"), Asked(), "shm"),
        (("verbs;ofi_rxm", "shm"), Asked(same_host=False), "verbs;ofi_rxm"),
        (("sockets", "udp;ofi_rxd", "tcp;ofi_rxm"), Asked(), "tcp;ofi_rxm"),
        (("shm", "sockets"), Asked("sockets"), "sockets"),
    ],
)
def test_the_provider_that_is_named_or_the_fastest_is_taken(having, names, asked, taken):
    having(*names)
    assert choose(asked).provider == taken


@pytest.mark.parametrize(
    ("names", "asked", "said"),
    [
        (("shm", "sockets"), Asked("verbs"), "--provider verbs: libfabric has shm, sockets on one"),
        ((), Asked(same_host=False), "^libfabric has no provider between hosts$"),
    ],
)
def test_what_there_is_not_is_refused(having, names, asked, said):
    having(*names)
    with pytest.raises(Unavailable, match=said):
        choose(asked)


def test_a_library_is_found_once_in_each_place(tmp_path):
    for place in ("usr/local/lib", "opt/amazon/efa/lib64", "opt/cray/libfabric/1.15/lib64"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / LIBRARY).touch()
    (tmp_path / "opt/amazon/lib").symlink_to(tmp_path / "opt/amazon/efa/lib64")
    found = [path for path in installed(tmp_path) if path.startswith(str(tmp_path))]
    assert [path.removeprefix(f"{tmp_path}/").split("/")[1] for path in found] == [
        "local",
        "amazon",
        "cray",
    ]


def test_limits_are_as_they_are_set_or_described():
    described = [
        ("FI_OFI_RXM_EAGER_LIMIT", "", "the eager protocol (default: 16384)"),
        ("FI_OFI_RXM_SAR_LIMIT", "4096", "the segmentation protocol (default 131072)."),
        ("FI_SHM_SAR_THRESHOLD", "", "Default: SIZE_MAX (18446744073709551615)"),
        ("FI_SHM_DISABLE_CMA", "", "Manually disables CMA. Default: false"),
    ]
    assert limits(SimpleNamespace(settings=described)) == {
        "FI_OFI_RXM_EAGER_LIMIT": 16384,
        "FI_OFI_RXM_SAR_LIMIT": 4096,
    }
