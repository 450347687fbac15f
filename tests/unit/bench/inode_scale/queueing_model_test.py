"""The queueing model, and bulkstat as one."""

import collections
import itertools
import math
import random
import unittest

from bundle_model import PROCESSORS, HoldTimes, bulkstat_curve, bulkstat_model
from queueing_model import (GLOBAL, PRIVATE, SHARDED, LockClass, LockUse, Model, Step,
                            saturation_onset, simulate)

COMPUTE_NS = 700
HOLD_NS = 100
OPERATIONS = 50


def one_lock(instances=GLOBAL, shards=1, **changes):
    return Model([LockClass("list", instances, shards)], [Step(COMPUTE_NS), Step(HOLD_NS, 0)],
                 OPERATIONS)._replace(**changes)


class GlobalAndPrivateLocks(unittest.TestCase):
    def test_a_global_lock_sets_the_pace_from_its_onset_on(self):
        self.assertEqual(saturation_onset(one_lock()), 8)
        for n in (1, 2, 5, 8, 9, 16, 64):
            result = simulate(one_lock(), n)
            use = result.locks[0]
            if n <= 8:
                # They arrive together; afterwards each finds the lock free.
                makespan_ns = OPERATIONS * (COMPUTE_NS + HOLD_NS) + (n - 1) * HOLD_NS
                self.assertEqual(use.waited_ns, HOLD_NS * n * (n - 1) // 2)
                self.assertEqual(use.waits, n - 1)
            else:
                # The lock is idle until the first one comes, and never again.
                makespan_ns = COMPUTE_NS + n * OPERATIONS * HOLD_NS
            self.assertEqual(result.makespan_ns, makespan_ns)
            self.assertEqual(use.utilisation, n * OPERATIONS * HOLD_NS / makespan_ns)

    def test_private_locks_cost_only_their_holds(self):
        for n in (1, 2, 64):
            result = simulate(one_lock(PRIVATE, transfer_ns=999), n)
            use = result.locks[0]
            self.assertEqual(result.makespan_ns, OPERATIONS * (COMPUTE_NS + HOLD_NS))
            self.assertEqual((use.acquisitions, use.transfers, use.waited_ns), (n * OPERATIONS, 0, 0))
            self.assertEqual(use.utilisation, 100 / 800)

    def test_no_operations_take_no_time(self):
        result = simulate(one_lock(operations=0), 4)
        self.assertEqual((result.makespan_ns, result.locks[0].utilisation), (0, 0))

    def test_the_hottest_global_lock_decides_the_onset(self):
        model = Model([LockClass("hash"), LockClass("list"), LockClass("lru", PRIVATE)],
                      [Step(10, 0), Step(15, 1), Step(10, 0), Step(500, 2), Step(465)])
        self.assertEqual(saturation_onset(model), 50)
        model = model._replace(transfer_ns=40)
        self.assertEqual(saturation_onset(model), 10)
        self.assertEqual(saturation_onset(model._replace(locks=[LockClass("own", PRIVATE)] * 3)),
                         math.inf)
        self.assertEqual(saturation_onset(Model([], [])), math.inf)

    def test_wrong_inputs_are_named(self):
        good = one_lock()
        for model, processors, message in (
                (good, 0, "no processor to simulate"),
                (good._replace(steps=[*good.steps, Step(5, 1)]), 1, "step 2 holds lock 1 of 1"),
                (good._replace(steps=[Step(-1)]), 1, "step 0 takes a negative time"),
                (good._replace(transfer_ns=-1), 1, "a hand-over takes a negative time"),
                (one_lock(SHARDED, 0), 1, "lock class list has no shard")):
            with self.assertRaises(ValueError) as caught:
                simulate(model, processors)
            self.assertEqual(str(caught.exception), message)


class Shards(unittest.TestCase):
    def test_shards_lie_between_one_lock_and_none(self):
        one, few, many, own = (simulate(model, 32).makespan_ns for model in (
            one_lock(), one_lock(SHARDED, 4), one_lock(SHARDED, 1024), one_lock(PRIVATE)))
        self.assertGreater(one, few)
        self.assertGreater(few, many)
        self.assertGreaterEqual(many, own)
        self.assertLess(many, 1.1 * own)
        self.assertEqual(simulate(one_lock(SHARDED, 1), 32).makespan_ns, one)

    def test_shards_are_chosen_evenly(self):
        use = simulate(one_lock(SHARDED, 16, operations=10_000), 4).locks[0]
        # 40,000 throws at 16 shards: the fullest is within 5 standard deviations of 2500.
        self.assertGreater(use.busiest_utilisation, use.utilisation)
        self.assertLess(use.busiest_utilisation, use.utilisation * (1 + 5 / math.sqrt(2500)))

    def test_all_steps_of_an_operation_fall_on_one_shard(self):
        # If the second hold fell on another shard, it would often come after another processor's.
        model = Model([LockClass("chain", SHARDED, 64)], [Step(10, 0), Step(10, 0)], 1000)
        twice = simulate(model, 2).locks[0].transfers
        once = simulate(model._replace(steps=[Step(10, 0)]), 2).locks[0].transfers
        self.assertLessEqual(twice, once + once // 10)

    # Expected values: of an independent implementation in C++.
    def test_the_choice_of_shards_is_that_of_the_seed(self):
        model = Model([LockClass("a"), LockClass("b", SHARDED, 5)],
                      [Step(9, 1), Step(40), Step(3, 0), Step(6, 1)], 20, 4, 7)
        expected = [1457, 1454, 1468, 1501, 1523, 1508]
        self.assertEqual(simulate(model, 6).finish_ns, expected)
        self.assertNotEqual(simulate(model._replace(seed=2), 6).finish_ns, expected)

    def test_a_lock_that_was_held_before_is_handed_over(self):
        for part in (0.0, 0.25, 1.0):
            model = one_lock(SHARDED, 1 << 20, operations=1000, transfer_ns=1, held_before=part)
            transfers = simulate(model, 16).locks[0].transfers
            # One in 16 was held by the same processor; one in 130 meets a shard twice.
            self.assertAlmostEqual(transfers / 16_000, part * 15 / 16, delta=0.015)


def by_slow_clock(model, processors):
    """The same model, nanosecond by nanosecond, with queues in which processors stand. Steps take at
    least 1 ns, locks are global. Returns the times of finish, and the use of each lock."""
    until, steps, holds = [0] * processors, [0] * processors, [None] * processors
    queues = [collections.deque() for _ in model.locks]
    held, last = [False] * len(model.locks), [None] * len(model.locks)
    uses = [LockUse() for _ in model.locks]
    finish = [None] * processors
    for now in itertools.count():
        for i in range(processors):
            if until[i] != now:
                continue  # works on, or stands in a queue
            if holds[i] is not None:
                held[holds[i]], holds[i] = False, None
            if steps[i] == len(model.steps) * model.operations:
                finish[i] = now
                continue
            step = model.steps[steps[i] % len(model.steps)]
            steps[i] += 1
            until[i] = now + step.ns if step.lock is None else None
            if step.lock is not None:
                queues[step.lock].append((i, step.ns, now))
        if None not in finish:
            return finish, uses
        for lock, (queue, use) in enumerate(zip(queues, uses)):
            if queue and not held[lock]:
                i, ns, came_ns = queue.popleft()
                transfer = last[lock] not in (None, i)
                ns += model.transfer_ns * transfer
                use.acquisitions += 1
                use.transfers += transfer
                use.waits += now > came_ns
                use.waited_ns += now - came_ns
                use.busy_ns += ns
                until[i], held[lock], last[lock], holds[i] = now + ns, True, i, lock


class AgainstASlowClock(unittest.TestCase):
    def test_times_and_uses_agree(self):
        chance = random.Random(3)
        for number in range(300):
            steps = [Step(chance.randint(1, 9), chance.choice([0, 1, 2, None]))
                     for _ in range(chance.randint(1, 5))]
            model = Model([LockClass(name) for name in "abc"], steps, chance.randint(1, 6),
                          chance.randint(0, 3))
            processors = chance.randint(1, 6)
            result = simulate(model, processors)
            finish_ns, uses = by_slow_clock(model, processors)
            self.assertEqual(result.finish_ns, finish_ns, f"round {number}")
            for found, use in zip(result.locks, uses):
                for name in ("acquisitions", "transfers", "waits", "waited_ns", "busy_ns"):
                    self.assertEqual(getattr(found, name), getattr(use, name), (number, name))


TIMES = HoldTimes(hash_find=20, hash_insert=40, hash_unhash=30, list=10, transfer=50)


def bulkstat(policy, inode_ns=400):
    return bulkstat_model(policy, TIMES, inode_ns, 1000)


class Bundles(unittest.TestCase):
    def test_a_bundle_holds_the_locks_that_its_policies_take(self):
        for policy, held_ns in (("H0+L0+U0", [20, 40, 10, 10, 30]), ("H1+L0+U0", [40, 10, 10, 30]),
                                ("H8+L3+U1", [40, 30])):
            holds = [step.ns for step in bulkstat(policy).steps if step.lock is not None]
            self.assertEqual(holds, held_ns, policy)

    def test_which_locks_are_shared_by_whom(self):
        for policy, hash_lock, list_lock in (
                ("H0+L0+U0", (GLOBAL, 1), GLOBAL), ("H1+L1+U0", (GLOBAL, 1), PRIVATE),
                ("H5+L1+U1", (SHARDED, 32), PRIVATE), ("H6+L0+U1", (SHARDED, 32), GLOBAL),
                ("H3+L1+U1", (SHARDED, 65536), PRIVATE), ("H8+L3+U1", (SHARDED, 65536), PRIVATE)):
            locks = bulkstat(policy).locks
            self.assertEqual((locks[0].instances, locks[0].shards), hash_lock, policy)
            self.assertEqual(locks[1].instances, list_lock, policy)

    def test_one_processor_takes_the_time_that_was_measured(self):
        for policy in ("H0+L0+U0", "H3+L1+U1", "H8+L3+U1"):
            self.assertAlmostEqual(simulate(bulkstat(policy), 1).makespan_ns, 400_000, delta=5000)

    # Holds that were measured in colder caches, say.
    def test_locks_are_not_held_longer_than_the_whole_takes(self):
        self.assertAlmostEqual(simulate(bulkstat("H0+L0+U0", 60), 1).makespan_ns, 60_000, delta=5000)

    def test_one_global_lock_saturates_and_none_does_not(self):
        self.assertLess(saturation_onset(bulkstat("H0+L0+U0")), 4)
        one, many = (simulate(bulkstat("H8+L3+U1"), count).makespan_ns for count in (1, 64))
        self.assertLess(many, 2 * one)
        self.assertGreater(simulate(bulkstat("H0+L0+U0"), 64).makespan_ns, 10 * one)

    # Expected values: of an independent implementation in C++ that simulates all 100,000 inodes.
    def test_a_curve_of_many_inodes_is_that_of_all_of_them(self):
        times = HoldTimes(31.9, 58.2, 37.6, 13.1, 72.4)
        for policy, expected_s in (
                ("H0+L0+U0", [0.0399, 0.0696, 0.1376, 0.2752, 0.5504, 1.1008, 2.2016]),
                ("H6+L1+U1", [0.0402, 0.044311, 0.046988, 0.049561, 0.053052, 0.059822, 0.076405]),
                ("H8+L3+U1", [0.04, 0.042483, 0.044535, 0.045797, 0.046489, 0.046851, 0.047034])):
            curve = bulkstat_curve(policy, times, 400.0, 100_000)
            self.assertEqual(tuple(curve.seconds), PROCESSORS)
            for found_s, all_s in zip(curve.seconds.values(), expected_s):
                self.assertAlmostEqual(found_s / all_s, 1, delta=0.03, msg=policy)


if __name__ == "__main__":
    unittest.main()
