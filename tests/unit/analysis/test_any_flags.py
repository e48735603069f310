"""What holds for all flags, whatever the samples; and the claims of benchmarks/truth.py, by a whole
run over a simulated path with a fixed seed: that many runs keep them is for truth.py to show."""

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halftrip.analysis.flags import NAMES
from halftrip.analysis.verdict import NOT_OK
from halftrip.report.document import document
from halftrip.results.block import Block, RoundTrips
from halftrip.results.counts import Delivery
from halftrip.results.records import CopyTime, Measurement, WarmUp
from halftrip.results.usage import BusiestTask, CoreUse
from halftrip.views.screen import first_screen
from halftrip.views.why import why
from harness import runs
from harness.choice import drawn
from harness.files import module
from harness.flags import pingpong, seen
from harness.screens import text_of


@pytest.mark.parametrize("n", [1, 2, 23, 24])
@pytest.mark.parametrize("time", [0, 1, 10_000])
@pytest.mark.parametrize("size", [0, 1, 1000])
def test_few_or_equal_samples_have_no_flags(n, time, size):
    """But 24 samples of no time are enough to call the clock coarse."""
    found = seen(pingpong([time] * n, max(time, 1.0), size=size, rtts=None))
    assert set(found) <= {"coarse-clock"}
    assert bool(found) == (time == 0 and n >= 24)


patterns = st.sampled_from(
    [
        *(("pingpong", mode, 1) for mode in ("blocking", "nonblocking", "ssend")),
        *((name, "blocking", window) for name in ("stream", "bidirectional") for window in (1, 64)),
        ("exchange", "blocking", 1),
        *((name, "onesided", window) for name in ("put", "get") for window in (1, 8)),
    ]
)
samples = st.one_of(
    st.lists(st.integers(0, 2**50), min_size=1, max_size=60),
    st.lists(st.sampled_from([0, 1, 1000, 1001, 4000]), min_size=1, max_size=200),
    st.builds(lambda time, n: [time] * n, st.integers(0, 10**9), st.integers(1, 60)),
    st.builds(
        lambda seed, n: np.random.default_rng(seed).lognormal(8, 2, n).astype(int).tolist(),
        st.integers(0, 99),
        st.integers(1, 300),
    ),
)
rtts = st.floats(0, 1e6)
counts = st.integers(0, 10**6)
seconds = st.floats(0, 1e6)
cores = st.none() | st.builds(
    CoreUse,
    number=st.integers(0, 3),
    watched=seconds,
    **dict.fromkeys(("others", "steal", "hertz", "joules"), st.none() | seconds),
    busiest_task=st.none() | st.just(BusiestTask(name="stress (process 7)", share=0.5)),
)
usages = st.builds(
    runs.usage,
    **dict.fromkeys(("iterations", "voluntary", "involuntary"), counts),
    **dict.fromkeys(("elapsed", "user", "system"), seconds),
    waited=st.none() | seconds,
)


@st.composite
def blocks(draw):
    """Any samples in up to four blocks, each with or without all else that a block may have."""
    times = np.array(draw(samples), dtype=np.int64)
    cuts = sorted(draw(st.lists(st.integers(0, times.size), max_size=3)))
    return [
        Block(
            times=part,
            core_to_core_rtt=draw(st.none() | st.builds(RoundTrips, rtts, rtts)),
            timed_out=draw(st.sampled_from([0, 10**9])),
            usage=draw(st.none() | st.tuples(usages, usages)),
        )
        for part in np.split(times, cuts)
    ]


@st.composite
def measurements(draw):
    pattern, mode, window = draw(patterns)
    size = draw(st.sampled_from([0, 1, 8, 1000, 1024, 2048, 4096, 2**40]))
    lost = draw(st.sampled_from([None, 0, 3, 10]))
    taken = draw(blocks())
    if lost is not None:
        delivery = Delivery(sent=10, lost=lost, reordered=0)
        taken[0] = msgspec.structs.replace(taken[0], delivery=delivery)
    return Measurement(
        configuration=runs.configuration(
            draw(st.sampled_from(["shm", "udp"])), size,
            pattern=pattern, mode=mode, window=window, rate=draw(st.sampled_from([None, 1e6])),
        ),
        slice=draw(st.integers(0, 2)),
        launch=draw(st.integers(0, 2)),
        at=0.0,
        first=draw(st.integers(0, 2**50)),
        warm_up=WarmUp(1, draw(st.integers(0, 10**9)), draw(st.booleans())),
        iterations=draw(st.sampled_from([1, 10, 1000])),
        stopped=draw(st.sampled_from(["converged", "time", "count", "full"])),
        blocks=taken,
        cores=draw(st.none() | st.tuples(cores, cores)),
    )  # fmt: skip


@settings(max_examples=40)
@given(
    st.lists(measurements(), min_size=1, max_size=8),
    st.lists(st.floats(0, 1e9).map(lambda ns: CopyTime(rank=0, size=4096, ns=ns)), max_size=2),
    st.booleans(),
)
def test_flags_and_verdicts_of_any_run_are_known_and_have_figures(measured, copies, pinned):
    ranks = (runs.environment(0), runs.environment(1, **({} if pinned else {"core": None})))
    run = runs.run(*measured, copy_times=tuple(copies), environments=ranks)
    content = document(run)
    assert {row.configuration for row in content.rows} == run.by_configuration.keys()
    for row in content.rows:
        names = [flag.name for flag in row.flags]
        assert len(set(names)) == len(names)
        assert set(names) <= set(NAMES)
        assert row.verdict.word in ("ok", *NOT_OK)
        cause = row.verdict.cause
        assert cause is not None or row.verdict.word == "ok"
        for each in (*row.flags, *([] if cause is None else [cause])):
            words = each.seen.replace(",", " ").replace(":", " ").split()
            assert not {"nan", "inf", "-inf", "anything"} & set(words), each
            assert each.advice
    # Nothing of it cannot be shown.
    for width in (40, 80, 200):
        if content.latency_rows:
            text_of(first_screen(content), width)
        text_of(why(content), width)


truth = module("benchmarks/truth.py")

# Of several rows in each run; of the others, each is right or wrong.
SHARES = ("coverage", "difference")
GROUPS = ("difference", "flaw", "sound", "same", "changes", "recovery", "history")
CLAIMS = [
    *drawn(truth.GROUPS["coverage"](), 8),
    *(claim for group in GROUPS for claim in truth.GROUPS[group]()),
]


@pytest.mark.parametrize(
    "claim", CLAIMS, ids=lambda claim: f"{claim.group}: {claim.what}, {claim.path}"
)
def test_a_claim_in_one_run(claim):
    """Of 8 rows, the intervals of 3 may be wrong by chance; every flawed row has its flag, no sound
    row has one, and no figure is wrong."""
    score = claim.trial(3)
    assert truth.kept(claim, score), f"{score}: {truth.interval(score)}"
    if claim.group not in SHARES:
        assert score.hits == (score.of if claim.least > 0 else 0)


def test_every_flag_that_a_path_can_cause_is_checked():
    """The others are about where ranks ran, about MPI, and about blocks that were not accepted."""
    checked = {flaw.name for flaw in truth.FLAWS}
    of_mpi = {"mpi-warned", "slower-than-shm"}
    assert checked == set(NAMES) - {"unpinned", "oversubscribed", "other-state"} - of_mpi
