"""Many ranks in one process, over the simulated transport in virtual time: each is a thread, and
messages are handed over in memory."""

import dataclasses
import queue
import threading
from collections import Counter

from halftrip.control.collectives import Group
from halftrip.measure.clock_offsets import HostClocks
from halftrip.measure.participant import Participant
from halftrip.measure.runner import Order
from halftrip.measure.setup import Setup
from halftrip.plan.pairing import Schedule
from halftrip.registry import TRANSPORTS
from halftrip.transports.base import PairContext, ProcessContext

# A thread of Python needs little: deep recursion happens nowhere.
STACK_BYTES = 256 << 10
WAIT_SECONDS = 300


class MemoryGroup(Group):
    """One rank; `posts` are shared by all, and `sent` counts this rank's messages."""

    def __init__(self, rank, size, posts):
        self.rank = rank
        self.size = size
        self.sent = 0
        self._posts = posts

    def send(self, to, payload, thread=0):
        self.sent += 1
        self._posts[self.rank, to, thread].put(payload)

    def receive(self, source, thread=0, polls=False):
        return self._posts[source, self.rank, thread].get(timeout=WAIT_SECONDS)

    def leave(self, peer):
        pass

    def close(self):
        pass


class Posts(dict):
    """Queues, made when they are first used."""

    def __init__(self):
        super().__init__()
        self._lock = threading.Lock()

    def __missing__(self, key):
        with self._lock:
            return self.setdefault(key, queue.SimpleQueue())


@dataclasses.dataclass(frozen=True)
class CrowdSetup(Setup):
    """A set-up without cores: no two ranks share a host."""

    def context(self, ranks, thread):
        initiator, responder = ranks
        own = self.group.rank
        return PairContext(
            peer=responder if own == initiator else initiator,
            initiates=own == initiator,
            same_host=False,
            shares_core=False,
            thread=thread,
        )


class Crowd:
    """`size` ranks that take the turns `turns`. `sent` has for each turn the messages of each rank,
    `reports` what rank 0 got, `open_pairs` how many pairs any rank had open at the end, at most,
    and `kept` of how many cases any rank kept something."""

    def __init__(self, size, plan, setup_parts, turns):
        self.sent = [Counter() for _ in turns]
        self.reports = []
        self.open_pairs = self.kept = 0
        self._turns = turns
        posts = Posts()
        hosts = ["host"] * size
        schedule = Schedule(size, plan.pairs, plan.pairs_at_once)
        self._ranks = []
        for rank in range(size):
            group = MemoryGroup(rank, size, posts)
            process = ProcessContext.of(plan, rank, "token")
            setup = CrowdSetup(
                plan=plan, group=group, hosts=hosts, places=[], environments=[],
                cache_bytes=1 << 20, kept_bytes=1 << 20, schedule=schedule,
                transports={"simulated": TRANSPORTS.load("simulated")(process)}, **setup_parts,
            )  # fmt: skip
            self._ranks.append((group, Participant(setup, HostClocks(group, hosts), 0, 0.0)))

    def run(self):
        old = threading.stack_size(STACK_BYTES)
        failures = []
        try:
            threads = [
                threading.Thread(target=self._follow, args=(*rank, failures), daemon=True)
                for rank in self._ranks
            ]
            for thread in threads:
                thread.start()
        finally:
            threading.stack_size(old)
        for thread in threads:
            while thread.is_alive() and not failures:
                thread.join(0.2)
        if failures:
            raise failures[0]
        participants = [participant for _, participant in self._ranks]
        self.open_pairs = max(len(p._pairs) for p in participants)
        self.kept = max(len(p._started) for p in participants)
        return self

    def _follow(self, group, participant, failures):
        try:
            for number, turn in enumerate(self._turns):
                before = group.sent
                order = group.broadcast(Order(turn), Order)
                report = participant.take_part(order.turn)
                reports = group.gather(report, type(report))
                self.sent[number][group.rank] = group.sent - before
                if reports is not None:
                    self.reports.append(reports)
            participant.close()
        except BaseException as error:  # noqa: BLE001 (handed to the test)
            failures.append(error)
