"""A queueing model: what more processors than a machine has would do, simulated.

N virtual processors run the same list of steps, `operations` times each. A step computes, which
delays no other, or holds one lock. Locks are first come, first served; of those who come at once
the lowest processor is first. Hold and compute times are inputs, measured on one thread, in whole
nanoseconds; the result follows from them alone.

The model leaves out what makes a real machine slower: preempted holders, shared memory bandwidth,
and contention for lines other than a lock's own. Holds do not nest. Its times are to be shown as
simulated.
"""

import heapq
import math
from typing import NamedTuple

GLOBAL = "global"    # one lock for all processors
PRIVATE = "private"  # one for each processor: it is never waited for
SHARDED = "sharded"  # `shards` locks; an operation takes the same random one in all its steps

_BITS = (1 << 64) - 1


class LockClass(NamedTuple):
    name: str
    instances: str = GLOBAL
    shards: int = 1  # SHARDED only


class Step(NamedTuple):
    ns: int
    lock: int = None  # an index into Model.locks; None computes


class Model(NamedTuple):
    locks: list
    steps: list  # of one operation
    operations: int = 1  # of each processor
    transfer_ns: int = 0  # added to a hold if another processor held the lock last
    seed: int = 1  # of the choice of shards
    # Part of the shards that were held before, by processors chosen at random; no processor held the others.
    held_before: float = 0.0


class LockUse:
    """What became of one lock class, all its instances together."""

    def __init__(self):
        self.acquisitions = 0
        self.waits = 0      # acquisitions that found the lock taken
        self.transfers = 0  # acquisitions after another processor's
        self.busy_ns = 0    # held or in transfer
        self.waited_ns = 0  # of all processors together
        self.utilisation = 0.0          # part of the makespan that an instance was busy, on average
        self.busiest_utilisation = 0.0  # that of the busiest instance


class Result(NamedTuple):
    makespan_ns: int  # until the last processor is done
    finish_ns: list   # of each processor
    locks: list       # LockUse, in the order of Model.locks


def mix(bits):
    """The finaliser of SplitMix64 (Steele, Lea, Flood 2014)."""
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9 & _BITS
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb & _BITS
    return bits ^ (bits >> 31)


class _Instance:
    __slots__ = ("last_holder", "free_ns", "busy_ns")

    def __init__(self, last_holder):
        self.last_holder = last_holder
        self.free_ns = 0
        self.busy_ns = 0


class _Simulation:
    def __init__(self, model, processors):
        self.model = model
        self.processors = processors
        self.instances = [{} for _ in model.locks]  # {shard: _Instance}, those that were held
        self.uses = [LockUse() for _ in model.locks]
        # Steps that others can delay, each with what its processor does alone before it.
        self.holds = []  # of (lead_ns, lock, hold_ns)
        self.tail_ns = 0  # after the last hold of an operation
        for step in model.steps:
            if step.lock is None or model.locks[step.lock].instances == PRIVATE:
                self.tail_ns += step.ns
            else:
                self.holds.append((self.tail_ns, step.lock, step.ns))
                self.tail_ns = 0
        self._add_private_use()

    def _count(self, lock):
        return {GLOBAL: 1, PRIVATE: self.processors, SHARDED: lock.shards}[lock.instances]

    def _add_private_use(self):
        times = self.processors * self.model.operations
        for step in self.model.steps:
            if step.lock is not None and self.model.locks[step.lock].instances == PRIVATE:
                self.uses[step.lock].acquisitions += times
                self.uses[step.lock].busy_ns += times * step.ns

    def _instance(self, lock, processor, operation):
        lock_class = self.model.locks[lock]
        shard, last_holder = 0, None
        if lock_class.instances == SHARDED:
            # Derives the shard from the operation's number, not from a running generator: a slower lock
            # elsewhere does not change which processors meet here.
            choice = mix(self.model.seed + lock & _BITS)
            choice = mix(mix(choice + processor & _BITS) + operation & _BITS)
            shard = choice % lock_class.shards
        instance = self.instances[lock].get(shard)
        if instance is None:
            if lock_class.instances == SHARDED:
                choice = mix(mix(~(self.model.seed + lock) & _BITS) + shard)
                if choice < self.model.held_before * _BITS:
                    last_holder = mix(choice) % self.processors
            instance = self.instances[lock][shard] = _Instance(last_holder)
        return instance

    def _serve(self, when_ns, processor, hold, operation):
        """Returns when the lock is released."""
        _, lock, busy_ns = self.holds[hold]
        instance = self._instance(lock, processor, operation)
        use = self.uses[lock]
        waited_ns = max(0, instance.free_ns - when_ns)
        if instance.last_holder not in (processor, None):
            busy_ns += self.model.transfer_ns
            use.transfers += 1
        instance.last_holder = processor
        instance.free_ns = when_ns + waited_ns + busy_ns
        instance.busy_ns += busy_ns
        use.acquisitions += 1
        use.waits += waited_ns != 0
        use.waited_ns += waited_ns
        use.busy_ns += busy_ns
        return instance.free_ns

    def run(self):
        operations = self.model.operations
        finish_ns = [operations * self.tail_ns if not self.holds else 0] * self.processors
        # Arrivals are served in the order of time, which makes every lock first come, first served.
        arrivals = [(self.holds[0][0], processor, 0, 0) for processor in range(self.processors)
                    ] if self.holds and operations else []
        while arrivals:
            when_ns, processor, hold, operation = arrivals[0]
            when_ns = self._serve(when_ns, processor, hold, operation)
            hold += 1
            if hold == len(self.holds):
                hold = 0
                when_ns += self.tail_ns
                operation += 1
            if operation == operations:
                finish_ns[processor] = when_ns
                heapq.heappop(arrivals)
            else:
                heapq.heapreplace(arrivals,
                                  (when_ns + self.holds[hold][0], processor, hold, operation))
        self._set_utilisation(max(finish_ns))
        return Result(max(finish_ns), finish_ns, self.uses)

    def _set_utilisation(self, makespan_ns):
        if makespan_ns == 0:
            return
        for lock, instances, use in zip(self.model.locks, self.instances, self.uses):
            use.utilisation = use.busy_ns / (makespan_ns * self._count(lock))
            use.busiest_utilisation = use.utilisation
            if lock.instances != PRIVATE:
                busiest_ns = max((one.busy_ns for one in instances.values()), default=0)
                use.busiest_utilisation = busiest_ns / makespan_ns


def _check(model, processors):
    if processors < 1:
        raise ValueError("no processor to simulate")
    if model.transfer_ns < 0:
        raise ValueError("a hand-over takes a negative time")
    for lock in model.locks:
        if lock.instances == SHARDED and lock.shards < 1:
            raise ValueError(f"lock class {lock.name} has no shard")
    for number, step in enumerate(model.steps):
        if step.ns < 0:
            raise ValueError(f"step {number} takes a negative time")
        if step.lock is not None and not 0 <= step.lock < len(model.locks):
            raise ValueError(f"step {number} holds lock {step.lock} of {len(model.locks)}")


def simulate(model, processors):
    """The same arguments give the same Result. Raises ValueError, which says what input is wrong."""
    _check(model, processors)
    return _Simulation(model, processors).run()


def saturation_onset(model):
    """The number of processors from which on a global lock sets the pace: the time of an operation
    by itself over its time at the hottest global lock, hand-overs included. From there on T(n) = n *
    operations * time at that lock. Infinite without such a lock."""
    at_lock_ns = [0] * len(model.locks)
    for step in model.steps:
        if step.lock is not None and model.locks[step.lock].instances == GLOBAL:
            at_lock_ns[step.lock] += step.ns + model.transfer_ns
    hottest_ns = max(at_lock_ns, default=0)
    return sum(step.ns for step in model.steps) / hottest_ns if hottest_ns else math.inf
