"""What a client of halftrip serve may ask for."""

import msgspec
import pytest

from halftrip.errors import UsageError
from halftrip.plan.layers import make_plan, options_layer
from halftrip.plan.options import OPTIONS
from halftrip.plan.plan import Plan
from halftrip.plan.served import check_served, for_server
from halftrip.plan.settings import SETTINGS

SERVED = {"transport": ("tcp", "udp")}


def plan(**keys):
    return Plan(**SERVED | keys)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"mpiexec": "/tmp/evil"}, "--mpiexec: no client"),
        ({"dragon": "evil"}, "--dragon: no client"),
        ({"ssh": "evil"}, "--ssh: no client"),
        ({"remote_command": "evil"}, "--remote-command: no client"),
        ({"hosts": ("a", "b")}, "--hosts: no client"),
        ({"launcher": "mpiexec"}, "--launcher: no client"),
        ({"output": "/etc/passwd"}, "--output: no client"),
        ({"secret_file": "/etc/shadow"}, "--secret-file: no client"),
        ({"baseline": "/etc/shadow"}, "--baseline: no client"),
        ({"system_log": True}, "--system-log: no client"),
        ({"memory": ("cuda@0",)}, "--memory: no client"),
        ({"vary": (("env.AWS_SECRET", ("x",)),)}, "--vary: env.AWS_SECRET: of a client"),
        ({"vary": (("mpiexec", ("x",)),)}, "--vary: mpiexec: of a client"),
        ({"vary": (("env.\x1b[2J", ("x",)),)}, r"--vary: env.\\x1b\[2J: of a client"),
        ({"transport": ("tcp", "mp-pipe")}, "--transport mp-pipe: halftrip serve has tcp, udp"),
        ({"transport": ("ucx",)}, "--transport ucx: .* unix; with --libraries it has it$"),
        ({"extra": (("libfabric_library", ("/tmp/evil",)),)}, "--libfabric-library: no client"),
        ({"part": ({"transport": ("mpi4py",)},)}, "--transport mpi4py: halftrip serve has"),
        ({"part": ({"memory": ("cuda@0",)},)}, "--memory: no client"),
        ({"part": ({"mpiexec": "evil"},)}, "--mpiexec: no client"),
        ({"extra": (("not_installed", (1,)),)}, "--not-installed: no client"),
    ],
)
def test_nothing_else_is_taken_from_a_client(keys, said):
    with pytest.raises(UsageError, match=f"^{said}"):
        check_served(plan(**keys), libraries=False)


def test_what_is_measured_and_for_how_long_is_taken():
    words = {"transport": "tcp,udp", "pattern": "pingpong,stream", "sizes": "8,1M", "time": "1s"}
    words |= {"wait": "spin:block", "streams": "1,2", "mss": "536", "rate": "1M", "threads": "2"}
    words |= {"cores": "0,1,2,3", "peer": "n2", "secret_file": "/secret", "output": "here.jsonl"}
    asked = make_plan(options_layer(words | {"verify": True, "max_duration": "1min"}))
    told = for_server(asked)
    check_served(told, libraries=False)
    usual = Plan()
    kept = {name for name, each in OPTIONS.items() if each.served == "kept"}
    assert {"peer", "secret_file", "output"} <= kept
    for name in told.__struct_fields__:
        held = usual if name in kept else asked
        assert getattr(told, name) == getattr(held, name), name
    assert b"secret" not in msgspec.json.encode(told).replace(b'"secret_file":null', b"")


def test_libraries_are_there_where_the_server_says_so():
    """Which file it is, each end says for itself."""
    told = for_server(plan(transport=("ucx", "libfabric"), ucx_library="/home/me/lib"))
    assert told.ucx_library is None
    check_served(told, libraries=True)
    with pytest.raises(UsageError, match=r"^--transport mpi: halftrip serve has tcp.*unix$"):
        check_served(plan(transport=("mpi",)), libraries=True)


def test_a_setting_of_a_plug_in_is_taken_where_the_plug_in_is(monkeypatch):
    """As the table of settings says, which has those of plug-ins that are installed."""
    asked = plan(extra=(("flavour", ("sharp",)),))
    monkeypatch.setitem(OPTIONS, "flavour", OPTIONS["wait"])
    check_served(asked, libraries=False)
    monkeypatch.setitem(OPTIONS, "flavour", OPTIONS["wait"]._replace(served="refused"))
    with pytest.raises(UsageError, match=r"^--flavour: no client"):
        check_served(asked, libraries=False)
    assert {each.served for each in SETTINGS.values() if each.place == "sockets"} == {"taken"}
