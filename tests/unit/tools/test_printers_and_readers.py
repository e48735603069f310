"""What a tool's printer prints, its reader reads: the same rows, within the digits printed. What
the tool itself had printed is printed again."""

import json
import re
from typing import NamedTuple

import msgspec
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from halftrip.analysis.matching import partners
from halftrip.errors import UsageError
from halftrip.plan.configurations import settings as points
from halftrip.plan.layers import file_layer, make_plan
from halftrip.plan.recipes import path_of
from halftrip.registry import IMPORTERS, STYLES
from halftrip.report.document import document
from harness import runs
from harness.imports import SAMPLES, imported_run, in_style, one_way, sample


class Prints(NamedTuple):
    """What a tool prints: `patterns` by the windows they may have, the least time that its digits
    tell, ns, the bytes that all sizes are multiples of, and the most sizes of a text."""

    patterns: dict
    least_ns: float = 20.0
    unit: int = 1
    modes: tuple = ("blocking",)
    pairs: tuple = ((0, 1),)
    transport: str = "mpi"
    most_sizes: int = 5
    iterations: tuple = (1, 10)


PINGPONG, STREAM, BOTH = {"pingpong": [1]}, {"stream": [64]}, {"bidirectional": [64]}
WINDOWS = [2, 64, 100]
TOOLS = {
    "osu": Prints(PINGPONG | {"stream": WINDOWS, "bidirectional": WINDOWS}),
    "imb": Prints(PINGPONG | {"pingping": [1]} | STREAM | BOTH),
    # Their texts do not say the window, and have the test of one size.
    "iperf3": Prints({"stream": [1], "bidirectional": [1]}, transport="tcp", most_sizes=1),
    "sockperf": Prints(PINGPONG, transport="udp", most_sizes=1, iterations=(1,)),
    "mpi4py-ve": Prints(PINGPONG),
    "eight-measurements": Prints(PINGPONG),
    "dragon": Prints(PINGPONG | {"stream": WINDOWS}, 2100.0, pairs=((0, 1), (1, 0))),
    "one-box": Prints(PINGPONG, 2100.0, 4),
    "hpcbench": Prints(PINGPONG | {"stream": WINDOWS}, modes=("blocking", "nonblocking")),
}
# Tools whose published texts, by their numbers, have prose beside the tables; samples of the others
# have nothing else.
PUBLISHED = ("mpi4py-ve", "eight-measurements", "dragon", "one-box")
# What is kept of a text has none.
COLOUR = re.compile(r"\x1b\[[\d;]*m")
SAMPLES_OF = [
    pytest.param(
        path.parent.name, COLOUR.sub("", path.read_text()), id=f"{path.parent.name}-{path.stem}"
    )
    for tool in sorted(TOOLS.keys() - set(PUBLISHED))
    for path in sorted((SAMPLES / tool).iterdir())
]


@st.composite
def made(draw, tool):
    """A run of one pattern, as the tool may measure it."""
    prints = TOOLS[tool]
    pattern = draw(st.sampled_from(list(prints.patterns)))
    units = st.integers(1, (1 << 24) // prints.unit)
    sizes = [
        prints.unit * n
        for n in draw(st.lists(units, min_size=1, max_size=prints.most_sizes, unique=True))
    ]
    if tool == "one-box":
        # Its sentence has the first and the last.
        sizes = [4, max(8, *sizes)]
    repeats = tool == "eight-measurements" or (tool == "hpcbench" and len(sizes) == 1)
    window = draw(st.sampled_from(prints.patterns[pattern]))
    is_nonblocking = tool in ("osu", "imb") and window > 1
    fields = {
        "pattern": pattern,
        "window": window,
        "iterations": draw(st.sampled_from(prints.iterations)),
        "mode": draw(st.sampled_from(("nonblocking",) if is_nonblocking else prints.modes)),
        "verify": tool == "osu" and draw(st.booleans()),
    }
    messages = fields["iterations"] * window * (2 if pattern == "pingpong" else 1)
    found = []
    for launch in range(draw(st.integers(1, 4)) if repeats else 1):
        for size in sorted(sizes):
            for pair in prints.pairs:
                ns = messages * draw(st.floats(prints.least_ns, min(1e6, 5e4 * size)))
                samples = [round(ns * factor) for factor in (0.9, 1.0, 1.3)]
                # Of the untimed iterations, too.
                spent = runs.usage(elapsed=1.1e-9 * sum(samples))
                place = {"launch": launch, "pair": pair, "usage": (spent, spent)}
                found.append(
                    runs.measurement(prints.transport, size, samples=samples, **fields, **place)
                )
    return runs.run(*found)


def by_point(run, tool):
    """The measurements by what they are of, in the order of their repetitions."""
    found = {}
    for each in sorted(run.measurements, key=lambda each: (each.launch, each.slice)):
        names = ["pattern", "mode", "size", "pair", *["window"] * (tool != "hpcbench")]
        point = tuple(getattr(each.configuration, name) for name in names)
        found.setdefault(point, []).append(each)
    return found


def test_every_tool_that_is_read_and_printed_is_tried():
    assert set(TOOLS) == set(STYLES) & set(IMPORTERS)


@pytest.mark.parametrize("tool", TOOLS)
@settings(max_examples=30)
@given(data=st.data())
def test_its_text_is_read_as_the_same_run(tool, data):
    run = data.draw(made(tool))
    text = in_style(run, tool)
    again = imported_run(text)
    own = in_style(again, tool)
    assert in_style(imported_run(own), tool) == own
    # A report of eight measurements has what measured it, and cold exchanges, where it is ours.
    assert own == text or tool == "eight-measurements"
    before, after = by_point(run, tool), by_point(again, tool)
    assert after.keys() == before.keys()
    for point, measured in before.items():
        for mine, its in zip(measured, after[point], strict=True):
            ns = float(mine.samples.mean()) / mine.iterations
            ns /= mine.configuration.messages_per_iteration
            step = its.reported.step
            if tool in ("imb", "dragon"):
                assert its.iterations == mine.samples.size * mine.iterations
            assume(step < 0.5 * ns)
            # Half a unit of the last digit, more where a rate has so few that it is not linear.
            slack = 1.01 if its.reported.bandwidth is not None else 0.51
            assert abs(one_way(its) - ns) <= slack * step + 1.0 + 1e-9 * ns


@pytest.mark.parametrize(("tool", "text"), SAMPLES_OF)
def test_what_it_had_printed_is_printed_again(tool, text):
    assert in_style(imported_run(text), tool) == text.replace("Test done!\n", "")


@pytest.mark.parametrize("tool", ["osu", "imb", "iperf3", "sockperf"])
def test_what_a_recipe_prints_in_the_style_of_its_tool_is_read(tool):
    """All tables of it, one after the other, with the same rows and times."""
    plan = make_plan(file_layer(path_of(f"like-{tool}")))
    choices = {name: {"wait": ("block",)} for name in plan.transports}
    measured = []
    for number, each in enumerate(sorted(points(plan, choices), key=lambda each: each.size)):
        found = runs.measurement(each.transport, each.size, iterations=1)
        messages = each.messages_per_iteration
        samples = [messages * (3000 + number) * n for n in (9, 10, 14)]
        blocks = runs.blocks(samples, usage=(runs.usage(), runs.usage()))
        measured.append(msgspec.structs.replace(found, configuration=each, blocks=blocks))
    run = runs.run(*measured)
    text = in_style(run, tool)
    again = imported_run(text)
    assert in_style(again, tool) == text
    mine, its = ([row.configuration for row in document(each).rows] for each in (run, again))
    # iperf3 has no windows, and so none stands beside one of ours.
    assert len(partners(mine, its, match_unknown=True)) == (len(mine) if tool != "iperf3" else 0)
    of = {}
    for each in again.measurements:
        of.setdefault((each.configuration.pattern, each.configuration.size), each)
    assert len(of) == len(run.measurements)
    for mine in run.measurements:
        its = of[mine.configuration.pattern, mine.configuration.size]
        ns = float(mine.samples.mean()) / mine.configuration.messages_per_iteration
        assert one_way(its) == pytest.approx(ns, abs=1.01 * its.reported.step + 1.0)


@pytest.mark.parametrize(
    ("tool", "name"), [("iperf3", "two-streams.json"), ("sockperf", "ping-pong")]
)
def test_a_text_that_is_kept_whole_is_not_printed_for_some_of_its_rows(tool, name):
    run = imported_run(sample(tool, name))
    whole = document(run, flags=False)
    # Runs of several texts have all of them.
    (source, *_) = run.sources
    other = msgspec.structs.replace(source, facts={**source.facts, "text": "another\n"})
    two = msgspec.structs.replace(run, sources=[*run.sources, other])
    printed = STYLES.load(tool)(whole._replace(run=two))
    assert printed == COLOUR.sub("", sample(tool, name)) + "another\n"
    with pytest.raises(UsageError, match="leave out what chooses rows"):
        STYLES.load(tool)(whole._replace(rows=whole.rows[1:]))


def test_a_long_text_is_not_kept_and_one_of_several_messages_has_no_percentiles():
    log = (SAMPLES / "sockperf" / "full-log.txt").read_text()
    last = log.splitlines()[-1].split(", ")
    many = "".join(f"{n}, {', '.join(last[1:])}\n" for n in range(10_000, 11_000))
    run = imported_run(log + many)
    assert all(not source.facts for source in run.sources)
    with pytest.raises(UsageError, match="what it had printed is too long to be in the file"):
        in_style(run, "sockperf")
    several = runs.run(runs.measurement("tcp", 64, iterations=10))
    with pytest.raises(UsageError, match=r"tcp pingpong 64 B: percentiles are of single messages"):
        in_style(several, "sockperf")
    for style, lacking in (
        ("sockperf", "ping-pong over tcp or udp"),
        ("iperf3", "stream over tcp"),
    ):
        with pytest.raises(UsageError, match=f"the run has no {lacking}; measure it with -t "):
            in_style(runs.run(runs.measurement("shm", 8)), style)


def test_iperf3_s_intervals_are_slices_and_both_ways_have_a_sum():
    fields = {"pattern": "bidirectional", "window": 4, "iterations": 1}
    slices = [
        runs.measurement("tcp", 1000, samples=[8000 * (1 + n)] * 5, slice=n, **fields)
        for n in range(3)
    ]
    test = json.loads(in_style(runs.run(*slices), "iperf3"))
    # 4 messages of 1,000 bytes each way in 8, 16 and 24 us.
    for way in ("sum", "sum_bidir_reverse"):
        rates = [each[way]["bits_per_second"] for each in test["intervals"]]
        assert rates == pytest.approx([4e9, 2e9, 4e9 / 3])
    assert [each["sum"]["start"] for each in test["intervals"]] == pytest.approx([0, 4e-5, 12e-5])
    ended = test["end"]["sum_received"]
    assert ended == test["end"]["sum_received_bidir_reverse"]
    assert (ended["bytes"], ended["bits_per_second"]) == (60_000, pytest.approx(2e9))
