"""A delay, as LogGP needs it, in runs of real ranks."""


def test_rows_with_and_without_a_delay_are_told_apart(shell):
    result = shell.measure("-t", "shm", "-s", "8", "--delay", "0,50us", "--iterations", "200")
    rows = {int(row["delay_ns"]): float(row["latency_ns"]) for row in result.rows()}
    assert rows[50_000] >= 25_000
    assert rows.keys() == {0, 50_000}
    shown = result.show("--details").out
    assert "0 us" in shown
    assert "50 us" in shown
    assert "delay: the initiator computes so long after each send" in shown
