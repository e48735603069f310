"""Names of rows."""

import pytest

from halftrip.report.fields import is_called, name_of, varying
from halftrip.results.names import Names
from harness import runs


@pytest.mark.parametrize(
    "others",
    [
        [{"size": 64}, {"size": 65536}, {"transport": "tcp", "size": 64}],
        [{"pattern": "stream", "window": each, "size": 64} for each in (8, 64)],
        [{"size": 8, "pair": (0, 1)}, {"size": 8, "pair": (1, 2)}],
    ],
)
def test_a_row_alone_is_called_by_its_name(others):
    every = [runs.configuration(**each) for each in others]
    for each in every:
        name = name_of(each, varying(every), Names({}))
        assert [other for other in every if is_called(other, name)] == [each]
        assert not is_called(each, f"{name} 7")
