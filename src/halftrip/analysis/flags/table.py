"""The table of causes: what makes a row one that cannot be trusted as it stands. The verdict, the
flags and docs/flags.md are made from it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from halftrip.analysis.flags import companions, levels, machine_causes, samples
from halftrip.analysis.flags.cause import KEEP_FREQUENCY, KEEP_STATE, OTHERS, SETTINGS, Cause, When
from halftrip.analysis.flags.flag import Evidence, Finding

NO_INTERVAL = "no interval"
FEW_SLICES = "few slices"
_MORE_TIME = "allow more time with --time"

CONTRADICTED = Cause(
    name="contradicted",
    flag="contradiction",
    when="contradict",
    evidence="By more than a factor of 1.25 between the near ends of two intervals, a message "
    "takes longer than a larger one, which could carry it; a message of a stream takes longer than "
    "one of a ping-pong, times (w + 1) / w with a window of w, as the acknowledgement may take as "
    "long as a message; or both ways at once have less bandwidth than one way. These are "
    "guidelines of Träff, Gropp and Thakur (TPDS 2010): a library that breaks one could fix it "
    "with its own calls. A row without an interval is taken to be known within a factor of 2. "
    "Likewise, of two to five launches of a row, or slices of one launch, one takes five times as "
    "long as another.",
    excluded="the core-to-core round trips of the two differ by more than 1.25: they were measured "
    "in different states. Where both have an interval, both are real, and together they show a "
    "defect, mostly of the path",
    says="it gets 66 % of the bandwidth of pingpong through at the same size",
    advice="try other values of --window and --wait: a buffer on the way may be full",
)
SLOWER = CONTRADICTED._replace(
    advice="take several --launches first: one may be what the machine did just then; if it stays, "
    "halftrip explain names changes of protocol between them",
)
UNLIKE_ITSELF = CONTRADICTED._replace(
    advice="take more --launches: nothing tells which of these is right",
)
OUTLIER = Cause(
    name="contradicted",
    flag="outlier-size",
    when="contradict",
    evidence="In a curve of at least five sizes, its time differs by more than a factor of 1.3, "
    "beyond its interval, from every value that its neighbours predict: the times of the next size "
    "on either side, a line through these two, and lines through the two sizes on either side, "
    "each in plain and in logarithmic scale. The worst size is taken out first. 1.3 is more than a "
    "change of slope makes at doubling sizes.",
    excluded="one side predicts the time, as at a step; it is one of the two sizes at each end",
    says="15.3 us, where the sizes around it lead to 8.56 us",
    advice="measure it again with sizes close by (--perturb 8, --refine) and several --launches",
)
SLOWER_THAN_SHM = Cause(
    name="slower than shm",
    flag="slower-than-shm",
    when="contradict",
    evidence="A message over `mpi` surely takes longer than eight of `shm` and 2 us, in a row that "
    "is otherwise alike: an MPI that uses shared memory copies a message twice and adds less than "
    "1 us, and what goes through the kernel, as by TCP, takes some us more.",
    excluded="the core-to-core round trips of the two differ by more than 1.25",
    says="5.33 us, where shm takes 0.0560 us: it hardly goes through shared memory",
    advice="look at which way it goes (halftrip doctor has its components and the room in "
    "/dev/shm), and whether something forbids the fast one",
)
COLD_TABLE = Cause(
    name="cold start",
    flag="cold-start",
    when="contradict",
    evidence="The first row of a tool that does not warm up takes 1.25 times as long as a larger "
    "message.",
    excluded="the tool warms up: then the row contradicts the others",
    says="50.0 us, 12 times as long as 16: the first row, and mpi4py-ve does not warm up",
    advice="leave it out, or measure it again behind another row",
)

# Of the times of slices, however little of it the whole row had.
SLICES = (
    machine_causes.of("CPU contention")._replace(
        flag="",
        when="slices",
        find=companions.contention,
        evidence="They go with the time that other programs had of the core of an end.",
        says="from 10.0 us to 14.0 us: other programs had 0 % to 80 % of core 1",
    ),
    machine_causes.of("steal")._replace(
        flag="",
        when="slices",
        find=companions.steal,
        evidence="They go with the time in which the hypervisor did not run the core of an end.",
        says="from 10.0 us to 14.0 us: the hypervisor did not run core 1 for 0 % to 60 % of the "
        "time",
    ),
    machine_causes.of("CPU quota")._replace(
        flag="",
        when="slices",
        find=companions.quota,
        evidence="They go with the time for which a CPU quota stopped an end.",
        says="from 10.0 us to 14.0 us: a CPU quota stopped the rank on core 1 for 0 % to 40 % of "
        "the time",
    ),
    machine_causes.of("interrupts")._replace(
        flag="",
        when="slices",
        find=companions.interrupts,
        evidence="They go with the time that interrupts had of the core of an end.",
        excluded="",
        says="from 10.0 us to 14.0 us: interrupts had 0 % to 40 % of core 1",
    ),
    Cause(
        name="frequency",
        flag="",
        when="slices",
        find=companions.frequency,
        evidence="They go with one over the clock rate of the core of an end.",
        excluded="",
        says="from 10.0 us to 22.0 us: core 1 ran at 1.4 to 3.1 GHz",
        advice=KEEP_FREQUENCY,
    ),
    Cause(
        name="cores moved",
        flag="",
        when="slices",
        find=companions.moved,
        evidence="They go with the core-to-core round trip.",
        excluded="they go with the clock rate, too; the row has figures by state; or cores cannot "
        "move, without a hypervisor and with ranks that have a core of their own: then the level "
        "wandered",
        says="from 10.2 us to 11.6 us: the core-to-core round trip took 100 to 190 ns",
        advice=KEEP_STATE,
    ),
)

# In the order in which causes explain others.
CAUSES: tuple[Cause, ...] = (
    *machine_causes.ALWAYS,
    Cause(
        name="coarse clock",
        flag="coarse-clock",
        when="wide",
        find=samples.coarse_clock,
        evidence="In the median slice, the samples lie on a lattice whose step is more than 1 % of "
        "their median; or the median is 0. The step is found in the samples themselves (Kendall's "
        "quantogram, 1974), whatever resolution the clock claims. It is the cause of an interval "
        "that is no wider than a step.",
        excluded="samples are all equal, but not 0: they show no step",
        says="times come in steps of 1000 ns, 25 % of a sample",
        advice="let samples hold more iterations (leave out --iterations); see halftrip doctor for "
        "the clock",
    ),
    Cause(
        name="coarse clock",
        flag="coarse-clock",
        when="wide",
        find=samples.few_digits,
        evidence="Half of the last digit that another tool prints is more than 1 % of the time.",
        excluded="several figures average their rounding out",
        says="times are printed in steps of 0.0100 us, so that this one may be off by 1.0 %",
        advice="have more digits printed, or a finer clock used",
    ),
    Cause(
        name="warming up",
        flag="drift",
        when="wide",
        find=samples.unsettled,
        evidence="In most slices, warm-up had not settled when its time was up.",
        excluded="the count of iterations is fixed: then nobody looks",
        says="after 5,772 us of warm-up the times still changed",
        advice=f"allow more time with --time; {OTHERS}",
        explained_by=("bimodal",),
    ),
    Cause(
        name="another mode",
        flag="",
        when="wide",
        find=levels.odd_launch,
        evidence="One of four launches or more is farther from all others than these are from each "
        "other, by more than 10 %, and by more than chance gives in 1 % of cases (Dixon, 1950). "
        "What was seen of that launch only is said: its cores, and what is read beside slices.",
        excluded="two launches are apart, or all are",
        says="launch 5 took 2.00 us, the other 5 from 0.990 us to 1.02 us",
        advice="take more --launches, so that one weighs little; --system-log has what ran beside "
        "each",
    ),
    *SLICES,
    Cause(
        name="two levels",
        flag="",
        when="wide",
        find=levels.two_levels,
        evidence="Two modes of the samples, as of `bimodal`, that both occur in most slices, and "
        "differ by more than 5 %.",
        excluded="each is in slices of its own: the level wandered",
        says="50 % of the samples took 10.0 us, 50 % 14.0 us; it switched 30 times",
        advice=f"take more --launches; {OTHERS} and when it is slow (halftrip plot -k samples)",
    ),
    Cause(
        name="level wandered",
        flag="",
        when="wide",
        find=levels.wandered,
        evidence="The middle half of the slices' medians is wider than what a slice knows of its "
        "own median; or, of slices of few samples, chance gives such ranks in less than 1 % of "
        "cases (Kruskal and Wallis, 1952). It is said from where to where, and whether launches "
        "differ, or slices within them.",
        excluded="fewer than six slices",
        says="from 10.2 us to 10.7 us",
        advice=f"{OTHERS} {SETTINGS}, or allow more --slices",
    ),
    Cause(
        name="cold-start",
        flag="cold-start",
        when="never",
        find=samples.cold_start,
        evidence="The first iteration took as long as 100 later ones, or as long as 10 and at "
        "least 1 ms; with several launches, the median of their first iterations did. The first is "
        "always slow (caches, page tables, connections: Gropp and Lusk, 1999), so it takes a very "
        "slow one, or one that a person notices.",
        excluded="",
        says="the first iteration took 7,860 us, as long as 37,279 later ones",
        advice="count it in where a program talks seldom; it is in no other column",
    ),
    Cause(
        name="drift",
        flag="drift",
        when="never",
        find=samples.drift,
        evidence="Most slices change in the same direction, each by one step of more than 5 % "
        "(optimal partitioning, with a penalty in long-run variances, so that correlated noise is "
        "no step: under 1 % of series with a first-order autocorrelation of 0.6), or by a slope of "
        "more than 2 % from the first sample to the last (Sen, 1968) that chance gives in under 1 "
        "% of cases (Mann, 1945, with Hamed and Rao's variance, 1998); or the medians of the "
        "slices of a launch have such a slope, or are all slower (or faster) by more than 5 % from "
        "some slice on, where chance gives that in 1 % of cases.",
        excluded="there are several steps, or a slower beginning whose slices do not count",
        says="from 11.5 us to 12.1 us after 20 % of the samples",
        advice=f"{OTHERS} {SETTINGS}, or allow more time and launches",
        explained_by=("bimodal",),
    ),
    Cause(
        name="cores moved",
        flag="bimodal",
        when="never",
        find=samples.cores_moved,
        evidence="The core-to-core round trips of a row show several states (they differ by more "
        "than a factor of 1.25 and have at least 5 % of the probes), and the medians of these "
        "differ by more than 5 %. That the cores moved is said under a hypervisor, or of a rank "
        "without a core of its own; where the round trip times the clock rate is the same, it is "
        "the clock rate.",
        excluded="the row has figures for each [state of the machine](method.md#states): it is "
        "asked of each by itself",
        says="10.0 us while the core-to-core round trip took 150 ns (50 %) and 14.0 us while the "
        "core-to-core round trip took 300 ns (50 %): the cores moved",
        advice=f"{OTHERS} {SETTINGS}",
    ),
    Cause(
        name="bimodal",
        flag="bimodal",
        when="never",
        find=samples.bimodal,
        evidence="The dip of the distribution of a launch (Hartigan and Hartigan, 1985) is more "
        "than 0.65 over the square root of the number of samples, which one mode has in under 1 % "
        "of cases, and more than 0.01; each mode has 5 % of the samples; their medians are 5 % "
        "apart; and samples are rarer between them by a factor of 1.3. 5 % is well above the 1 % "
        "within which a median is known.",
        excluded="",
        says="29 % of the samples around 7.55 us, 71 % around 11.3 us",
        advice=f"take more --launches; {OTHERS} and when it is slow (halftrip plot -k samples)",
    ),
    Cause(
        name="autocorrelated",
        flag="autocorrelated",
        when="never",
        find=samples.autocorrelated,
        evidence="Ten samples or more count as one independent sample (integrated autocorrelation "
        "time of the ranks, with Sokal's window), in the median slice. The interval is wider "
        "because of it: in simulations, it still covers 93 to 95 % with an autocorrelation time of "
        "4, and 89 to 93 % with 19 ([method.md](method.md)). Ten lies between.",
        excluded="",
        says="3,509 samples count as 120: each says much of the next",
        advice="allow more time with --time, or several --launches; the interval allows for it",
        explained_by=("drift", "bimodal"),
    ),
    OUTLIER,
    CONTRADICTED,
    SLOWER_THAN_SHM,
    COLD_TABLE,
    Cause(
        name="stated interval",
        flag="",
        when="little",
        find=levels.stated_interval,
        evidence="Another tool printed a single figure of the row and its interval, over the "
        "exchanges or the iterations of one output: at 95 %, it counts as the row's.",
        excluded="",
        says="its source states 24.417 to 24.725 us for its mean at 99 %: of this alone",
        advice="measure it several times: another output may differ by more",
    ),
    Cause(
        name=NO_INTERVAL,
        flag="",
        when="little",
        find=levels.no_interval,
        evidence="Another tool printed a single figure of the row.",
        excluded="",
        says="its source gives a single figure, and nothing by which to tell how far it holds",
        advice="measure it several times",
    ),
    Cause(
        name="few launches",
        flag="",
        when="little",
        find=levels.few_launches,
        evidence="Nothing else was found, and launches differ.",
        excluded="",
        says="5 launches differ",
        advice="take more --launches",
    ),
    Cause(
        name=FEW_SLICES,
        flag="",
        when="little",
        find=levels.few_slices,
        evidence="Nothing else was found, and fewer than six slices count.",
        excluded="",
        says="it has 1 slice only",
        advice=f"{_MORE_TIME} or --slices",
    ),
    Cause(
        name="few samples",
        flag="",
        when="little",
        find=levels.few_samples,
        evidence="Nothing else was found, and slices have fewer than 24 samples on average.",
        excluded="",
        says="50 samples tell no more",
        advice=_MORE_TIME,
    ),
    Cause(
        name="noise",
        flag="",
        when="little",
        find=levels.noise,
        evidence="Nothing else was found.",
        excluded="",
        says="single iterations differ too much for the time allowed",
        advice=_MORE_TIME,
    ),
    Cause(
        name="not-converged",
        flag="not-converged",
        when="never",
        find=samples.not_converged,
        evidence="The interval over all slices, or all launches, is wider than `--ci` (1 %), or "
        "there is none because there is only one slice.",
        excluded="there is no target, as with `--ci none` or `--iterations`",
        says="8 slices agree within 6.2 % only, not 1.0 %",
        advice="allow more time with --time and --slices, or ask for less with --ci",
    ),
    machine_causes.SPIKES,
)


# They are asked for of every row.
_WITH_RULE = {
    when: [each for each in CAUSES if each.when == when and each.find is not None]
    for when in {each.when for each in CAUSES}
}


def found_by(row: Evidence, when: When) -> Iterator[tuple[Cause, Finding]]:
    """The causes of a row that the verdict names then, in the order of the table."""
    for cause in _WITH_RULE[when]:
        if cause.find is not None:
            found = row.found_by(cause.find)
            if found is not None:
                yield cause, found


def largest_first(found: Iterable[tuple[Cause, Finding]]) -> list[tuple[Cause, Finding]]:
    """What was found, that with the largest share first, and that without one last."""
    return sorted(found, key=lambda each: 0.0 if math.isnan(each[1].share) else -each[1].share)
