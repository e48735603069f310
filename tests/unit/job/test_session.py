"""What a client of halftrip serve may ask for, and which secrets a server takes."""

import msgspec
import pytest

from halftrip.errors import UsageError
from halftrip.job import session
from halftrip.plan.cost import MOST_RANKS

ASKED = session.SessionRequest(
    version="1", nonce=b"n", ranks=2, numbers=(1,), threads=1, seconds=None, reached_at="::1"
)


def test_no_more_is_asked_for_than_a_run_may_have():
    ASKED.check()
    most = msgspec.structs.replace(ASKED, ranks=MOST_RANKS, numbers=(MOST_RANKS - 1,))
    most.check()
    too_many = [{"ranks": ranks, "numbers": (ranks - 1,)} for ranks in (MOST_RANKS + 1, 1 << 40)]
    wrong = [{"numbers": numbers} for numbers in ((), (0, 1), (7,))]
    for changes in (*too_many, *wrong, {"reached_at": "localhost"}, {"threads": 0}):
        with pytest.raises(UsageError, match="makes no sense"):
            msgspec.structs.replace(ASKED, **changes).check()


def test_a_server_takes_no_secret_that_can_be_guessed(tmp_path, monkeypatch):
    monkeypatch.delenv(session.SECRET_VARIABLE, raising=False)
    path = tmp_path / "secret"
    path.write_text("fifteen letters\n")
    with pytest.raises(UsageError, match=r"^--secret-file: .*secret: .* at least 16 characters"):
        session.served_secret(str(path))
    # A client says what the server has.
    assert session.given_secret(str(path)) == "fifteen letters"
    monkeypatch.setenv(session.SECRET_VARIABLE, "short")
    with pytest.raises(UsageError, match=r"^HALFTRIP_SECRET: "):
        session.served_secret(None)
    monkeypatch.delenv(session.SECRET_VARIABLE)
    assert session.served_secret(None) is None
    path.write_text(session.new_secret())
    assert session.served_secret(str(path)) == path.read_text()
