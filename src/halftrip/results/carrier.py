"""What carries the messages of a transport whose library chooses that."""

from __future__ import annotations

import msgspec

from halftrip.results.bounds import Name, Number, Rank, Text
from halftrip.results.configuration import Extra


class Carrier(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="carrier"):
    """What carries the messages of a transport whose library chooses it, as `rank` found after its
    first slice with `peer`, in configurations with these `extra` settings: `ways` are what it has
    chosen, as ``sysv/memory``, and `library` its name, its version and its file."""

    transport: Name
    rank: Rank
    peer: Rank
    library: Text
    ways: list[Text]
    extra: Extra = ()
    thread: Number = 0
    launch: Number = 0
