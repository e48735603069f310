"""Dragon channels: each rank has one that it receives from, in its node's pool of Dragon's memory.

On one node the library moves a message by itself, through shared memory; between nodes a transport
agent of the runtime carries it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from halftrip.dragon import process
from halftrip.dragon.channels import Channels
from halftrip.results.configuration import Configuration, Wait
from halftrip.results.threshold import Threshold
from halftrip.transports.base import (
    Endpoint,
    EndpointBuffers,
    PairContext,
    Path,
    PathSettings,
    Timed,
    Transport,
)
from halftrip.transports.capabilities import Capabilities
from halftrip.transports.native.endpoint import NativeEndpoint, delayed_of, patterns_of

# Messages that a channel has room for: a usual window, and what both ends send at once.
_CAPACITY = 128


class DragonTransport(Transport):
    capabilities = Capabilities(
        patterns={"blocking": patterns_of("DragonChannel")},
        no_mode={"onesided": "a channel has no memory to reach into"},
        waits=("spin", "block", "adaptive"),
        delayed=delayed_of("DragonChannel"),
        settings={"ownership": ("keep", "transfer")},
        smallest=1,
        too_small="Dragon has no empty messages",
    )

    def missing(self, pair: PairContext) -> str | None:
        return self.process.no_dragon or process.missing()

    def refuses(self, configuration: Configuration) -> str | None:
        if configuration.buffers == "same" and configuration.ownership == "keep":
            return "--buffers same: what arrives is not in the memory that the sender keeps"
        return super().refuses(configuration)

    def path(self, pair: PairContext, settings: PathSettings) -> Path:
        return DragonPath(pair, settings.wait)


class DragonPath(Path):
    def __init__(self, pair: PairContext, wait: Wait) -> None:
        self._pair = pair
        self._channels = Channels(wait, _CAPACITY)
        self.address = self._channels.serialized

    def connect(self, address: Any) -> None:
        self._channels.connect(address)

    def thresholds(self) -> Sequence[Threshold]:
        block = self._channels.block_bytes
        if not block:
            return ()
        name, source = "the message block of the Dragon channel", "dragon_channel_get_attr"
        return [Threshold(name=name, value=block, acts="protocol", source=source)]

    def endpoint(self, configuration: Configuration, buffers: EndpointBuffers) -> Endpoint:
        transfers = configuration.ownership == "transfer"
        end = self._channels.endpoint(buffers.out.native, transfers)
        return DragonEndpoint(end, configuration, self._pair.initiates, buffers)

    def close(self) -> None:
        self._channels.close()


class DragonEndpoint(NativeEndpoint):
    """An endpoint whose messages have to be loaded into Dragon's memory: once, or, where their
    bytes change from batch to batch, before each."""

    def __init__(self, end: Any, configuration: Configuration, *rest: Any) -> None:
        super().__init__(end, configuration, *rest)
        self._changes = configuration.verify
        end.load()

    def run(self, untimed: int, iterations: int, samples: int) -> Timed:
        if self._changes:
            self._end.load()
        return super().run(untimed, iterations, samples)
