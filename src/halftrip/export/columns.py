"""The columns of tables for programs: the kind of their values, and what they are.

A name ends in its unit. A kind with a question mark may have no value: null, or empty in CSV.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from halftrip.plan.settings import SETTINGS
from halftrip.report.flat import SETTING_COLUMNS

Kind = Literal["text", "whole", "number", "yes or no"]
ENDS = ("initiator", "responder")


class Column(NamedTuple):
    """`kind` is that of its values, of which some may be missing where it is `optional`."""

    kind: Kind
    optional: bool
    description: str


def _columns(text: str) -> dict[str, Column]:
    """Columns by name, one in each line: ``name | kind | what it is``."""
    found = {}
    for line in text.strip().splitlines():
        name, kind, description = (part.strip() for part in line.split("|"))
        found[name] = _column(kind, description)
    return found


def _column(kind: str, description: str) -> Column:
    plain = kind.removesuffix("?")
    return Column(plain, plain != kind, description)  # type: ignore[arg-type]


_NOT_OF_THE_TABLE = _columns("""
transport | text | How bytes move: mpi, shm, tcp and so on
pattern | text | Who sends when: pingpong, stream, bidirectional and so on
mode | text | The kind of call: blocking, nonblocking, persistent, ssend or onesided
size_bytes | whole? | Payload of a message, bytes; none: an imported tool does not say
pair | text | The ranks that talk, initiator first: 0-1
thread | whole | Number of the thread of each rank
concurrency | whole | How many pairs of threads talk at the same time
variant | text | What else tells it from others: what is varied, the table of a text; or empty
""")
_OF_THE_TABLE = {each.figure: _column(each.kind, each.says) for each in SETTINGS.values()}
CONFIGURATION = {name: (_OF_THE_TABLE | _NOT_OF_THE_TABLE)[name] for name in SETTING_COLUMNS}
SUMMARY = _columns("""
latency_ns | number? | Median time of one message, one way; of a stream, of one of many, ns
low_ns | number? | Lower end of the 95 % confidence interval of latency_ns, ns
high_ns | number? | Upper end of the 95 % confidence interval of latency_ns, ns
p90_ns | number? | 90th percentile of the times of single messages, one way, ns
p90_low_ns | number? | Lower end of the 95 % confidence interval of p90_ns, ns
p90_high_ns | number? | Upper end of the 95 % confidence interval of p90_ns, ns
p99_ns | number? | 99th percentile of the times of single messages, one way, ns
p99_low_ns | number? | Lower end of the 95 % confidence interval of p99_ns, ns
p99_high_ns | number? | Upper end of the 95 % confidence interval of p99_ns, ns
p999_ns | number? | 99.9th percentile of the times of single messages, one way, ns
p999_low_ns | number? | Lower end of the 95 % confidence interval of p999_ns, ns
p999_high_ns | number? | Upper end of the 95 % confidence interval of p999_ns, ns
max_ns | number? | Longest time of a single message, one way, ns
bandwidth_bytes_per_s | number? | Payload that arrived in one direction, bytes per second
first_message_ns | number? | Time of a message of the very first iteration, one way, ns
samples | whole | Number of samples
""")
DELIVERY = _columns("""
sent | whole? | Datagrams sent in the samples
lost | whole? | Datagrams of these that did not arrive
reordered | whole? | Datagrams that arrived after a later one
jitter_ns | number? | Variation of the time between datagrams, ns
verified | whole? | Messages that were checked and found intact
""")
USAGE = _columns("""
load | number? | CPU time over elapsed time
elapsed_s | number? | Time in the loops, timed and untimed, s
user_s | number? | CPU time in user mode, s
system_s | number? | CPU time in the kernel, s
kernel_share | number? | Share of the CPU time that was in the kernel
cpu_s_per_gb | number? | CPU time for each 10^9 bytes of payload that arrived, s
busy_poll | yes or no? | Whether it polled while it waited
voluntary_switches | whole? | Voluntary context switches
involuntary_switches | whole? | Involuntary context switches
minor_faults | whole? | Page faults without I/O
major_faults | whole? | Page faults with I/O
peak_memory_bytes | whole? | Largest resident set so far, bytes
waited_share | number? | Share of the elapsed time in which it was ready and had no core
others_share | number? | Share of the time in which other programs had its core
steal_share | number? | Share of the time in which the hypervisor had its core
core | whole? | Number of its core
busiest_task | text? | The task of other programs that used its core most
frequency_hz | number? | Frequency of its core, hertz
energy_j | number? | Energy of its processor, joules
""")
COSTS = _columns("""
instructions_per_message | number? | Instructions for each message
instructions_per_message_low | number? | Lower end of the 95 % confidence interval of these
instructions_per_message_high | number? | Upper end of the 95 % confidence interval of these
instructions_per_byte | number? | Instructions for each byte of payload
cycles_per_message | number? | Cycles of the core for each message
cycles_per_message_low | number? | Lower end of the 95 % confidence interval of these
cycles_per_message_high | number? | Upper end of the 95 % confidence interval of these
cycles_per_byte | number? | Cycles of the core for each byte of payload
instructions_per_cycle | number? | Instructions for each cycle
counted | text? | Where instructions and cycles were counted: user or all
""")


def _of_ends(columns: dict[str, Column]) -> dict[str, Column]:
    return {
        f"{end}_{name}": column._replace(description=f"{column.description}; of the {end}")
        for end in ENDS
        for name, column in columns.items()
    }


ROW = {
    **CONFIGURATION,
    **SUMMARY,
    **_columns("""
statistic | text | What latency_ns is of the iterations: median, or what an imported table says
slices | whole | Slices that count
left_out_slices | whole | Slices that do not, since the path was still warming up
iterations_per_sample | whole | Iterations of a sample, at most
messages_per_s | number? | Messages that arrived, in all directions together, per second
total_bandwidth_bytes_per_s | number? | Payload in all directions together, bytes per second
peer_bandwidth_bytes_per_s | number? | Bandwidth by the responder's clock, bytes per second
bandwidth_there_bytes_per_s | number? | To the responder, where both send, bytes per second
bandwidth_back_bytes_per_s | number? | To the initiator, where both send, bytes per second
"""),
    **DELIVERY,
    **_columns("""
launches | whole | Launches that have samples
between_launches | number? | Standard deviation between launches, share of the median
within_launches | number? | Standard deviation between slices of a launch, share of the median
core_to_core_low_ns | number? | Lowest core-to-core round trip beside its samples, ns
core_to_core_high_ns | number? | Highest core-to-core round trip beside its samples, ns
adjusted_latency_ns | number? | Latency at the run's typical core-to-core round trip, ns
adjusted_latency_low_ns | number? | Lower end of the interval of adjusted_latency_ns, ns
adjusted_latency_high_ns | number? | Upper end of the interval of adjusted_latency_ns, ns
there_ns | number? | Time to the responder by the clocks of both ends, ns
back_ns | number? | Time to the initiator by the clocks of both ends, ns
clock_error_ns | number? | How far the clocks may be apart in there_ns and back_ns, ns
suspect_samples | whole? | Samples probably taken while an end had lost its core
"""),
    **_of_ends(USAGE),
    **_of_ends(COSTS),
    **_columns("""
verdict | text | Whether its figures can be trusted: ok, caution or no
cause | text? | The cause that explains best why not
flags | text | The names of its flags, separated by blanks
"""),
}
# Of a single measurement: a slice of a configuration in one launch.
MEASUREMENT = {
    **_columns("""
measurement | whole | Number of the measurement in this file, from 0
started | text? | When the run started, UTC, ISO 8601
initiator_host | text? | Name of the initiator's host
responder_host | text? | Name of the responder's host
"""),
    **CONFIGURATION,
    **_columns("""
launch | whole | Number of the launch of fresh processes, from 0
slice | whole | Number of the slice, from 0
at_s | number? | When it began, after the launch began, s
iterations | whole? | Iterations of each of its samples
messages_per_iteration | whole | Messages that follow each other one way in an iteration
warm_up_iterations | whole? | Iterations of calibration and warm-up
warm_up_ns | whole? | Time of these, ns
stopped | text? | Why it ended: converged, time, count or full
tool | text? | The tool that measured it, where it was imported
"""),
    **SUMMARY,
    **DELIVERY,
    **_columns("""
core_to_core_low_ns | number? | Lowest core-to-core round trip beside its samples, ns
core_to_core_high_ns | number? | Highest core-to-core round trip beside its samples, ns
suspect_samples | whole? | Samples probably taken while an end had lost its core
"""),
    **_of_ends(USAGE),
    **_columns("""
verdict | text | The verdict on its row, of all slices and launches: ok, caution or no
cause | text? | The cause that explains best why that is not ok
flags | text | The names of the flags of its row, separated by blanks
"""),
}
SAMPLE = {
    **{
        name: MEASUREMENT[name]
        for name in (
            *("measurement", "transport", "pattern", "mode", "size_bytes", "pair", "thread"),
            *("launch", "slice"),
        )
    },
    **_columns("""
sample | whole | Number of the sample in its measurement, from 0, in time order
time_ns | whole | Time of all its iterations, ns
iterations | whole | Its iterations
"""),
}
