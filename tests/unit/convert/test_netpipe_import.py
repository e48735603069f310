"""NetPIPE, imported: samples are of NPtcp and NPopenmpi 3.7.2 between two processes of one host."""

import pytest

from halftrip.errors import UsageError
from harness.samples import measured, one_way, sample


def test_its_file():
    rows = measured(sample("netpipe", "np-out"))
    assert len(rows) == 40
    assert rows[0].configuration.size == 1
    assert rows[0].configuration.pattern == "pingpong"
    assert one_way(rows[0]) == pytest.approx(7630.0)
    assert rows[0].reported.step == pytest.approx(10.0)
    # 1 Mbps is 2^20 bits per second: 1 byte in 7.63 us.
    assert rows[0].reported.bandwidth == pytest.approx(1 / 7.63e-6, rel=2e-3)


def test_its_screen():
    rows = measured(sample("netpipe", "screen-tcp"))
    assert rows[0].configuration.transport == "tcp"
    assert (rows[0].iterations, rows[0].reported.counted) == (12620, True)
    assert one_way(rows[0]) == pytest.approx(7630.0)
    assert measured(sample("netpipe", "screen-mpi"))[0].configuration.transport == "netpipe"


def test_file_and_screen_of_one_run_agree():
    screen = measured(sample("netpipe", "screen-tcp"))
    file = measured(sample("netpipe", "np-out"))
    for a, b in zip(screen, file, strict=False):
        assert a.configuration.size == b.configuration.size
        assert one_way(a) == pytest.approx(one_way(b))


@pytest.mark.parametrize(
    "text",
    ["1 2 3\n", "       1 0.999486   0.763\n", "1,0.999486,0.00000763\n", "0: 1 bytes in 3 usec\n"],
)
def test_three_numbers_alone_are_not_recognised(text):
    with pytest.raises(UsageError, match="the output of no tool that is known"):
        measured(text)


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        (
            "np-out",
            "       2 1.831728",
            "       2 9.831728",
            "line 2: 9.831728 Mbps is not the rate",
        ),
        ("np-out", "       2 1.831728", "       2 1.83", "line 2: not printed as NetPIPE does"),
        ("np-out", "0.00000833\n", "0.00000833 7\n", "line 2: 4 figures in place of 3"),
        (
            "screen-tcp",
            "  1:       2 bytes",
            "  3:       2 bytes",
            "row 3, where row 1 is expected",
        ),
        ("screen-tcp", " 12620 times", "     0 times", "0 times"),
        ("screen-tcp", "7.63 usec", "7.63 msec", "not all that NetPIPE prints"),
        ("screen-tcp", "1.00 Mbps in       7.63", "1.00 Mbps in       0.00", "took no time"),
    ],
)
def test_what_it_does_not_print(name, old, new, said):
    text = sample("netpipe", name)
    assert old in text
    with pytest.raises(UsageError) as caught:
        measured(text.replace(old, new, 1), "netpipe")
    assert said in str(caught.value)
