"""Runs of a machine whose cores are near, or far, for a while."""

import numpy as np

from harness import runs

NEAR, FAR = 92.0, 278.0
# What goes with the round trip, and what does not: ns, and for each ns of it.
SHM, TCP = (20.0, 0.5), (9000.0, 0.0)


def moving(seed=1, *, share=0.35, factor=1.0, launches=10, slices=2, near=NEAR, sizes=(8,)):
    """A run of shm and tcp, each slice of which is in the far state with the chance `share`; all
    takes `factor` times as long as usual."""
    generator = np.random.default_rng(seed)
    made = []
    for launch in range(launches):
        for number in range(slices):
            for transport, wait, (fixed, slope) in (("shm", "spin", SHM), ("tcp", "block", TCP)):
                for size in sizes:
                    is_far = generator.random() < share
                    rtt = (FAR if is_far else near) * np.exp(0.02 * generator.normal())
                    time = factor * (fixed + slope * rtt) * np.exp(0.01 * generator.normal())
                    made.append(
                        runs.measurement(
                            transport,
                            size,
                            wait,
                            half_ns=time,
                            seed=int(generator.integers(1 << 30)),
                            slice=number,
                            launch=launch,
                            rtts=(float(rtt), float(rtt * np.exp(0.01 * generator.normal()))),
                        )
                    )
    return runs.run(*made)
