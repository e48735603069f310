"""What UCX says of a connection and of what it could use, of versions before and after 1.16."""

import pytest

from halftrip.ucx.connection import absent_devices, lanes, resources, switches

BEFORE = """
# UCP endpoint
#
#               peer: <no debug data>
#                 lane[0]:  3:sysv/memory.0 md[2]           -> md[2]/sysv/sysdev[255] am am_bw#0
#                 lane[1]:  5:cma/memory.0 md[4]            -> md[4]/cma/sysdev[255] rma_bw#0
#
#                tag_send: 0..<egr/short>..8185..<egr/bcopy>..8192..<rndv>..(inf)
#            tag_send_nbr: 0..<egr/short>..8185..<egr/bcopy>..262144..<rndv>..(inf)
"""
AFTER = """
# UCP endpoint
#                 lane[0]:  0:tcp/eth0.0 md[0]  -> md[0]/tcp/sysdev[255] seg 4294967295 rma_bw#0 am
#
# +--------------------------+-------------------------------------------------------------------+
# | ucp_context_0 self cfg#0 | tagged message by ucp_tag_send*(fast-completion) from host memory |
# +--------------------------+--------------------------------------------------------+----------+
# |                  0..8184 | eager short | tcp/eth0 |
# |                8185..inf | (?) rendezvous fragmented copy-in copy-out | tcp/eth0 |
# +--------------------------+--------------------------------------------------------+----------+
#
# +--------------------------+-------------------------------------------------------+
# | ucp_context_0 self cfg#0 | tagged message by ucp_tag_send* from host memory      |
# +--------------------------+--------------------------------------------+----------+
# |                        0 | eager short | tcp/eth0 |
# |                 1..16383 | eager zero-copy copy-out | tcp/eth0 |
# |              16K..259131 | multi-frag eager copy-in copy-out | tcp/eth0 |
# |              259132..inf | (?) rendezvous fragmented copy-in copy-out | tcp/eth0 |
# +--------------------------+--------------------------------------------+----------+
#
"""


@pytest.mark.parametrize(
    ("text", "carried", "of_tag"),
    [
        (BEFORE, ["sysv/memory", "cma/memory"],
         [(8184, "eager copy-in copy-out", ""), (8191, "rendezvous", "UCX_RNDV_THRESH")]),
        (AFTER, ["tcp/eth0"],
         [(16383, "multi-frag eager copy-in copy-out", ""),
          (259131, "rendezvous fragmented copy-in copy-out", "UCX_RNDV_THRESH")]),
        ("", [], []),
    ],
)  # fmt: skip
def test_lanes_and_the_sizes_from_which_messages_go_another_way(text, carried, of_tag):
    assert lanes(text) == carried
    assert switches(text, "tag") == of_tag
    assert switches(text, "am") == switches(text, "stream") == []


def test_what_a_context_could_use():
    text = """
#            md 4  :  component 6  cma
#
#      resource 0  :  md 0  dev 0  flags -- self/memory0
#      resource 1  :  md 1  dev 1  flags -- tcp/lo
"""
    assert resources(text) == ["self/memory0", "tcp/lo"]
    assert absent_devices("lo+nonsense", text) == ["nonsense"]
    assert absent_devices("all", text) == absent_devices("^lo", text) == []
