"""What the path between two hosts does to datagrams is counted as it was done."""

import pytest
from scipy import stats

from lab import journal
from lab.relay import Rule

pytestmark = pytest.mark.extended

DELAY = 1_000_000
# Room for a number of eight bytes and the moment of sending; in one packet.
SIZE = 1000


def measured(lab, shell, rule, *arguments):
    """The run, and the datagrams there and back."""
    lab.relay.rule(rule)
    lab.relay.journal()
    run = lab.measure(shell, "-t", "udp", "-s", SIZE, "--ci", "none", "-r", 1, *arguments)
    log = lab.relay.journal()
    return run, log.datagrams(0), log.datagrams(1)


@pytest.mark.parametrize("loss", [0.01, 0.05])
def test_losses_are_counted(relayed, shell, loss):
    """`lost` is the number of datagrams of the kept samples that the relay has dropped, and, in a
    ping-pong, of those whose answer it has dropped. It is what chance makes of the share asked for,
    too: within all but a millionth of the binomial distribution."""
    rule = Rule(delay=DELAY, loss=loss)
    run, there, back = measured(
        relayed, shell, rule, "-p", "pingpong,stream", "--window", 32, "--time", "1s"
    )
    found = {m.configuration.pattern: m for m in run.measurements}
    assert set(found) == {"pingpong", "stream"}
    for pattern, m in found.items():
        sent = m.delivery.sent
        numbers = journal.counted(there, pattern, sent, m.configuration.window)
        dropped = journal.dropped(there)
        share = loss
        if pattern == "pingpong":
            dropped |= journal.dropped(back)
            share = 1 - (1 - loss) ** 2
        assert m.delivery.lost == len(numbers & dropped), pattern
        low, high = stats.binom.interval(1 - 1e-6, sent, share)
        assert low <= m.delivery.lost <= high, pattern


def test_datagrams_that_were_overtaken_are_late(relayed, shell):
    """`late` is the number of datagrams of the kept samples that the relay wrote after one that was
    sent later. All come: what is held is there before the word that the batch is over, as that is
    said a round trip later. And `jitter` is, within 5 %, that of the relay's own times: at a rate,
    as in a burst what the receiver does with one datagram is in the jitter of the next. So is a
    virtual CPU that is away for 10 ms: of three runs, one has to be without."""
    rule = Rule(delay=DELAY, reorder=0.1, hold=DELAY)
    at_a_rate = ("-p", "stream", "--rate", "2MB", "--wait", "spin", "--time", "0.6s")
    found = []
    for _ in range(3):
        run, there, _ = measured(relayed, shell, rule, *at_a_rate)
        (m,) = run.measurements
        numbers = journal.counted(there, "stream", m.delivery.sent, m.configuration.window)
        late = numbers & journal.overtaken(there)
        assert len(late) > 20
        assert (m.delivery.lost, m.delivery.reordered) == (0, len(late))
        found.append((m.delivery.jitter, journal.jitter(there, m.configuration.window)))
        if found[-1][0] == pytest.approx(found[-1][1], rel=0.05):
            return
    pytest.fail(f"jitter, as measured and of the relay, ns: {found}")
