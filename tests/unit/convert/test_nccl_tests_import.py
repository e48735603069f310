"""sendrecv_perf of nccl-tests, imported. Its samples are laid out as its source prints them; the
figures are made."""

import pytest

from halftrip.errors import UsageError
from harness.samples import measured, one_way, sample


def test_its_text():
    rows = measured(sample("nccl-tests", "sendrecv"))
    out, within = rows[-2:]
    assert (out.configuration.pattern, out.configuration.transport) == ("exchange", "nccl")
    assert (out.configuration.buffers, within.configuration.buffers) == ("separate", "same")
    assert (out.configuration.size, out.iterations) == (2097152, 20)
    assert out.configuration.both_ends("memory") == "cuda"
    assert one_way(out) == pytest.approx(76400.0)
    assert out.reported.bandwidth == pytest.approx(27.45e9)


def test_its_json_has_more_digits():
    rows = measured(sample("nccl-tests", "sendrecv-json"))
    assert len(rows) == 6
    assert one_way(rows[0]) == pytest.approx(16214.5, abs=0.1)


def test_what_nccl_says_between_the_rows_does_not_count():
    text = sample("nccl-tests", "sendrecv")
    row = "           8             2"
    assert len(measured(text.replace(row, "node1:1:1 [0] NCCL INFO comm\n" + row))) == 8


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("sendrecv", "sendrecv_perf", "all_reduce_perf", "'all_reduce_perf' is not read here"),
        ("sendrecv", "sendrecv_perf", "sendrecv", "no line says that it is of sendrecv_perf"),
        ("sendrecv-json", "sendrecv_perf", "alltoall_perf", "'alltoall_perf' is not read here"),
        ("sendrecv", "#  Rank  1", "# Rang 1", "1 ranks"),
        ("sendrecv", "#  Rank  1", "#  Rank  2 Pid 1 on a device\n#  Rank  1", "3 ranks"),
        (
            "sendrecv",
            "     time   algbw",
            "      lat   algbw",
            "columns of nccl-tests that are not",
        ),
        ("sendrecv-json", '"nwrong":0.0', '"nwrong":3.0', "3.0 wrong elements"),
        ("sendrecv-json", '"time":16.214513', '"time":[]', "time is no figure"),
        ("sendrecv-json", '"out_of_place":{', '"out_of_place":[{', "no JSON"),
        ("sendrecv-json", '"results":[', '"result":[', "no results"),
    ],
)
def test_what_is_not_read(name, old, new, said):
    text = sample("nccl-tests", name)
    assert old in text
    with pytest.raises(UsageError) as caught:
        measured(text.replace(old, new), "nccl-tests")
    assert said in str(caught.value)
