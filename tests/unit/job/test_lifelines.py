"""The connections of an existing job's ranks: all are made, or every rank knows why not."""

from halftrip.control.network import Network
from halftrip.control.protocol import Abort
from halftrip.job import join
from harness.groups import TOKEN, in_group


def test_where_one_rank_cannot_reach_rank_0_all_end_with_a_reason(monkeypatch):
    connect = join.connect

    def connect_some(address, token, hello, seconds, network):
        if hello.rank == 2:
            raise OSError(113, "no way to port 1")
        return connect(address, token, hello, seconds, network=network)

    def work(group):
        (channel,) = join.connect_to_rank_0(group, TOKEN, Network())
        message = channel.receive()
        channel.close()
        return message

    monkeypatch.setattr(join, "connect", connect_some)
    monkeypatch.setattr(join, "_CONNECT_SECONDS", 0.5)
    results = in_group(3, work)
    assert str(results[0]) == "1 of 2 ranks could not reach rank 0 in 0 s"
    assert results[1] == Abort(str(results[0]))
    assert "rank 2 cannot reach rank 0: [Errno 113] no way to port 1" in str(results[2])
