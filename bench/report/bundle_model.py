"""bulkstat over a bundle of the inode cache's policies, as a queueing model."""

import math
from typing import NamedTuple

from queueing_model import (GLOBAL, PRIVATE, SHARDED, LockClass, Model, Step, saturation_onset,
                            simulate)

PROCESSORS = (1, 2, 4, 8, 16, 32, 64)

_ARRAY_LOCKS = 32  # as kArrayLocks of inode_policy.h
# A lock for each chain, or for each of many shards: two threads hardly ever meet.
_CHAIN_LOCKS = 1 << 16
RCU_LOOKUP = ("H1", "H3", "H6", "H7", "H8")  # as FirstLookupIsRcu() of inode_policy.h
_HASH, _LIST = 0, 1


class HoldTimes(NamedTuple):
    """How long one thread holds the inode cache's locks, taking and releasing them included, in ns.
    The names are those of inode_scale's rows."""
    hash_find: float    # a locked lookup that misses
    hash_insert: float  # the same again, and the insertion
    hash_unhash: float
    list: float         # joining the superblock's list, or leaving it
    transfer: float     # of a cache line from one processor to another


class Curve(NamedTuple):
    policy: str
    onset: float   # saturation_onset()
    seconds: dict  # {processors: seconds}


def _rounded(ns):
    return math.floor(ns + 0.5)


def _hash_lock(hash_policy):
    if hash_policy in ("H0", "H1"):
        return LockClass("hash", GLOBAL)
    if hash_policy in ("H5", "H6"):
        return LockClass("hash", SHARDED, _ARRAY_LOCKS)
    return LockClass("hash", SHARDED, _CHAIN_LOCKS)


def bulkstat_model(policy, times, inode_ns, operations):
    """What one thread does for one inode under `policy` ("H3+L1+U1"): a lookup that misses, an
    insertion, joining and leaving the list, leaving the hash. `inode_ns` is what all of it took one
    thread; what is not spent under the locks of the policy is computation."""
    hash_policy, list_policy, _ = policy.split("+")
    holds = [] if hash_policy in RCU_LOOKUP else [Step(_rounded(times.hash_find), _HASH)]
    holds.append(Step(_rounded(times.hash_insert), _HASH))
    if list_policy != "L3":
        holds += [Step(_rounded(times.list), _LIST)] * 2
    holds.append(Step(_rounded(times.hash_unhash), _HASH))
    held_ns = sum(hold.ns for hold in holds)
    # The holds were measured by themselves, over all inodes at once, which finds less in the
    # processor's caches than one inode that passes through: they cannot take longer than all of it.
    if held_ns > inode_ns:
        holds = [hold._replace(ns=_rounded(hold.ns * inode_ns / held_ns)) for hold in holds]
    part_ns = _rounded(max(0.0, inode_ns - held_ns) / len(holds))
    return Model(locks=[_hash_lock(hash_policy),
                        LockClass("list", GLOBAL if list_policy == "L0" else PRIVATE)],
                 steps=[step for hold in holds for step in (Step(part_ns), hold)],
                 operations=operations, transfer_ns=_rounded(times.transfer))


def _held_before(shards, operations):
    """The part of `operations` on shards chosen by chance that find theirs held before."""
    return 1 - shards / operations * (1 - math.exp(-operations / shards))


def bulkstat_curve(policy, times, inode_ns, files):
    """The Curve of `files` inodes a processor. Simulates 1000 of them, with as many locks held
    before as the average one of all files finds, and has the others take as long."""
    simulated = min(files, 1000)
    model = bulkstat_model(policy, times, inode_ns, simulated)
    shards = model.locks[_HASH].shards
    seconds = {}
    for count in PROCESSORS:
        if simulated < files:
            model = model._replace(held_before=_held_before(shards, count * files))
        seconds[count] = simulate(model, count).makespan_ns / 1e9 * files / simulated
    return Curve(policy, saturation_onset(model), seconds)
