"""Lists of hosts: what a user writes, and what Slurm and PBS hand over."""

import os

import pytest

from halftrip.errors import UsageError
from halftrip.plan.hosts import hostfile, hosts, split_peer, spread
from halftrip.plan.layers import make_plan, options_layer
from harness.plans import mistake


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a,b", "a b"),
        ("a, b", "a b"),
        ("a:2,b", "a a b"),
        ("user@a,10.0.0.1", "user@a 10.0.0.1"),
        ("node[1-3,7]", "node1 node2 node3 node7"),
        ("n[08-10]-ib,login", "n08-ib n09-ib n10-ib login"),
        ("r[1-2]n[1-2]:2", "r1n1 r1n1 r1n2 r1n2 r2n1 r2n1 r2n2 r2n2"),
        ("fe80::1%eth0,[2001:db8::1]:2", "fe80::1%eth0 2001:db8::1 2001:db8::1"),
        ("::1,[::1],[fe80::1%eth0.5]:2", "::1 ::1 fe80::1%eth0.5 fe80::1%eth0.5"),
        ("me@[fe80::1%2],me@::1,me@a:2", "me@fe80::1%2 me@::1 me@a me@a"),
    ],
)
def test_hosts_are_named_as_people_and_schedulers_do(text, names):
    assert hosts(text) == tuple(names.split())
    # A run file has them one by one.
    assert hosts(list(hosts(text))) == hosts(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a,,b",
        "-oProxyCommand=x",
        "a b",
        "a;b",
        "$(a)",
        "n[3-1]",
        "n[1-]",
        "n[a]",
        "é",
        "a:b",
        "a%b",
        ":::",
        "fe80::1%",
        "fe80::1%$(a)",
        "-x@a",
        "@a",
        "a@",
    ],
)
def test_what_is_no_host_is_refused(text):
    with pytest.raises(UsageError):
        hosts(text)


@pytest.mark.parametrize("text", ["n[1-999999999]", "a:99999", "n[1-99]m[1-99]"])
def test_too_many_hosts_are_refused_at_once(text):
    with pytest.raises(UsageError, match="more than 4096 ranks"):
        hosts(text)


def test_all_hosts_are_those_of_the_scheduler(monkeypatch, tmp_path):
    for name in ("SLURM_JOB_NODELIST", "PBS_NODEFILE"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(UsageError, match="neither SLURM_JOB_NODELIST nor PBS_NODEFILE is set"):
        hosts("all")
    (tmp_path / "nodes").write_text("p1\np1\np2\n")
    monkeypatch.setenv("PBS_NODEFILE", str(tmp_path / "nodes"))
    assert hosts("all") == ("p1", "p2")
    monkeypatch.setenv("SLURM_JOB_NODELIST", "n[1-2],m")
    assert hosts("all") == ("n1", "n2", "m")


def test_a_file_has_a_host_in_each_line(tmp_path):
    path = tmp_path / "hosts"
    path.write_text("# rack 1\n a \nb slots=2  # two\n\nc:3\n")
    assert hostfile(str(path)) == ("a", "b", "b", "c", "c", "c")
    plan = make_plan(options_layer({"hostfile": str(path)}))
    assert (plan.hosts, plan.ranks) == (hostfile(str(path)), 6)


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("a slots = 2 max-slots=8", "a a"),
        ("a max_slots=2", "a a"),
        ("a max_slots=4 slots=1", "a"),
        ("me@a slots=2", "me@a me@a"),
        ("a slots=2 user=me", "me@a me@a"),
        ("a cpu=2  // two", "a a"),
        ("a:2 binding=user:0,1 ifname=ib0", "a a"),
        ("n[1-2]*2", "n1 n1 n2 n2"),
        ("n1, n2:2", "n1 n2 n2"),
        ("fe80::1%eth0 slots=2", "fe80::1%eth0 fe80::1%eth0"),
        ("a slots=0", None),
        ("a slots=two", None),
        ("a slot=2", None),
        ("^a", None),
    ],
)
def test_lines_are_those_of_open_mpi_mpich_intel_mpi_and_slurm(tmp_path, line, names):
    path = tmp_path / "hosts"
    path.write_text(f"{line}\n")
    if names is None:
        with pytest.raises(UsageError):
            hostfile(str(path))
    else:
        assert hostfile(str(path)) == tuple(names.split())


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"a b c\n"])
def test_what_is_no_file_of_hosts_is_refused(tmp_path, content):
    path = tmp_path / "hosts"
    path.write_bytes(content)
    with pytest.raises(UsageError):
        hostfile(str(path))
    with pytest.raises(UsageError, match="no such file"):
        hostfile(str(tmp_path / "none"))
    # Nobody may ever write to a pipe.
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="not a regular file"):
        hostfile(str(tmp_path / "pipe"))


def test_each_host_has_a_rank_and_more_are_side_by_side():
    assert spread(["a", "b", "c"], 6) == ["a", "a", "b", "b", "c", "c"]
    assert make_plan(options_layer({"hosts": "a,b,c"})).ranks == 3
    assert make_plan(options_layer({"hosts": "a"})).ranks == 2
    assert make_plan(options_layer({"hosts": "a,b", "ranks": "4"})).ranks == 4
    with pytest.raises(UsageError, match="--ranks: 3 hosts need a rank each, and there are 2"):
        make_plan(options_layer({"hosts": "a,b,c", "ranks": "2"}))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"ssh": "ssh -p 2222"}, "--ssh: only with --hosts"),
        ({"hosts": "a,b", "mpiexec": "mpirun"}, "--mpiexec: --hosts starts ranks by itself; "),
        ({"secret_file": "x"}, "--secret-file: only with --peer"),
        ({"hosts": "a,b", "peer": "c"}, "--peer: --hosts starts ranks by itself; "),
        (
            {"peer": "c", "ranks": "3"},
            "--ranks: 3 ranks cannot form halves; an even number is needed",
        ),
        ({"hosts": "a,b", "launcher": "local"}, "--launcher: --hosts starts ranks by itself; "),
    ],
)
def test_contradictions_are_refused(options, said):
    assert mistake(lambda: make_plan(options_layer(options))).startswith(said)


@pytest.mark.parametrize(
    "peer",
    [
        "",
        ":",
        ":1",
        "a:b",
        "a:0",
        "a:99999",
        "[::1",
        "a b",
        "fe80::1%",
        "fe80::1%eth0:5300",
        "[fe80::1]%eth0",
        "[a:b]",
    ],
)
def test_what_is_no_peer_is_refused(peer):
    with pytest.raises(UsageError, match=r"--peer: .* is no host; write HOST, HOST:PORT"):
        make_plan(options_layer({"peer": peer}))


def test_peers_are_written_as_hosts_are():
    assert split_peer("h") == ("h", 5201)
    assert split_peer("::1") == ("::1", 5201)
    assert split_peer("[::1]:77") == ("::1", 77)
    assert split_peer("fe80::1%eth0") == split_peer("[fe80::1%eth0]") == ("fe80::1%eth0", 5201)
