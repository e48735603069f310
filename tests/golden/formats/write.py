"""Writes the run files beside it, of the present version of the format; make golden runs it.

What is in a file of a version that was released is never changed again: such files are read for
ever. A new version has files of its own, whose names begin with its number.
"""

from itertools import pairwise
from pathlib import Path

from halftrip.results.block import Block, RoundTrips
from halftrip.results.carrier import Carrier
from halftrip.results.configuration import Tuning
from halftrip.results.counts import CountedSlice, Counts, Delivery
from halftrip.results.device import DeviceCopy, DeviceLatency
from halftrip.results.network_path import Connection, Interface, NetworkPath, TcpInfo
from halftrip.results.reading import FORMAT
from halftrip.results.records import (
    Again,
    Aggregate,
    CopyTime,
    Failure,
    Header,
    Launch,
    LaunchFailure,
    LostHost,
    Measurement,
    Notice,
    RunEnd,
    Skip,
    WarmUp,
)
from halftrip.results.reported import Listing, Reported, Source
from halftrip.results.run_file import encode
from halftrip.results.threshold import Threshold
from halftrip.results.usage import BusiestTask
from harness import runs
from harness.arrivals import BOOTED, SECOND, comparison

# By how much samples differ, in thousandths: in any ten of them, none twice.
_SCATTER = (-6, -2, 17, 7, -16, 0, -5, 2, -11, 4)


def samples(middle, count):
    """So many times near the middle, ns."""
    return [middle + middle * _SCATTER[n % 10] // 1000 + n for n in range(count)]


def header(*command, **plan):
    return Header(
        version=FORMAT,
        halftrip="0.1.0",
        started="2026-01-31T12:00:00+00:00",
        command=["halftrip", *command],
        plan=plan,
    )


def measurement(configuration, blocks, **changes):
    """A measurement of which all is known that there always is."""
    values = {
        "slice": 0, "at": 1.5, "first": 40_000, "warm_up": WarmUp(300, 60_000, True),
        "iterations": 1, "stopped": "converged",
    }  # fmt: skip
    return Measurement(configuration=configuration, blocks=blocks, **(values | changes))


SHM = runs.configuration("shm", 8)
UDP = runs.configuration("udp", 8, "block")
STREAM = runs.configuration("udp", 1000, "block", pattern="stream", window=10, places="own")
TCP = runs.configuration("tcp", 8, "block", tuning=Tuning(socket_buffer=1 << 20, nodelay=False))
ZMQ = [
    runs.configuration(
        "zmq", 1000, pattern="bidirectional", window=8, buffers="same", object="dict",
        socket="req", verify=True, concurrency=2, pair=pair,
    )
    for pair in ((0, 1), (2, 3))
]  # fmt: skip
COPIED = runs.configuration(
    "cuda-ipc", 65536, memory="cuda@0:cuda@1", device_copy="engine", pair=(0, 2)
)


def _shm(launch, number, middles, rtts):
    """Blocks before and after the cores move away from each other. The responder lost its core."""
    initiator = runs.usage(
        0.04, 0.0, elapsed=0.04, iterations=2600, waited=1e-4, involuntary=1, voluntary=0,
        minor_faults=0,
    )  # fmt: skip
    responder = runs.usage(
        0.03, 0.01, elapsed=0.04, iterations=2600, waited=0.0078, involuntary=2, major_faults=1
    )
    cores = [
        {"watched": 0.05, "number": 0, "others": 0.0, "steal": 0.0, "hertz": 2.5e9, "joules": 0.75},
        {
            "watched": 0.05, "others": 0.0125, "steal": 0.001, "hertz": 2.25e9,
            "busiest_task": BusiestTask(name="stress (process 1234)", share=0.75),
        },
    ]  # fmt: skip
    blocks = [
        Block(
            times=runs.times(*samples(middle, 10)),
            start=BOOTED + number * SECOND,
            core_to_core_rtt=RoundTrips(*around),
            core_to_core_farthest=RoundTrips(*(1.5 * rtt for rtt in around)),
            usage=(initiator, responder),
        )
        for middle, around in zip(middles, pairwise(rtts), strict=True)
    ]
    return measurement(
        SHM, blocks, slice=number, launch=launch, iterations=10, stopped="time", segment=number,
        cores=tuple(runs.usage(core=each).core for each in cores),
    )  # fmt: skip


def _counted(launch, number):
    """A hundred ping-pongs; the responder's counters cannot be read."""
    counts = Counts(
        iterations=100, instructions=60_000 + 500 * launch, cycles=20_000, counted="user"
    )
    return CountedSlice(configuration=SHM, slice=number, launch=launch, ends=(counts, None))


def _udp(launch):
    """One ping-pong in thirty is lost, and one waits for long."""
    ends = (runs.usage(0.4, 0.3, voluntary=200), runs.usage(0.35, 0.25, involuntary=1))
    return measurement(UDP, [
        Block(
            times=runs.times(*samples(16_000 + 300 * launch, 28), 900_000), start=BOOTED,
            timed_out=1_000_000, delivery=Delivery(sent=30, lost=1, reordered=2), usage=ends,
        )
    ], launch=launch, first=9_000_000, warm_up=WarmUp(40, 640_000, False))  # fmt: skip


def _stream(launch):
    block = Block(
        times=runs.times(*samples(30_000, 20)),
        start=BOOTED,
        peer_times=runs.times(30_250, 30_251),
        core_to_core_rtt=RoundTrips(218.0, 220.0),
        delivery=Delivery(sent=200, lost=0, reordered=2, jitter=1250.5),
    )
    return measurement(STREAM, [block], launch=launch, stopped="full")


def _tcp(number):
    """Half a microsecond more there than back, by a clock that is ahead by 5 ms."""
    start = BOOTED + number * SECOND
    times = samples(62_000, 8)
    block = Block(
        times=runs.times(*times), start=start, end=start + sum(times),
        peer_start=start + 5_000_000 - 32_000, arrivals=runs.times(*times),
    )  # fmt: skip
    return measurement(TCP, [block], slice=number)


def _zmq(configuration):
    block = Block(
        times=runs.times(*samples(20_000, 20)),
        start=BOOTED,
        receive_times=runs.times(20_000, 20_001),
        peer_receive_times=runs.times(15_000),
        core_to_core_rtt=RoundTrips(153.0, 155.0),
    )
    return measurement(configuration, [block], verified=160)


def _copied():
    block = Block(times=runs.times(*samples(8_000, 20)), start=BOOTED)
    return measurement(COPIED, [block], stopped="count", warm_up=WarmUp(100, 800_000, None))


def _counters(phase, at, configurations=()):
    busy = {
        "user": 0.4, "nice": 0.0, "system": 0.1, "idle": 0.45, "iowait": 0.0, "irq": 0.0,
        "softirq": 0.05, "steal": 0.0,
    }  # fmt: skip
    idle = dict.fromkeys(busy, 0.0) | {"user": 0.01, "idle": 0.99}
    both = {kind: busy[kind] + idle[kind] for kind in busy}
    return runs.counters(
        phase=phase, at=at, seconds=0.8,
        cpus={"all": both, "0": busy, "1": idle}, memory_used=3 << 30, memory_total=24 << 30,
        counts={"interrupts": 5000, "context_switches": 200, "disk_read_kib": 12,
                "tcp_retransmits": 3},
        interfaces={"lo": {"packets_in": 1500, "packets_out": 1490, "bytes_in": 3_000_000,
                           "bytes_out": 2_900_000, "drops_in": 7, "drops_out": 0,
                           "errors_in": 0, "errors_out": 0}},
        interrupts={"lo": {"0": 1234, "1": 0}},
        softnet={"0": {"processed": 9, "dropped": 0, "squeezed": 1}},
        configurations=list(configurations), slices=[0] * len(configurations),
    )  # fmt: skip


def measured():
    """Two hosts in two launches, of which the second lost one: what a run can have at all."""
    hosts = ("node1", "node2", "node1", "node2")
    first = {
        "variables": {"UCX_TLS": "tcp"}, "thread_cores": [0, 1], "poll_pause": 4,
        "mitigations": "meltdown: Mitigation: PTI | mds: Vulnerable", "hypervisor": "kvm",
        "mpi": "mpiexec (Open MPI) 4.1.4", "mpi_library": "Open MPI v4.1.4",
        "governor": "performance",
    }  # fmt: skip
    path = NetworkPath(
        protocol="tcp", family="ipv4", local="10.0.0.1", peer="10.0.0.2", gateway="10.0.0.254",
        interface=Interface(name="eth0", speed=10**10, mtu=1500, driver="ice", hardware=1),
        path_mtu=1500, send_buffer=87040, receive_buffer=131072, dscp=46, congestion="cubic",
        no_delay=False, tcp=TcpInfo(snd_mss=1448, rtt_us=62, total_retrans=0, timestamps=True),
    )  # fmt: skip
    devices = [
        runs.device(rank, f"cuda@{index}", index=index, pci=f"0000:{index}b:00.0")
        for index, rank in enumerate((0, 2))
    ]
    near, moved = [150.0, 152.0, 151.25], [149.0, 150.5, 300.0, 301.0]
    return [
        header(
            "run", "--launches", "2", transport=["shm", "udp", "tcp", "zmq", "cuda-ipc"],
            pattern=["pingpong", "stream", "bidirectional"], sizes="8,1000", launches=2,
            slices=2, ci=0.01, time=0.3, system_log=True, pairs="halves",
        ),
        *(
            runs.environment(
                rank, host=host, launch=launch, pid=100 + 10 * launch + rank,
                **(first if (rank, launch) == (0, 0) else {}),
            )
            for launch in range(2) for rank, host in enumerate(hosts)
        ),
        *devices,
        DeviceCopy(rank=0, memory="cuda@0", direction="host to device", host="pinned",
                   size=1 << 20, ns=45_000.0),
        DeviceCopy(rank=0, memory="cuda@0", direction="device to device", host="",
                   size=1 << 20, ns=25_000.0, peer="cuda@1", both_ways=True),
        DeviceLatency(rank=0, memory="cuda@0", synchronize=1500.0, kernel=5000.0),
        DeviceLatency(rank=2, memory="cuda@1", synchronize=1600.0, refused="no image for it"),
        Threshold(name="socket buffer", value=87040, acts="capacity", source="getsockopt(2)",
                  setting="--socket-buffer", scale=0.5, header=64, transport="tcp",
                  same_host=False, tuning=TCP.tuning),
        Threshold(rank=1, name="L2", value=1 << 20, acts="cache", source="/sys", cores=[1]),
        Skip(transport="mpi", reason="no mpiexec beside this Python or on the PATH"),
        Skip(transport="udp", reason="a datagram holds at most 65507 bytes", sizes=[131072],
             patterns=["stream"], modes=["blocking"], windows=[64], pairs=[(0, 1)]),
        _counters("before", 0.0),
        _shm(0, 0, [20_000] * 2, near),
        _udp(0),
        _counters("during", 1.2, [SHM, UDP]),
        _stream(0),
        *map(_zmq, ZMQ),
        Aggregate(configuration=ZMQ[0], slice=0, pairs=[(0, 1), (2, 3)],
                  spans=[380_000, 390_000], messages=[304.0, 311.5]),
        _shm(0, 1, [20_000, 20_000, 50_000], moved),
        *map(_tcp, range(2)),
        _copied(),
        *(_counted(launch, number) for launch in range(2) for number in range(6)),
        Connection(transport="tcp", rank=0, peer=1, path=path),
        Carrier(transport="ucx", rank=0, peer=1, library="UCX 1.13.1, /lib/libucp.so.0",
                ways=["sysv/memory", "cma/memory"], extra=(("ucx_api", "tag"),)),
        *(comparison(BOOTED + n * SECOND, 5_000_000, 2000) for n in range(-1, 3)),
        _shm(1, 0, [20_300] * 2, near),
        _udp(1),
        _stream(1),
        Failure(configuration=ZMQ[0], slice=0, launch=1,
                reason="rank 1: message 7: byte 3 is 0x00, 0xa5 was sent"),
        LostHost(host="node2", ranks=[1, 3], reason="rank 3 on node2 died", launch=1),
        CopyTime(rank=0, size=65536, ns=2000.0),
        CopyTime(rank=0, size=65536, ns=2100.0),
        Notice(rank=0, host="node1",
               text="/proc/stat: ctxt is 'x', which is no number of the kernel's; left out"),
        Notice(rank=1, host="node2", kind="shortfall", launch=1,
               text="--socket-buffer 1M: the kernel gave 212992 bytes"),
        RunEnd(reason=None, seconds=9.5, timed=1.25, clock_drift=[0.1, -0.2], logged=0.03),
    ]  # fmt: skip


def varied():
    """Two values of a variable in turn, the second of which failed once; rows measured again."""
    variants = [(("env.A", value),) for value in ("1", "2")]
    made = [header("run", "--vary", "env.A=1;2", transport=["shm"], sizes="8", vary=["env.A=1;2"])]
    for launch, variant in enumerate([*variants, variants[0]]):
        made += [
            Launch(number=launch, round=launch // 2, variant=variant),
            runs.environment(0, launch=launch, variables=dict([variant[0]]), halftrip="0.0.9"),
            runs.environment(1, launch=launch),
        ]
        if launch == 1:
            reason = "rank 1 died"
            made.append(LaunchFailure(launch=launch, variant=variant, reason=reason))
            made.append(Skip(transport="tcp", reason="none here", variant=variant))
            continue
        configuration = runs.configuration("shm", 8, variant=variant)
        block = Block(times=runs.times(*samples(20_000 + launch, 10)), start=BOOTED)
        made.append(measurement(configuration, [block], launch=launch, iterations=10))
    return [*made, Again(launch=2), RunEnd(reason="interrupted by SIGINT")]


def imported():
    """A table of another tool, which says neither how it waited nor for how long it warmed up."""
    variant = (("table", "1"),)
    configuration = runs.configuration("mpi", 8, "unknown", variant=variant)
    without_size = runs.configuration("mpi", 0, "unknown", variant=variant, size_known=False)
    reported = [
        Reported(
            place=4, figures={"Size": "8", "Latency (us)": "1.25"}, counted=True, step=10.0,
            spread={"min": 1000.0, "p99": 2000.0},
        ),
        Reported(place=5, figures={"MB/s": "100.5"}, bandwidth=100.5e6, rate=12_562_500.0),
    ]  # fmt: skip
    return [
        header("import", "osu.txt", "--from", "osu"),
        Source(
            tool="osu", file="osu.txt", place=2, statistic="mean", variant=variant,
            version="7.3", hosts=["n1", "n2"], date="2020-02-29T12:00:00", warm_up=100,
            facts={"title": "OSU MPI Latency Test"},
            listings=[Listing(title="log", columns=["at", "load"], rows=[["0", "0.5"]])],
        ),
        *(
            measurement(
                each, [Block(times=runs.times(2500 * iterations))], iterations=iterations,
                at=None, first=None, warm_up=None, stopped=None, reported=said,
            )
            for each, iterations, said in zip(
                (configuration, without_size), (1000, 1), reported, strict=True
            )
        ),
        RunEnd(reason=None),
    ]  # fmt: skip


# By what comes after the version in a file's name.
RUNS = {"": measured, "-varied": varied, "-imported": imported}


def main():
    for name, made in RUNS.items():
        path = Path(__file__).with_name(f"{FORMAT}{name}.jsonl")
        path.write_bytes(b"".join(map(encode, made())))


if __name__ == "__main__":
    main()
