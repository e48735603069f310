"""UCX between two ranks: what most MPIs send by, without the MPI. Whichever library is found when a
run begins (ucx/library.py)."""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from halftrip import _native
from halftrip.control.network import Network
from halftrip.errors import Unavailable
from halftrip.memory.allocator import HostRegion
from halftrip.plan.settings import SETTINGS
from halftrip.results.configuration import Configuration
from halftrip.results.memory_name import is_of_host, parse_memory
from halftrip.results.threshold import Threshold
from halftrip.transports.base import (
    Carried,
    Endpoint,
    EndpointBuffers,
    PairContext,
    Path,
    PathSettings,
    ProcessContext,
    Timed,
    Transport,
)
from halftrip.transports.capabilities import Capabilities
from halftrip.transports.native.endpoint import NativeEndpoint, NativeWindow, patterns_of
from halftrip.ucx import connection
from halftrip.ucx.library import Library, library, missing

# The native types of each interface: of blocking calls.
_KINDS = {"tag": "UcxTag", "am": "UcxAm", "stream": "UcxStream"}
# UCX's settings that are halftrip's, too.
_SETTINGS = {"ucx_tls": "TLS", "ucx_device": "NET_DEVICES"}
# Of UCX's kinds of memory, by bits: that of CUDA's devices.
_CUDA = 2


class UcxTransport(Transport):
    capabilities = Capabilities(
        patterns={
            "blocking": patterns_of("UcxTag"),
            "nonblocking": patterns_of("UcxTagNonblocking"),
            "onesided": patterns_of("UcxWindow"),
        },
        waits=("spin", "block"),
        settings={"ucx_api": tuple(_KINDS), "ucx_tls": (), "ucx_device": ()},
        staging=("as-needed", "none", "staged"),
        opens_memory=True,
        copied_once=True,
    )

    def __init__(self, process: ProcessContext) -> None:
        super().__init__(process)
        if process.network.ports is not None:
            # ucp_config_modify takes settings of transports in later versions alone.
            os.environ.setdefault("UCX_TCP_PORT_RANGE", "{}-{}".format(*process.network.ports))

    def missing(self, pair: PairContext) -> str | None:
        return missing(self.process.ucx_library)

    def refuses(self, configuration: Configuration) -> str | None:
        if dict(configuration.extra).get("ucx_api") == "stream" and not configuration.size:
            return "--ucx-api stream: a byte stream has no empty messages"
        return super().refuses(configuration)

    def obstacle(self, configuration: Configuration, pair: PairContext) -> str | None:
        if configuration.is_one_sided and self.process.network.partners:
            # Over sockets UCX looks at no key: whoever reaches its port could write to any memory
            # of this process.
            return "ucx has no put and get with --peer, since UCX does not check what they reach"
        memory = pair.end_of(configuration).memory
        if is_of_host(memory):
            return None
        is_asked = self.process.chooses_staging
        is_staged = configuration.staging is not None
        if is_staged and is_asked:
            return None
        reason = self._takes_not(memory, dict(configuration.extra).get("ucx_api"))
        advice = "-t ucx --staging whole sends by way of the host's memory"
        if is_staged:
            return None if reason else f"--memory {memory}: UCX takes it as it is; {advice}"
        others = advice if is_asked else "blocking calls are staged"
        return f"--memory {memory}: {reason}; {others}" if reason else None

    def _takes_not(self, memory: str, api: object) -> str:
        """Why UCX does not take messages in that memory of a device; empty if it does."""
        found = library(self.process.ucx_library)
        if parse_memory(memory).kind != "cuda" or not _memory_types(found) & _CUDA:
            return f"UCX {found.version} does not take it"
        return "active messages arrive in the host's memory" if api == "am" else ""

    def path(self, pair: PairContext, settings: PathSettings) -> Path:
        return UcxPath(self.process, pair, settings)


@contextlib.contextmanager
def _or_unavailable(what: str = "") -> Iterator[None]:
    try:
        yield
    except _native.LibraryError as error:
        raise Unavailable(f"{what}{error}") from None


def _allowed(network: Network, asked: str) -> dict[str, str]:
    """Settings that keep UCX between hosts where the peer's address is that of a stranger: it might
    name any process of this one. Raises Unavailable for transports that were `asked` for and do
    not."""
    if not network.partners:
        return {}
    names = asked.split(",") if asked else connection.BETWEEN_HOSTS
    for name in names:
        if name not in connection.BETWEEN_HOSTS:
            raise Unavailable(f"--ucx-tls {name}: with --peer tcp, ib, rc, ud, dc and srd alone")
    return {"TLS": ",".join(names)}


def _memory_types(found: Library) -> int:
    with _or_unavailable():
        worker = _native.UcxWorker(
            found.addresses, found.minor, _native.UcxTag.feature, [], False, False
        )
        try:
            return worker.memory_types
        finally:
            worker.close()


class UcxPath(Path):
    """A worker for messages by one of UCX's interfaces, or for put and get."""

    def __init__(self, process: ProcessContext, pair: PairContext, settings: PathSettings) -> None:
        self._pair = pair
        api = dict(settings.extra).get("ucx_api")
        self._api = str(api) if api else ""
        self._kind = _KINDS[self._api or "tag"]
        # UCX prefers other ways for what it is not asked for.
        is_plain = not api and not process.network.partners
        features = _native.ucx_rma if is_plain else getattr(_native, self._kind).feature
        asked = {name: str(value) for name, value in settings.extra if name in _SETTINGS}
        said = "".join(f"{SETTINGS[name].option} {value}: " for name, value in asked.items())
        self.library = library(process.ucx_library)
        chosen = {_SETTINGS[name]: value.replace("+", ",") for name, value in asked.items()}
        with _or_unavailable(said), pair.on_allowed_cores():
            self.worker = _native.UcxWorker(
                self.library.addresses,
                self.library.minor,
                features,
                [*(chosen | _allowed(process.network, chosen.get("TLS", ""))).items()],
                settings.wait == "block",
                pair.shares_core,
            )
        device = asked.get("ucx_device", "")
        absent = connection.absent_devices(device, self.worker.resources)
        if absent:
            self.worker.close()
            raise Unavailable(
                f"{said}UCX has no {absent[0]} here (halftrip doctor has its devices)"
            )
        self.address = self.worker.address

    def connect(self, address: Any) -> None:
        with _or_unavailable(), self._pair.on_allowed_cores():
            self.worker.connect(address)

    def carried(self) -> Carried:
        return Carried(str(self.library), connection.lanes(self.worker.connection))

    def thresholds(self) -> Sequence[Threshold]:
        return [
            Threshold(
                name=f"the threshold of UCX for {each.way}",
                value=each.size,
                acts="protocol",
                source="ucp_ep_print_info",
                setting=each.setting,
            )
            for each in connection.switches(self.worker.connection, self._api)
        ]

    def endpoint(self, configuration: Configuration, buffers: EndpointBuffers) -> Endpoint:
        initiates = self._pair.initiates
        with _or_unavailable():
            if configuration.is_one_sided:
                return UcxWindow(self.worker, configuration, initiates, buffers)
            if configuration.mode == "nonblocking":
                kind = getattr(_native, f"{self._kind}Nonblocking")
                end = kind(self.worker, max_window=configuration.window)
            else:
                end = getattr(_native, self._kind)(self.worker)
        return UcxEndpoint(self.worker, end, configuration, initiates, buffers)

    def close(self) -> None:
        self.worker.close()


class _Settled(NativeEndpoint):
    """Between batches nobody calls UCX, which may have kept the end of a message."""

    worker: _native.UcxWorker

    def run(self, untimed: int, iterations: int, samples: int) -> Timed:
        timed = super().run(untimed, iterations, samples)
        self.worker.settle()
        return timed


class UcxEndpoint(_Settled):
    def __init__(self, worker: _native.UcxWorker, end: Any, *rest: Any) -> None:
        super().__init__(end, *rest)
        self.worker = worker


class UcxWindow(_Settled, NativeWindow):
    """Each end exposes memory that UCX allocates, and reaches into the peer's."""

    def __init__(
        self,
        worker: _native.UcxWorker,
        configuration: Configuration,
        initiates: bool,
        buffers: EndpointBuffers,
    ) -> None:
        super().__init__(None, configuration, initiates, buffers)
        self.worker = worker
        size = buffers.exposed_bytes
        self._memory = _native.UcxMemory(worker, size)
        where = self._memory.address
        self.expose(HostRegion(np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(where))))
        self.address = {"key": self._memory.key, "address": where, "size": size}

    def connect(self, address: Any) -> None:
        align = self._configuration.align
        with _or_unavailable():
            self._end = _native.UcxWindow(
                self.worker, address["key"], address["address"] + align, address["size"] - align
            )

    def free(self) -> None:
        self.exposed = None
        self._memory.close()
