"""Connections by which the ranks of an existing job notice each other's end: each rank to rank 0.

Ranks that a launcher of halftrip's has started have such a connection to the launcher instead.
"""

from __future__ import annotations

import contextlib

from halftrip.control.calling import connect
from halftrip.control.collectives import Group
from halftrip.control.greeting import Guest, introduce
from halftrip.control.hosts import host_identity
from halftrip.control.listener import Listener, Reach
from halftrip.control.network import Network
from halftrip.control.protocol import Abort, Address, Channel, Closed
from halftrip.errors import Interrupted

_CONNECT_SECONDS = 30.0


def connect_lifelines(group: Group, token: str, network: Network) -> dict[Channel, str]:
    """This rank's connections, each with the name of the other end: rank 0 has one for every other
    rank, the others have one.

    Raises Interrupted where not all can be made. Ranks that are connected already then get an
    Abort.
    """
    identities = group.allgather(host_identity(), str)
    if group.rank == 0:
        guests = {Guest("life", rank) for rank in range(1, group.size)}
        reach: Reach = "unix" if len(set(identities)) == 1 else network
        listener = Listener(token, guests, reach, rank=0)
        group.broadcast(listener.address, Address)
        try:
            return _accept_all(listener, group.size - 1)
        finally:
            listener.close()
    address = group.broadcast(None, Address)
    try:
        hello = introduce("life", group.rank, to=0)
        channel = connect(address, token, hello, _CONNECT_SECONDS, network=network)
    except (OSError, Closed) as error:
        raise Interrupted(f"rank {group.rank} cannot reach rank 0: {error}") from None
    return {channel: "rank 0"}


def _accept_all(listener: Listener, count: int) -> dict[Channel, str]:
    channels: dict[Channel, str] = {}
    try:
        for channel, hello in listener.connections(count, _CONNECT_SECONDS):
            channels[channel] = hello.name
    except TimeoutError:
        missing = count - len(channels)
        reason = f"{missing} of {count} ranks could not reach rank 0 in {_CONNECT_SECONDS:.0f} s"
        for channel in channels:
            with contextlib.suppress(Closed):
                channel.send(Abort(reason))
            channel.close()
        raise Interrupted(reason) from None
    return channels
