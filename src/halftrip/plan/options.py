"""The options of ``halftrip run``, which are also the keys of a plan: one table makes the command
line, its help, the reading of plans, and docs/options.md."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, get_args

from halftrip.plan import parsing
from halftrip.plan.pairing import Pairing
from halftrip.plan.path_model_table import parse_path_model
from halftrip.plan.plan import Placement
from halftrip.plan.presets import PRESETS
from halftrip.registry import LAUNCHERS, MEMORIES, TRANSPORTS
from halftrip.results.configuration import Buffers, Cache, Datatype, Pages, Places, Touch, Wait
from halftrip.results.patterns import Mode, Pattern


class Option(NamedTuple):
    """`read` converts a value, as written in a file or on the command line, to that of the plan; it
    raises UsageError, which says what is allowed. `help` has the default in brackets, if there
    is one; an option without help is a key of plans alone. `short` is the short form on the command
    line. A `negatable` flag also has the form --no-NAME."""

    read: Callable[[Any], Any]
    help: str = ""
    short: str | None = None
    negatable: bool = False

    @property
    def is_flag(self) -> bool:
        return self.read is parsing.flag


OPTIONS: dict[str, Option] = {
    "transport": Option(
        parsing.some_of(TRANSPORTS),
        "mpi, shm, pipe, unix, tcp, udp: some. [all]; simulated: in virtual time.",
        "-t",
    ),
    "pattern": Option(
        parsing.some_of(get_args(Pattern)),
        "pingpong, stream, bidirectional, exchange, pingping, put, get. [pingpong]",
        "-p",
    ),
    "mode": Option(
        parsing.some_of(get_args(Mode)),
        "blocking, nonblocking, persistent, ssend, onesided. [blocking; onesided for put, get]",
        "-m",
    ),
    "sizes": Option(
        parsing.sizes, "8,64,1K or 1..4M or 1:4M (doubles), 1..4M*4, 0..4000+4. [1..4M]", "-s"
    ),
    "message_rate": Option(
        parsing.flag,
        "Also a stream of 8 bytes: messages per second. [yes if nothing says what to measure]",
        negatable=True,
    ),
    "perturb": Option(
        parsing.perturbation, "Also measure each size minus and plus this many bytes. [0]"
    ),
    "refine": Option(parsing.flag, "Add sizes at breakpoints of the curve, to locate them."),
    "window": Option(parsing.windows, "Messages in flight. [64; 1 for put, get]", "-W"),
    "places": Option(
        parsing.some_of(get_args(Places)),
        "Where the messages of a window are: each in its own place, or in the same. [own]",
    ),
    "touch": Option(
        parsing.some_of(get_args(Touch)),
        "Does the peer read what is put, write what is got? none, untimed, timed. [none]",
    ),
    "wait": Option(
        parsing.per_end(get_args(Wait)),
        "How a receiver waits: block, spin or both; or INITIATOR:RESPONDER. [as usual for each]",
    ),
    "buffers": Option(
        parsing.some_of(get_args(Buffers)),
        "Receive into the buffer sent from? same, separate. [separate]",
    ),
    "memory": Option(
        parsing.per_end(MEMORIES),
        "Kind of memory of both ends, or INITIATOR:RESPONDER: host. [host]",
    ),
    "pages": Option(
        parsing.per_end(get_args(Pages)),
        "Page size of buffers: 4K, huge; or INITIATOR:RESPONDER. [4K]",
    ),
    "cache": Option(
        parsing.some_of(get_args(Cache)),
        "One buffer, or a ring larger than the cache: hot, cold. [hot]",
    ),
    "align": Option(
        parsing.alignments, "Align buffers to exactly this many bytes: 1, 2, 4 ... [a page]"
    ),
    "datatype": Option(
        parsing.some_of(get_args(Datatype)), "What MPI is told: byte, contiguous, vector. [byte]"
    ),
    "rate": Option(parsing.rate, "What a udp stream offers, bytes per second. [all it can]"),
    "timeout": Option(parsing.seconds, "How long to wait for an answer to a datagram. [1s]"),
    "verify": Option(parsing.flag, "Check every byte, outside the timed loops."),
    "rtt": Option(parsing.flag, "Print round trips of pingpong, not their half."),
    "ci": Option(
        parsing.interval_width,
        "End a configuration when its interval is this narrow, or none. [1%]",
    ),
    "time": Option(parsing.seconds, "End a configuration after this much sampling. [0.3s]"),
    "iterations": Option(
        parsing.count, "End a configuration after exactly this many iterations instead.", "-i"
    ),
    "slices": Option(
        parsing.count, "Deal the time of a configuration over the run in so many parts. [10]", "-r"
    ),
    "max_duration": Option(
        parsing.seconds, "End the whole run within this time: shorter, then fewer slices. [none]"
    ),
    "preset": Option(
        parsing.one_of(PRESETS), "quick, standard or paper: defaults for all other options."
    ),
    "launches": Option(parsing.count, "Start fresh processes this many times. [1]"),
    "until_ci": Option(parsing.flag, "Launch again until every interval is within --ci."),
    "max_launches": Option(parsing.count, "With --until-ci, at most this many launches. [30]"),
    "pairs": Option(
        parsing.pairs_of(get_args(Pairing)),
        "Who talks to whom: halves, neighbours, all, across (hosts), or 0-3,1-2. [halves]",
    ),
    "concurrent_pairs": Option(
        parsing.count, "How many pairs talk at the same time. [all that can]"
    ),
    "threads": Option(parsing.count, "How many threads of each rank talk at the same time. [1]"),
    "cores": Option(parsing.cores, "A core for each rank, as 0,1, or none. [chosen]"),
    "placement_state": Option(
        parsing.one_of(get_args(Placement)),
        "Only samples taken while the cores were near, or far (core-to-core). [any]",
    ),
    "system_log": Option(
        parsing.flag,
        "Record every host's counters, configuration by configuration. [no]",
        negatable=True,
    ),
    "ranks": Option(parsing.ranks, "How many ranks. [2]", "-n"),
    "launcher": Option(
        parsing.one_of(LAUNCHERS),
        "Who starts them: local, mpiexec. [mpiexec where MPI is measured or one is named]",
    ),
    "mpiexec": Option(parsing.text, "Which mpiexec, and so which MPI; may have arguments."),
    "output": Option(parsing.text, "The run file. [halftrip-DATE-TIME.jsonl]", "-o"),
    "quiet": Option(parsing.flag, "Print the name of the run file only.", "-q"),
    "simulated": Option(parse_path_model),
}
