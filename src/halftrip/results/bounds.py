"""The numbers and texts that a record can hold.

A run file may come from anywhere, so that a number in it may be anything that JSON can write. With
these types, which msgspec checks where it decodes, whoever reads a record can compute with it. They
are as wide as figures of a measurement can ever be, and leave room to add many of them up.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

# Three years in nanoseconds: no sample, and no sum of the samples of a block, is longer.
LONGEST_NS = 10**17
# As much as a plan may ask for: sizes in bytes, and counts of anything.
_LARGEST_SIZE = 1 << 60
_MOST = 10**15
# Each message in flight may need a request and a buffer.
LARGEST_WINDOW = 10**6
# Of sockets, bytes; a segment as the kernel has it: MAX_TCP_WINDOW.
LARGEST_SOCKET_BUFFER = 1 << 30
LARGEST_SEGMENT = 32767
LARGEST_CODE_POINT = 63
LONGEST_POLL_US = 10**6
# Of what is counted in a run, or by a kernel since it was booted.
_LARGEST = 1 << 62
_LARGEST_FLOAT = 1e19
# The longest argument and the longest variable of Linux: MAX_ARG_STRLEN.
_LONGEST_TEXT = 1 << 17

Text = Annotated[str, Meta(max_length=_LONGEST_TEXT)]
# Of a transport or of a kind of memory.
Name = Annotated[str, Meta(max_length=200)]

Rank = Annotated[int, Meta(ge=0, lt=10**6)]
# Of a core, a process, a thread, a launch or a slice.
Number = Annotated[int, Meta(ge=0, lt=1 << 31)]
Size = Annotated[int, Meta(ge=0, le=_LARGEST_SIZE)]
Window = Annotated[int, Meta(ge=1, le=LARGEST_WINDOW)]
# How many iterations a sample holds.
Iterations = Annotated[int, Meta(ge=1, le=_MOST)]
# How many pairs of threads talk at the same time.
Several = Annotated[int, Meta(ge=1, lt=1 << 31)]
# Of sockets: the size of a buffer, bytes, and the name of an algorithm of the kernel's; a segment,
# bytes; how long a call polls, us; a code point; how many connections.
SocketBytes = Annotated[int, Meta(ge=0, le=LARGEST_SOCKET_BUFFER)]
Algorithm = Annotated[str, Meta(min_length=1, max_length=15)]
SegmentBytes = Annotated[int, Meta(ge=0, le=LARGEST_SEGMENT)]
Microseconds = Annotated[int, Meta(ge=0, le=LONGEST_POLL_US)]
# How long an end computes between its calls, ns.
DelayNs = Annotated[int, Meta(ge=0, le=10**9)]
CodePoint = Annotated[int, Meta(ge=0, le=LARGEST_CODE_POINT)]
Connections = Annotated[int, Meta(ge=1, le=64)]
Count = Annotated[int, Meta(ge=0, le=_LARGEST)]
# The difference of two readings of a counter, which may have been set back between them.
Change = Annotated[int, Meta(ge=-_LARGEST, le=_LARGEST)]
WholeNs = Annotated[int, Meta(ge=0, le=LONGEST_NS)]
Ns = Annotated[float, Meta(ge=0.0, le=LONGEST_NS)]

# A figure that may be below 0: the difference of two clocks, or a sum in steps of some length.
Figure = Annotated[float, Meta(ge=-_LARGEST_FLOAT, le=_LARGEST_FLOAT)]
# A time, a share, a rate or another figure that cannot.
Amount = Annotated[float, Meta(ge=0.0, le=_LARGEST_FLOAT)]
# Of the confidence in an interval.
Level = Annotated[float, Meta(gt=0.0, lt=1.0)]
# The same as an amount, where it is a divisor.
Positive = Annotated[float, Meta(ge=1e-9, le=_LARGEST_FLOAT)]
