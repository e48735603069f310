"""libfabric between two ranks: what MPIs use below their own calls, by any of its providers."""

from __future__ import annotations

import contextlib
import ipaddress
import os
import socket
import sys
from collections.abc import Sequence
from pathlib import Path as File
from typing import Any

import numpy as np

from halftrip import _native
from halftrip.errors import Unavailable
from halftrip.libfabric.library import Asked, choose, library, limits, missing, version_of
from halftrip.memory.host import HOST
from halftrip.results.configuration import Configuration, Extra
from halftrip.results.threshold import Threshold
from halftrip.telemetry.copy_thresholds import copy_thresholds
from halftrip.transports.base import (
    Carried,
    Endpoint,
    EndpointBuffers,
    PairContext,
    Path,
    PathSettings,
    ProcessContext,
    Transport,
)
from halftrip.transports.capabilities import Capabilities
from halftrip.transports.native.endpoint import (
    NativeEndpoint,
    NativeWindow,
    delayed_of,
    patterns_of,
)

# Which settings are sizes from which on messages go another way. Of two with one name, the first
# that a library has counts: the buffer size is the eager limit where it has none of its own.
_LIMITS = {
    "FI_OFI_RXM_EAGER_LIMIT": "the eager limit",
    "FI_OFI_RXM_BUFFER_SIZE": "the eager limit",
    "FI_OFI_RXM_SAR_LIMIT": "the segmentation limit",
    "FI_SHM_SAR_THRESHOLD": "the segmentation limit",
    "FI_EFA_INTER_MAX_MEDIUM_MESSAGE_SIZE": "the medium message limit",
    "FI_EFA_INTER_MIN_READ_MESSAGE_SIZE": "the read message limit",
    "FI_CXI_RDZV_THRESHOLD": "the rendezvous threshold",
}
# Where a socket's address has that of the host, and how long that is, bytes.
_PLACES: dict[int, tuple[int, int]] = {socket.AF_INET: (4, 4), socket.AF_INET6: (8, 16)}
# What keeps the provider tcp to some ports: the first and the last.
_PORTS = ("FI_TCP_PORT_LOW_RANGE", "FI_TCP_PORT_HIGH_RANGE")
# Where providers for shared memory keep their segments, and how addresses begin that name these.
_SEGMENTS, _NAMES_SEGMENT = File("/dev/shm"), "fi_shm://"


def _asked(extra: Extra, pair: PairContext) -> Asked:
    given = {name: str(value or "") for name, value in extra}
    return Asked(given.get("provider", ""), given.get("libfabric_library", ""), pair.same_host)


def _host_of(name: bytes) -> str:
    """The IP address in a name of an endpoint that is a socket's address; empty of another."""
    family = int.from_bytes(name[:2], sys.byteorder)
    first, size = _PLACES.get(family, (0, 0))
    raw = name[first : first + size]
    return str(ipaddress.ip_address(raw)) if size and len(raw) == size else ""


class LibfabricTransport(Transport):
    capabilities = Capabilities(
        patterns={
            "blocking": patterns_of("LibfabricMessages"),
            "nonblocking": patterns_of("LibfabricNonblocking"),
            "onesided": patterns_of("LibfabricWindow"),
        },
        waits=("spin", "block"),
        settings={"provider": (), "libfabric_library": ()},
        staging=("staged",),
        delayed=delayed_of("LibfabricMessages"),
        copied_once=True,
    )

    def __init__(self, process: ProcessContext) -> None:
        super().__init__(process)
        # The provider tcp reads them when the library is first asked.
        for variable, port in zip(_PORTS, process.network.ports or (), strict=False):
            os.environ.setdefault(variable, str(port))

    def missing(self, pair: PairContext) -> str | None:
        return None

    def refuses(self, configuration: Configuration) -> str | None:
        if configuration.is_one_sided and not configuration.size:
            # The provider shm of libfabric 1.17 never completes one.
            return "libfabric: not every provider completes an empty put or get"
        return super().refuses(configuration)

    def obstacle(self, configuration: Configuration, pair: PairContext) -> str | None:
        asked = _asked(configuration.extra, pair)
        if reason := missing(asked.library):
            return reason
        offer = choose(asked)
        size, window = configuration.size, configuration.window
        if size > offer.most:
            return f"{offer.provider} has messages of no more than {offer.most} bytes"
        if window > (room := min(offer.sends, offer.receives)):
            return f"--window {window}: {offer.provider} has room for {room} messages"
        if configuration.is_one_sided and not offer.rma:
            return f"{offer.provider} does not reach the peer's memory"
        return None

    def path(self, pair: PairContext, settings: PathSettings) -> Path:
        return LibfabricPath(self.process, pair, settings)


class LibfabricPath(Path):
    """An endpoint of libfabric's for each path, which the peer knows by its address."""

    def __init__(self, process: ProcessContext, pair: PairContext, settings: PathSettings) -> None:
        self._pair, self._network = pair, process.network
        asked = _asked(settings.extra, pair)
        found, offer = library(asked.library), choose(asked)
        hints = _native.LibfabricHints(offer.provider, offer.domain, pair.same_host, offer.rma)
        self._name = b""
        try:
            blocks = settings.wait == "block"
            with pair.on_allowed_cores():
                self.native = _native.LibfabricPath(found, hints, blocks, pair.shares_core)
            self._name = self.native.address
        except _native.LibraryError as error:
            raise Unavailable(f"{offer.provider}: {error}") from None
        taken = self.native.taken
        self.provider = taken.provider
        self.address = {"provider": taken.provider, "name": self._name}
        self._library = found
        self._has_met = False

    def connect(self, address: Any) -> None:
        if address["provider"] != self.provider:
            both = f"{self.provider} and {address['provider']}"
            raise Unavailable(f"the ends would have {both}: --provider says which")
        name = address["name"]
        if self._network.partners:
            self._check_stranger(name)
        try:
            self.native.connect(name)
        except _native.LibraryError as error:
            raise Unavailable(f"{self.provider}: {error}") from None

    def _check_stranger(self, name: bytes) -> None:
        """Raises Unavailable for a name that is of another form than this end's own, beyond whose
        end the provider would read, or that leads to another host than the one that called."""
        own = self._name
        host = _host_of(name)
        if not _host_of(own) or (name[:2], len(name)) != (own[:2], len(own)) or not host:
            raise Unavailable(f"{self.provider}: its addresses are not checked here: no --peer")
        if not self._network.may_call(host):
            raise Unavailable(
                f"{self.provider}: the peer is to be called at {host}, and has called from "
                "another address; its FI_TCP_IFACE chooses the interface"
            )

    def endpoint(self, configuration: Configuration, buffers: EndpointBuffers) -> Endpoint:
        kind = LibfabricWindow if configuration.is_one_sided else LibfabricEndpoint
        return kind(self, configuration, self._pair.initiates, buffers)

    def meet(self) -> None:
        """Exchanges a message with the peer, once: only then are both ends connected. The peer does
        so at the same time. From then on segments of shared memory need no names, by which a killed
        rank would leave them behind. Raises Unavailable."""
        if self._has_met:
            return
        messages = _native.LibfabricMessages(self.native)
        empty = np.empty(0, dtype=np.uint8)
        try:
            messages.send(empty)
            messages.recv(empty)
        except (_native.LibraryError, _native.PeerClosed) as error:
            raise Unavailable(f"{self.provider}: {error}") from None
        self._has_met = True
        name = self._name.rstrip(b"\0").decode(errors="replace")
        if name.startswith(_NAMES_SEGMENT):
            with contextlib.suppress(OSError):
                (_SEGMENTS / name.removeprefix(_NAMES_SEGMENT)).unlink()

    def carried(self) -> Carried:
        taken = self.native.taken
        way = f"provider {taken.provider}, domain {taken.domain}, protocol {taken.protocol}"
        return Carried(f"libfabric {version_of(self._library)}, {self._library.file}", [way])

    def thresholds(self) -> Sequence[Threshold]:
        taken = self.native.taken
        by_variable = limits(self._library)
        found = {
            "the inject size": Threshold(
                name=f"the inject size of {self.provider}",
                value=taken.inject,
                acts="protocol",
                source="fi_info inject_size",
            )
        }
        for variable, name in _LIMITS.items():
            if _is_of(variable, self.provider) and variable in by_variable:
                limit = Threshold(
                    name=f"{name} of {self.provider}",
                    value=by_variable[variable],
                    acts="protocol",
                    source=f"fi_getparams {variable}",
                    setting=variable,
                )
                found.setdefault(name, limit)
        return [*found.values(), *(copy_thresholds() if self._pair.same_host else ())]

    def close(self) -> None:
        self.native.close()


def _is_of(variable: str, provider: str) -> bool:
    """Whether a setting is of that provider, or of a part of it."""
    return any(
        variable.startswith(f"FI_{part.upper()}_") for part in provider.replace("^", ";").split(";")
    )


class LibfabricEndpoint(NativeEndpoint):
    # Both ends call connect.
    address = ()

    def __init__(self, path: LibfabricPath, configuration: Configuration, *rest: Any) -> None:
        self._path = path
        if configuration.mode == "nonblocking":
            end: Any = _native.LibfabricNonblocking(path.native, configuration.window)
        else:
            end = _native.LibfabricMessages(path.native)
        super().__init__(end, configuration, *rest)

    def connect(self, address: Any) -> None:
        self._path.meet()


class LibfabricWindow(NativeWindow):
    """Each end lets the other reach memory of its own."""

    def __init__(
        self,
        path: LibfabricPath,
        configuration: Configuration,
        initiates: bool,
        buffers: EndpointBuffers,
    ) -> None:
        super().__init__(None, configuration, initiates, buffers)
        self._path = path
        memory = HOST.allocate(buffers.exposed_bytes, "4K")
        try:
            self._key, base = path.native.expose(memory.pointer, memory.size)
        except _native.LibraryError as error:
            raise Unavailable(f"{path.provider}: {error}") from None
        self.expose(memory)
        self.address = {"key": self._key, "base": base, "size": memory.size}

    def connect(self, address: Any) -> None:
        self._path.meet()
        align = self._configuration.align
        self._end = _native.LibfabricWindow(
            self._path.native,
            self._configuration.window,
            address=address["base"] + align,
            key=address["key"],
            size=address["size"] - align,
        )

    def close(self) -> None:
        super().close()
        self._path.native.hide(self._key)
