"""mpptest, imported. Its sample is laid out as its source prints it; the figures are made."""

import pytest

from halftrip.errors import UsageError
from harness.samples import measured, one_way, sample


def test_a_table():
    rows = measured(sample("mpptest", "cit"))
    assert [each.configuration.size for each in rows] == [0, 32, 64, 1024]
    assert one_way(rows[1]) == pytest.approx(1512.0)
    assert rows[1].reported.step == pytest.approx(0.001)
    assert rows[1].configuration.pair == (0, 1)
    assert rows[1].configuration.variant == ()


def test_the_least_and_the_most_of_givedy():
    text = sample("mpptest", "cit").replace("21164021.16\n", "21164021.16\t1.400000\t2.500000\n")
    assert measured(text)[1].reported.spread == pytest.approx({"min": 1400.0, "max": 2500.0})


def test_another_protocol_is_another_variant():
    text = sample("mpptest", "cit").replace("type = blocking", "type = nonblocking")
    assert measured(text)[0].configuration.variant == (("protocol", "nonblocking"),)


def test_data_for_gnuplot_has_a_heading_alone():
    text = sample("mpptest", "cit")
    text = text[text.index("#p0") : text.index("plot square")]
    assert len(measured(text)) == 4


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("type = blocking", "type = blocking-bisect", "'blocking-bisect' is not read here"),
        ("0\t1\t1\t32", "0\t0\t1\t32", "ranks 0 and 0"),
        ("1.512000", "0.000000", "took no time"),
        ("\t21164021.16", "", "5 figures below 6 columns"),
    ],
)
def test_what_is_not_read(old, new, said):
    text = sample("mpptest", "cit")
    assert old in text
    with pytest.raises(UsageError) as caught:
        measured(text.replace(old, new))
    assert said in str(caught.value)
