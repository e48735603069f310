# How the stubs of the Python module differ from what nanobind writes by itself: one signature for
# functions that exist for each type of endpoint, and types of what are plain tuples to nanobind.
# The format is that of nanobind's pattern files.

_native\.__prefix__$:
    \from typing import ClassVar, Protocol
    class _Endpoint(Protocol):
        """What all types of endpoints have: the patterns that they can do, and whether `respond`
        can say when each message of a ping-pong arrived."""

        patterns: ClassVar[tuple[str, ...]]
        has_arrivals: ClassVar[bool]

    class _MessageEndpoint(_Endpoint, Protocol):
        """An endpoint that sends and receives single messages, too."""

        def send(self, out: NDArray[numpy.uint8]) -> None: ...
        def recv(self, in_: NDArray[numpy.uint8]) -> None: ...

_native\.initiate$:
    def initiate(
        endpoint: _Endpoint,
        pattern: str,
        out: Ring,
        in_: Ring,
        window: int,
        untimed: int,
        iterations: int,
        timestamps: NDArray[numpy.int64],
        clock: str,
        receive_times: NDArray[numpy.int64] | None = None,
        touch: str = "none",
        arrivals: bool = False,
    ) -> None:
        \doc

_native\.respond$:
    def respond(
        endpoint: _Endpoint,
        pattern: str,
        out: Ring,
        in_: Ring,
        window: int,
        untimed: int,
        iterations: int,
        timestamps: NDArray[numpy.int64],
        clock: str,
        receive_times: NDArray[numpy.int64] | None = None,
        touch: str = "none",
        arrivals: bool = False,
    ) -> None:
        \doc

_native\.initiate_delayed$:
    def initiate_delayed(
        endpoint: _MessageEndpoint,
        pattern: str,
        out: Ring,
        in_: Ring,
        window: int,
        untimed: int,
        iterations: int,
        timestamps: NDArray[numpy.int64],
        clock: str,
        delay: int,
        read_cost: int,
    ) -> None:
        \doc

_native\.compare_clocks$:
    def compare_clocks(
        endpoint: _MessageEndpoint, most: int, longest_ns: int
    ) -> tuple[int, int, int]:
        \doc

_native\.answer_clocks$:
    def answer_clocks(endpoint: _MessageEndpoint) -> None:
        \doc

_native\.messages$:
    def messages(endpoint: _MessageEndpoint) -> Messages:
        \doc

_native\.\w+\.patterns$:
    patterns: ClassVar[tuple[str, ...]]

_native\.\w+\.has_arrivals$:
    has_arrivals: ClassVar[bool]

_native\.\w+\.version$:
    version: ClassVar[int]

_native\.parts$:
    parts: tuple[str, ...]

_native\.dragon_functions$:
    dragon_functions: tuple[str, ...]

_native\.nccl_functions$:
    nccl_functions: tuple[str, ...]

_native\.ucx_functions$:
    ucx_functions: tuple[str, ...]
