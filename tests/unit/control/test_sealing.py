"""What seals is what the library's documentation and the standards have."""

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from halftrip.control import sealing
from halftrip.control.sealing import KeyShare, hkdf


@pytest.mark.parametrize("size", [1, 32, 42, 64, 100])
@pytest.mark.parametrize("salt", [b"", b"salt", bytes(100)])
def test_keys_are_derived_as_the_library_derives_them(size, salt):
    expected = HKDF(hashes.SHA256(), size, salt, b"info").derive(b"secret")
    assert hkdf(b"secret", size, salt, b"info") == expected


def test_both_ways_to_the_library_lead_to_the_same(monkeypatch):
    """So that one end may have a version in which the short way has ended."""
    shares = [KeyShare()]
    found = sealing.documented()
    assert sealing.primitives() != found
    monkeypatch.setattr(sealing, "primitives", lambda: found)
    shares.append(KeyShare())
    one, other = (
        share.sealing(theirs.public, "token", b"said", is_caller)
        for share, theirs, is_caller in zip(shares, reversed(shares), (True, False), strict=True)
    )
    assert other.open(one.seal(b"a text")) == b"a text"
    assert one.open(other.seal(b"another")) == b"another"
