"""The tables of inode_scale and shared_lines, and the letters' figures beside them."""

import unittest

import inode_scale
import letters
import shared_lines
from bundle_model import HoldTimes
from table import as_text

FACTS = {"processors": 2}


def row(workload, policy, threads, ns_per_op, **changes):
    """A visit of each of 1000 files a thread."""
    return {"workload": workload, "policy": policy, "threads": threads, "fill_ns": 0,
            "inodes": 1000 * threads, "global_acq_per_inode": 5, "ns_per_op": ns_per_op,
            "ns_min": ns_per_op * 0.99, "ns_max": ns_per_op * 1.01, **changes}


def disturbed(workload, policy, threads, reason="other work"):
    return {key: value for key, value in row(workload, policy, threads, 1).items()
            if not key.startswith("ns_")} | {"disturbed": reason}


def hold(name, ns_per_op):
    return {"hold": name, "files": 1000, "ns_per_op": ns_per_op, "ns_min": 1, "ns_max": 99}


HOLDS = [hold("hash_find", 20), hold("hash_insert", 40), hold("hash_unhash", 30), hold("list", 10),
         hold("transfer", 50)]


def beside(rows, processors=2):
    return inode_scale.beside_letters(rows, processors)


def line(table, threads, mark):
    """The cells of the line with this mark under this number of threads; None if it has none."""
    current = None
    for cells in table.lines:
        current = cells[0] or current
        if (current, cells[1]) == (str(threads), mark):
            return cells[2:]
    return None


class Letters(unittest.TestCase):
    # The sums are those of the letters' own columns; a mistyped digit shows.
    def test_columns_add_up_to_those_of_the_letters(self):
        for letter, workload, before_s, after_s in (
                (letters.VFS_SCALE, "create", 813.706, 800.938),
                (letters.VFS_SCALE, "walk", 753.182, 592.878),
                (letters.VFS_SCALE, "chmod", 2457.753, 2323.942),
                (letters.VFS_SCALE, "unlink", 4625.109, 4561.332),
                (letters.VFS_SCALE, "bulkstat", 0, 0),
                (letters.ITERATION, "create", 39.655, 36.825),
                (letters.ITERATION, "walk", 26.573, 16.563),
                (letters.ITERATION, "chmod", 37.518, 31.043),
                (letters.ITERATION, "unlink", 54.387, 53.122),
                (letters.ITERATION, "bulkstat", 30.185, 5.759),
                (letters.RCU_LOOKUP, "fstree", 46.118 + 45.549, 21.581 + 37.932)):
            cells = [cell for cell in letters.rows()
                     if (cell["letter"], cell["workload"]) == (letter, workload)]
            self.assertAlmostEqual(sum(cell["before_s"] for cell in cells), before_s, 3, workload)
            self.assertAlmostEqual(sum(cell["after_s"] for cell in cells), after_s, 3, workload)

    def test_the_ratios_the_letters_speak_of_follow(self):
        for letter, filesystem, workload, threads, ratio in (
                (letters.ITERATION, "xfs", "bulkstat", 64, 12.2),
                (letters.VFS_SCALE, "xfs", "walk", 32, 1.99),
                (letters.VFS_SCALE, "ext4", "walk", 16, 2.58),
                (letters.VFS_SCALE, "btrfs-svol", "walk", 32, 4.06),
                (letters.RCU_LOOKUP, "ext4", "fstree", 20, 1 / (1 - 0.532)),    # "-53%"
                (letters.RCU_LOOKUP, "btrfs", "fstree", 20, 1 / (1 - 0.167))):  # "-16.7%"
            before_s, after_s = letters.find(letter, filesystem, workload, threads)
            self.assertAlmostEqual(before_s / after_s / ratio, 1, delta=0.004, msg=workload)
        walks = {cell["letter"]: cell["files"] for cell in letters.rows()
                 if (cell["workload"], cell["threads"]) == ("walk", 32)}
        self.assertEqual(walks, {letters.VFS_SCALE: 12_800_000, letters.ITERATION: 3_200_000})
        system_before_s, system_after_s = letters.FSTREE_SYSTEM_S["btrfs"]
        self.assertAlmostEqual(system_before_s / system_after_s, 1.21, delta=0.005)
        # The headline of streaming compares a longer run.
        cell = next(cell for cell in letters.rows()
                    if (cell["workload"], cell["threads"]) == ("bulkstat", 64))
        self.assertEqual(cell["files"], 6_400_000)
        per_s = cell["files"] / cell["before_s"]
        self.assertAlmostEqual(per_s, 413e3, delta=500)
        self.assertAlmostEqual(letters.LONG_BULKSTAT_PER_S / per_s, 17.6, delta=0.05)

    def test_what_no_letter_reports_is_not_found(self):
        for letter, filesystem, workload, threads in (
                (letters.VFS_SCALE, "xfs", "walk", 3), (letters.VFS_SCALE, "xfs", "bulkstat", 4),
                (letters.ITERATION, "ext4", "walk", 4), (letters.ITERATION, "xfs", "rename", 4),
                (letters.RCU_LOOKUP, "ext4", "walk", 20)):
            self.assertIsNone(letters.find(letter, filesystem, workload, threads))


class Figures(unittest.TestCase):
    def test_seconds_are_those_until_the_last_thread_was_done(self):
        for threads, wall_s in ((1, 1e-3), (2, 1e-3), (4, 2e-3)):
            self.assertAlmostEqual(inode_scale.seconds(row("walk", "H1+L0+U0", threads, 1000), 2),
                                   wall_s)
        self.assertAlmostEqual(inode_scale.inodes_per_s(row("walk", "H1+L0+U0", 2, 1000), 2), 2e6)

    def test_efficiency_is_against_one_thread_of_the_same_policy_and_fill_time(self):
        rows = [row("walk", "H1+L0+U0", 1, 300), row("walk", "H1+L0+U0", 2, 400),
                row("walk", "H1+L0+U0", 16, 600), row("walk", "H0+L0+U0", 1, 1),
                row("walk", "H1+L0+U0", 1, 1, fill_ns=5)]
        self.assertEqual([inode_scale.efficiency(rows, one) for one in rows[:3]], [1, 0.75, 0.5])
        self.assertIsNone(inode_scale.efficiency(rows[1:3], rows[1]))
        self.assertIsNone(
            inode_scale.efficiency([disturbed("walk", "H1+L0+U0", 1), rows[1]], rows[1]))

    def test_the_best_policy_is_the_fastest_where_every_thread_has_a_processor(self):
        rows = [row("walk", "H1+L0+U0", 1, 1), row("walk", "H2+L1+U0", 1, 2),
                row("walk", "H1+L0+U0", 2, 4), row("walk", "H2+L1+U0", 2, 3),
                row("walk", "H1+L0+U0", 16, 5), row("walk", "H2+L1+U0", 16, 9)]
        for processors, best in ((2, "H2+L1+U0"), (1, "H1+L0+U0"), (64, "H1+L0+U0")):
            self.assertEqual(inode_scale.best_policy(rows, "walk", processors), best)
        # The fewest threads if all are too many.
        self.assertEqual(inode_scale.best_policy(rows[4:] + [row("walk", "H3+L1+U0", 8, 9)], "walk", 2),
                         "H3+L1+U0")
        # Neither the baseline nor a disturbed row competes.
        rows = [row("walk", "H0+L0+U0", 2, 1), disturbed("walk", "H1+L0+U0", 2)]
        self.assertIsNone(inode_scale.best_policy(rows, "walk", 2))
        self.assertEqual(
            inode_scale.best_policy([*rows, row("walk", "H2+L1+U0", 2, 3)], "walk", 2), "H2+L1+U0")
        self.assertIsNone(inode_scale.best_policy(rows, "chmod", 2))


class BesideTheLetters(unittest.TestCase):
    def test_our_line_goes_from_the_baseline_to_the_best_bundle(self):
        table = beside([row("walk", "H0+L0+U0", 2, 750_000), row("walk", "H3+L1+U0", 2, 500_000),
                        row("walk", "H1+L0+U0", 2, 625_000)])
        self.assertEqual(table.header, ["threads", "", *letters.WORKLOADS])
        self.assertEqual(table.lines[0], ["after:", "", "-", "H3+L1+U0", "-", "-", "-", "-"])
        self.assertEqual(line(table, 2, "ours"), ["-", "0.7500 -> 0.5000 1.50x", "-", "-", "-", "-"])

    def test_the_letters_stand_under_ours(self):
        table = beside([row("walk", "H0+L0+U0", 4, 1e6), row("walk", "H3+L1+U0", 4, 5e5)], 4)
        for threads, mark, cells in (
                (4, "ours", ["-", "1.000 -> 0.5000 2.00x", "-", "-", "-", "-"]),
                (4, "ext4 [1]", ["11.008 -> 10.948 1.01x", "8.152 -> 7.530 1.08x",
                                 "11.140 -> 11.150 1.00x", "18.093 -> 17.153 1.05x", "-", "-"]),
                (4, "xfs [2]", ["4.269 -> 4.140 1.03x", "3.225 -> 3.502 0.92x", "4.557 -> 4.154 1.10x",
                                "7.316 -> 7.242 1.01x", "1.306 -> 1.164 1.12x", "-"]),
                (20, "ext4 [3]", ["-", "-", "-", "-", "-", "46.118 -> 21.581 2.14x"]),
                (64, "xfs [2]", ["15.344 -> 14.112 1.09x", "11.144 -> 3.953 2.82x",
                                 "14.162 -> 10.365 1.37x", "18.604 -> 18.620 1.00x",
                                 "15.494 -> 1.270 12.2x", "-"])):
            self.assertEqual(line(table, threads, mark), cells)
        self.assertIn(letters.ITERATION, as_text(table))
        # The first line of a number of threads names it, the next one does not.
        self.assertEqual([cells[0] for cells in table.lines if cells[1] in ("xfs [2]", "ours")],
                         ["4", "", "", "", "", "64"])

    def test_oversubscription_overlap_and_disturbance_are_marked(self):
        rows = [row("walk", policy, threads, ns_per_op) for threads in (1, 2, 4)
                for policy, ns_per_op in (("H0+L0+U0", 750), ("H3+L1+U0", 500))]
        self.assertIsNotNone(line(beside(rows), 4, "ours *"))
        self.assertTrue(line(beside(rows), 2, "ours")[1].endswith("1.50x"))
        rows[3]["ns_max"] = 750
        self.assertTrue(line(beside(rows), 2, "ours")[1].endswith("1.50x~"))
        rows[2] = disturbed("walk", "H0+L0+U0", 2, "a compiler")
        self.assertEqual(line(beside(rows), 2, "ours")[1], "left out [1]")
        self.assertIn("[1] a compiler", beside(rows).notes)

    def test_a_workload_that_no_letter_has_gets_a_column(self):
        table = beside([row("warm", "H0+L0+U0", 2, 3e6), row("warm", "H3+L1+U0", 2, 1.5e6)])
        self.assertEqual(table.header[-1], "warm")
        self.assertEqual(line(table, 2, "ours")[-1], "3.000 -> 1.500 2.00x")
        self.assertEqual(line(table, 20, "ext4 [3]")[-1], "-")


class Simulated(unittest.TestCase):
    ROWS = [*HOLDS, row("bulkstat", "H0+L0+U0", 1, 400), row("bulkstat", "H0+L0+U0", 2, 500),
            row("bulkstat", "H8+L3+U1", 1, 300), row("bulkstat", "H8+L3+U1", 2, 150)]

    def texts(self, rows):
        return [as_text(table) for table in inode_scale.tables(FACTS, rows)]

    def test_a_curve_says_that_it_is_simulated_and_where_a_lock_sets_the_pace(self):
        text = next(text for text in self.texts(self.ROWS) if "onset" in text)
        self.assertTrue(text.startswith("SIMULATED, not measured"))
        self.assertRegex(text, r"\n1 +0\.0004 \(1\.00\) +0\.0003 \(1\.00\)\n")
        # (20 + 40 + 30 and three hand-overs of 50) of 400 ns under the one hash lock.
        self.assertRegex(text, r"\n64 +0\.0154 \(38\.\d\d\) +0\.0003 \(1\.\d\d\)\n")
        self.assertRegex(text, r"\nonset ~ +1\.7 +never\n")

    def test_curves_are_held_against_the_rows_of_as_many_threads(self):
        rows = [*self.ROWS, row("bulkstat", "H0+L0+U0", 4, 1)]
        text = next(text for text in self.texts(rows) if text.startswith("Simulated over"))
        self.assertRegex(text, r"\nH0\+L0\+U0 +1 +1\.00\n")
        self.assertRegex(text, r"\nH8\+L3\+U1 +2 +2\.\d\d  OFF\n")
        self.assertNotRegex(text, r"\nH0\+L0\+U0 +4 ")  # more threads than processors

    def test_nothing_is_simulated_of_disturbed_times(self):
        holds = [*HOLDS[:2], {"hold": "hash_unhash", "files": 1, "disturbed": "x"}, *HOLDS[3:]]
        for rows, reason in (
                (self.ROWS[5:], ""),  # no hold times at all
                ([*holds, *self.ROWS[5:]], "Nothing is simulated: hash_unhash could not be timed"),
                ([*HOLDS, disturbed("bulkstat", "H0+L0+U0", 1)], "No simulation of H0+L0+U0")):
            self.assertIn(reason, "\n".join(self.texts(rows)))
            self.assertNotIn("SIMULATED", "\n".join(self.texts(rows)))

    def test_one_processor_hands_nothing_over(self):
        found, reasons = inode_scale.curves([*HOLDS[:4], self.ROWS[5]])
        self.assertEqual(reasons, [])
        self.assertAlmostEqual(found[0].onset, 400 / 90)


class UnderPressure(unittest.TestCase):
    @staticmethod
    def row(policy, hit_percent, keys="spread", threads=1, hash_acq=0.0, **changes):
        return {**row("pressure", policy, threads, 200), "keys": keys, "hit_percent": hit_percent,
                "hits": hit_percent / 100, "hash_acq_per_inode": hash_acq, **changes}

    def texts(self, *rows):
        return [as_text(table) for table in inode_scale.tables(FACTS, [*HOLDS, *rows])]

    def test_rates_of_hits_stand_beside_each_other(self):
        text = self.texts(self.row("H1+L1+U1", 0), self.row("H1+L1+U1", 90, ns_per_op=50),
                          self.row("H3+L1+U1", 90, hits=0.5))[0]
        self.assertRegex(text, r"keys spread, 1 thread")
        self.assertRegex(text, r"\nfill ns +policies +0 % +90 %\n")
        self.assertRegex(text, r"\n0 +H1\+L1\+U1 +200 \(198-202\) +50 \(198-202\)\n")
        self.assertIn("H3+L1+U1: 50 % hits instead of 90 %", text)
        self.assertNotIn("H1+L1+U1: ", text)

    def test_a_lock_for_all_sets_the_pace_the_earlier_the_fewer_lookups_hit(self):
        times = HoldTimes(20, 40, 30, 10, 50)
        for policy, hit_percent, hash_acq, onset in (
                ("H1+L1+U1", 100, 0, float("inf")), ("H1+L1+U1", 0, 2, 200 / (40 + 30 + 2 * 50)),
                ("H1+L1+U1", 50, 1, 200 / (35 + 50)), ("H0+L1+U1", 100, 1, 200 / (20 + 50)),
                ("H6+L1+U1", 0, 2 / 32, 32 * 200 / 170), ("H0+L1+U1", 0, 3, 1)):
            measured = self.row(policy, hit_percent, hash_acq=hash_acq)
            self.assertAlmostEqual(inode_scale.hash_lock_onset(measured, times), onset)

    def test_counts_and_predictions_are_of_policies_whose_locks_are_counted(self):
        texts = self.texts(self.row("H1+L1+U1", 0, hash_acq=2), self.row("H3+L1+U1", 0),
                           self.row("H6+L1+U1", 0, keys="one-chain", hash_acq=2))
        counts, predicted = texts[-2:]
        self.assertRegex(counts, r"\nspread +H1\+L1\+U1 +2\.000\none-chain +H6\+L1\+U1 +2\.000$")
        self.assertTrue(predicted.startswith("PREDICTED, not measured"))
        self.assertRegex(predicted, r"\nspread +H1\+L1\+U1 +1\.2$")
        self.assertNotIn("letters", "\n".join(texts))


class AllTables(unittest.TestCase):
    def test_every_timed_row_is_in_a_table_and_a_disturbed_one_with_its_reason(self):
        rows = [row("walk", "H3+L1+U1", 1, 300), row("walk", "H3+L1+U1", 2, 400),
                row("walk", "H3+L1+U1", 1, 1300, fill_ns=1000), disturbed("warm", "H3+L1+U1", 2, "why")]
        text = "\n".join(map(as_text, inode_scale.tables(FACTS, rows)))
        self.assertRegex(text, r"\n0 +H3\+L1\+U1 +300 \(297-303\) +400 \(396-404\) 0\.75\n")
        self.assertRegex(text, r"\n1,000 +H3\+L1\+U1 +1,300 \(1,287-1,313\) +-\n")
        self.assertIn("[1] why", text)

    def test_counts_stand_even_where_times_are_left_out(self):
        rows = [disturbed("bulkstat", "H0+L0+U0", 1), row("bulkstat", "H2+L1+U1", 1, 1)]
        rows[1]["global_acq_per_inode"] = 0
        text = next(text for text in map(as_text, inode_scale.tables(FACTS, rows))
                    if text.startswith("Acquisitions of global locks"))
        self.assertRegex(text, r"\nH0\+L0\+U0 +5\.000\nH2\+L1\+U1 +0\.000$")

    def test_claims_are_those_that_the_machine_allows(self):
        def claims(facts, rows=()):
            return " ".join(as_text(inode_scale.claims(facts, rows)).split())
        # Larger ratios are left to counts and simulation.
        self.assertIn("the letters' 2.14x (fstree; 2.24x of its system time), 2.58x and 4.06x (walk), "
                      "12.2x (bulkstat)", claims(FACTS))
        self.assertNotIn("million inodes/s", claims(FACTS))
        self.assertIn("at two threads", claims(FACTS))
        self.assertNotIn("at two threads", claims({"processors": 1}))
        server = claims({"processors": 2, "server": "a server"})
        self.assertIn("On a server, through the client: these times contain the server.", server)
        self.assertNotIn("What times", server)
        # The streaming rate: of threads that have a processor.
        text = claims(FACTS, [row("bulkstat", "H0+L0+U0", 2, 2000), row("bulkstat", "H8+L3+U1", 2, 500),
                              row("bulkstat", "H7+L3+U1", 4, 100), row("bulkstat", "H7+L3+U1", 16, 100)])
        self.assertIn("bulkstat, 2 threads, H8+L3+U1: 4.00 million inodes/s", text)
        self.assertIn(f"({letters.ITERATION}: 7.27 million with 64 threads", text)
        self.assertIn("Rows with 4, 16 threads: oversubscription, not scalability.", text)


class SharedLines(unittest.TestCase):
    def test_a_table_has_a_policy_a_line_and_a_number_of_threads_a_column(self):
        rows = [{"workload": workload, "policy": "H0+L0+U0", "threads": threads, "visits": 100,
                 "shared_writes": 12.0 * (threads - 1), "shared_reads": 0.5,
                 "writes_after_callbacks": 0.03, "reads_after_callbacks": 0.04, "callbacks": 0.05}
                for workload in ("bulkstat", "warm") for threads in (1, 64)]
        bulkstat, warm, apart = map(as_text, shared_lines.tables(FACTS, rows))
        self.assertEqual(bulkstat.split("\n"), ["bulkstat: shared writes / reads a visit",
                                                "threads             1             64",
                                                "H0+L0+U0  0.00 / 0.50  756.00 / 0.50"])
        self.assertTrue(warm.startswith("warm:"))
        self.assertRegex(apart, r"\nwarm +H0\+L0\+U0 +0\.03 +0\.04 +0\.05$")
        self.assertIn("with 64 threads", apart)


if __name__ == "__main__":
    unittest.main()
