"""Work in a thread of its own."""

import threading

from harness.limits import AMPLE_SECONDS


def in_thread(work):
    """Starts work() in a thread; the returned function waits for it and gives what it raised."""
    raised = []

    def run():
        try:
            work()
        except BaseException as error:  # noqa: BLE001 (handed to the test)
            raised.append(error)

    # A test that fails must not keep the process of all tests from ending.
    thread = threading.Thread(target=run, daemon=True)
    thread.start()

    def finish():
        thread.join(timeout=AMPLE_SECONDS)
        assert not thread.is_alive()
        return raised[0] if raised else None

    return finish
