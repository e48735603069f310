"""NCCL between two devices: what programs for several GPUs use for collectives and messages."""

from __future__ import annotations

from typing import Any

from halftrip import _native
from halftrip.cuda import driver as cuda
from halftrip.cuda import nccl
from halftrip.cuda.device import DeviceStream
from halftrip.errors import Unavailable
from halftrip.memory.allocator import memory_named
from halftrip.memory.cuda import CudaMemory, CudaRegion
from halftrip.results.configuration import Configuration
from halftrip.transports.base import (
    Endpoint,
    EndpointBuffers,
    PairContext,
    Path,
    PathSettings,
    Transport,
)
from halftrip.transports.capabilities import Capabilities
from halftrip.transports.native.endpoint import NativeEndpoint, patterns_of


class NcclTransport(Transport):
    capabilities = Capabilities(
        patterns={"blocking": patterns_of("Nccl"), "nonblocking": patterns_of("NcclNonblocking")},
        no_mode={"onesided": "NCCL has no memory to reach into"},
        waits=("spin",),
        no_other_wait="a stream of the device is waited for by the driver",
        of_host=False,
        memories=("cuda",),
        smallest=1,
        too_small="NCCL has no empty messages",
    )

    def missing(self, pair: PairContext) -> str | None:
        return cuda.missing() or nccl.missing()

    def path(self, pair: PairContext, settings: PathSettings) -> Path:
        return NcclPath(pair)


class NcclPath(Path):
    """The communicators of the pair: one for each pair of devices, which its first configuration
    makes and all others use."""

    def __init__(self, pair: PairContext) -> None:
        self.pair = pair
        self.communicators: dict[tuple[str, str], nccl.Communicator] = {}
        # An id that no communicator was made of: NCCL waits for its ranks in a thread.
        self._unused = b""

    def endpoint(self, configuration: Configuration, buffers: EndpointBuffers) -> Endpoint:
        return NcclEndpoint(self, configuration, buffers)

    def unused_id(self) -> bytes:
        """The id of the next communicator; at the responder, empty. Raises Unavailable."""
        if self.pair.initiates and not self._unused:
            self._unused = nccl.nccl().new_id()
        return self._unused

    def join(self, devices: tuple[str, str], unique_id: bytes) -> nccl.Communicator:
        """The communicator between these devices, this end's first; both ends call it. Raises
        Unavailable."""
        if devices not in self.communicators:
            rank = 0 if self.pair.initiates else 1
            self._unused = b""
            with self.pair.on_allowed_cores():
                self.communicators[devices] = nccl.nccl().join(unique_id, rank)
        return self.communicators[devices]

    def close(self) -> None:
        for communicator in self.communicators.values():
            communicator.close()
        self.communicators.clear()


class NcclEndpoint(NativeEndpoint):
    """The initiator is rank 0 of the communicator."""

    def __init__(
        self, path: NcclPath, configuration: Configuration, buffers: EndpointBuffers
    ) -> None:
        super().__init__(None, configuration, path.pair.initiates, buffers)
        self._path = path
        memory: CudaMemory = memory_named(path.pair.end_of(configuration).memory)  # type: ignore[assignment]
        self._device = memory.device
        self._id = path.unused_id()
        self._stream = DeviceStream(self._device)
        try:
            self._ack = CudaRegion(self._device, 1)
        except Unavailable:
            self._stream.close()
            raise
        self.address = {"device": self._device.uuid, "id": self._id}

    def connect(self, address: Any) -> None:
        own, other = self._device.uuid, address["device"]
        if own == other:
            memory = self._configuration.both_ends("memory")
            raise Unavailable(f"--memory {memory}: NCCL has no two ranks on one device")
        self._device.enter()
        rank = 0 if self._path.pair.initiates else 1
        communicator = self._path.join((own, other), self._id or address["id"])
        is_begun = self._configuration.mode == "nonblocking"
        kind = _native.NcclNonblocking if is_begun else _native.Nccl
        link = _native.NcclLink(
            functions=nccl.nccl().addresses,
            stream=self._stream.native,
            comm=communicator.address,
            peer=1 - rank,
            ack=self._ack.pointer,
        )
        self._end = kind(link)

    def close(self) -> None:
        super().close()
        self._stream.close()
        self._ack.close()
