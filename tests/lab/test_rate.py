"""A limit of a link is measured as what its frames leave for payload."""

import numpy as np
import pytest

from halftrip import model

MTU = 1500
# What tbf counts of a frame: the Ethernet header, but neither preamble, checksum nor gap. A TCP
# super-packet counts as the frames that it will be (qdisc_pkt_len_init in net/core/dev.c adds the
# headers of all its segments).
FRAME = MTU + 14
# 20 bytes of IP, 20 of TCP and 12 of its timestamps; 8 of UDP.
PAYLOAD = {"tcp": MTU - 52, "udp": MTU - 28}
