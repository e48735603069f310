"""Many ranks in one process, over the simulated transport in virtual time: each is a greenlet,
which runs until it waits for a message, and messages are handed over in memory."""

from collections import Counter, defaultdict, deque

from greenlet import getcurrent, greenlet

from halftrip.control.collectives import Group
from halftrip.measure.clock_offsets import HostClocks
from halftrip.measure.runner import Order
from halftrip.measure.setup import Setup
from halftrip.measure.slice_runner import SliceRunner
from halftrip.plan.pairing import Schedules
from halftrip.registry import TRANSPORTS
from halftrip.telemetry.topology import Place
from halftrip.transports.base import ProcessContext


class Posts:
    """The messages under way, and the ranks that wait for one or may go on."""

    def __init__(self):
        self.runnable = deque()
        self._scheduler = getcurrent()
        self._messages = defaultdict(deque)
        self._waiting = {}

    def put(self, key, payload):
        self._messages[key].append(payload)
        if key in self._waiting:
            self.runnable.append(self._waiting.pop(key))

    def take(self, key):
        while not self._messages[key]:
            self._waiting[key] = getcurrent()
            self._scheduler.switch()
        return self._messages[key].popleft()

    def run(self, ranks):
        """Runs all these greenlets to their ends."""
        self.runnable.extend(ranks)
        while self.runnable:
            self.runnable.popleft().switch()
        assert not self._waiting, f"these wait for a message for ever: {list(self._waiting)[:10]}"


class MemoryGroup(Group):
    """One rank; `posts` are shared by all, and `sent` counts this rank's messages."""

    def __init__(self, rank, size, posts):
        self.rank = rank
        self.size = size
        self.sent = 0
        self._posts = posts

    def send(self, to, payload, thread=0):
        self.sent += 1
        self._posts.put((self.rank, to, thread), payload)

    def receive(self, source, thread=0, polls=False):
        return self._posts.take((source, self.rank, thread))

    def native_end(self, peer, yields):
        raise AssertionError("ranks of one host share its clock")

    def leave(self, peer):
        pass

    def close(self):
        pass


class Crowd:
    """`size` ranks that take the turns `turns`. `rounds` is how many their schedule has. `sent` has
    for each turn the messages of each rank, `reports` what rank 0 got, `open_pairs` how many pairs
    any rank had open at the end, at most, and `kept` of how many configurations any rank kept
    something."""

    def __init__(self, size, plan, setup_parts, turns):
        self.sent = [Counter() for _ in turns]
        self.reports = []
        self.open_pairs = self.kept = 0
        self._turns = turns
        self._posts = posts = Posts()
        # No two ranks share a host, nor need clocks be compared.
        hosts, of_clocks = [f"host{rank}" for rank in range(size)], ["host"] * size
        places = [[Place(None, False)]] * size
        schedule = Schedules(size, plan.pairs, plan.limits)
        self.rounds = schedule.rounds
        self._ranks = []
        for rank in range(size):
            group = MemoryGroup(rank, size, posts)
            process = ProcessContext.from_plan(plan, rank, "token")
            setup = Setup(
                plan=plan, group=group, hosts=hosts, places=places, environments=[],
                cache_bytes=1 << 20, kept_bytes=1 << 20, schedule=schedule,
                transports={"simulated": TRANSPORTS.load("simulated")(process)}, **setup_parts,
            )  # fmt: skip
            self._ranks.append((group, SliceRunner(setup, HostClocks(group, of_clocks), 0, 0.0)))

    def run(self):
        self._posts.run([greenlet(lambda rank=rank: self._follow(*rank)) for rank in self._ranks])
        slice_runners = [slice_runner for _, slice_runner in self._ranks]
        self.open_pairs = max(len(p._pairs) for p in slice_runners)
        self.kept = max(len(p._states) for p in slice_runners)
        return self

    def _follow(self, group, slice_runner):
        for number, turn in enumerate(self._turns):
            before = group.sent
            order = group.broadcast(Order(turn), Order)
            report = slice_runner.run(order.turn)
            reports = group.gather(report, type(report))
            self.sent[number][group.rank] = group.sent - before
            if reports is not None:
                self.reports.append(reports)
        slice_runner.close()
