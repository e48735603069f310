"""The section of a report that answers the question of its runs."""

import msgspec

from harness import runs
from harness.curves import run_of
from harness.pages import report_of, section


def names(made):
    return [each.name for each in made.sections if each.blocks]


def test_the_section_that_answers_the_question_comes_first():
    hosts = runs.between_hosts(["n1", "n2", "n3", "n4"], slow=["n3"])
    made = report_of(hosts)
    assert names(made)[:3] == ["answer", "pairs", "trust"]
    assert "## The answer\n\nSlow host: n3: 2.0 x" in section(made, "answer")
    assert "All pairs: tcp" in section(made, "pairs")
    assert "All pairs" not in section(made, "curves")
    sound = runs.between_hosts(["n1", "n2", "n3", "n4"], pattern="stream").measurements
    both = msgspec.structs.replace(hosts, measurements=(*sound, *hosts.measurements))
    slow, none = section(report_of(both), "answer").partition("answer\n\n")[2].split("\n\n")[:2]
    assert slow.startswith("Slow host: n3")
    assert none.startswith("No host and no link is slow (tcp stream")
    before, after = (
        runs.run(*runs.in_launches("shm", 8, 100.0, 3), *runs.in_launches("tcp", 8, half_ns, 3))
        for half_ns in (5000.0, 7500.0)
    )
    made = report_of(before, after)
    assert names(made)[:2] == ["changes", "asked"]
    said = section(made, "changes")
    assert "tcp 8 B takes 1.500 times as long" in said
    assert "Time of b / time of a" in said
    # What has not changed is behind what has.
    table, every = said.split("All rows that both have")
    assert "| slower | tcp |" in table
    assert "| shm |" not in table
    assert "| shm |" in every
    made = report_of(runs.beside_traffic())
    assert names(made)[:3] == ["answer", "traffic", "trust"]
    said = section(made, "answer")
    assert "64 B over tcp stream:tcp:64K take 5.000 (4.99" in said
    # Not the highest of all, which is beside traffic.
    assert "The latency of messages of 64 B is 999.7 us one way, over tcp none" in said
    said = section(made, "traffic")
    assert "x idle" in said
    assert "queue: tcp stream:tcp:64K, 64 B: a round trip takes 8" in said
    of_layers = runs.run(*runs.in_launches("shm", 8, 100.0), *runs.in_launches("mp-shm", 8, 900.0))
    made = report_of(of_layers)
    assert names(made)[1] == "layers"
    assert "mp-shm over shm: +0.7998 us" in section(made, "layers")
    made = report_of(run_of([(4096, 3000, 0.1)], sizes=[1 << n for n in range(8, 17)]))
    assert names(made)[1:3] == ["model", "bends"]
    assert "jump to 2" in section(made, "model")
    paths = runs.run(
        *runs.in_launches("shm", 8, 100.0),
        *runs.in_launches("tcp", 8, 900.0),
        *runs.in_launches("mp-shm", 8, 9.0),
    )
    assert names(report_of(paths))[1] == "trust"


def test_the_sizes_of_a_sweep_tell_its_curve_together():
    made = report_of(run_of(sizes=range(8, 8 + 4 * 201, 4), slices=2))
    assert "All sizes of this sweep together tell its curve" in section(made, "answer")
    assert "halftrip fit tells the curve from all sizes together" in section(made, "trust")


def test_runs_that_cannot_be_compared_say_why():
    one, other = (
        runs.run(*runs.in_launches("shm", 8, 100.0)),
        runs.run(*runs.in_launches("tcp", 8, 100.0)),
    )
    said = section(report_of(one, other), "changes")
    assert "Nothing is compared: " in said
