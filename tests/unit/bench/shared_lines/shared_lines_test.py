"""shared_lines as a user runs it."""

import json
import subprocess
import unittest


def run(*arguments):
    return subprocess.run(["bench/shared_lines/shared_lines", *arguments], capture_output=True, text=True,
                          check=False)


class SharedLines(unittest.TestCase):
    def test_every_workload_policy_and_number_of_threads_has_a_row(self):
        done = run("--policies", "H0+L0+U0,H3+L1+U1", "--workloads", "bulkstat,warm", "--threads", "1,2",
                   "--files", "16", "--places", "1")
        self.assertEqual(done.returncode, 0, done.stderr)
        first, *rows, last = map(json.loads, done.stdout.splitlines())
        self.assertEqual(first["facts"]["files_per_thread"], 16)
        self.assertEqual(last["totals"], {"interrupted": False})
        self.assertEqual([(row["workload"], row["policy"], row["threads"]) for row in rows],
                         [(workload, policy, threads) for workload in ("bulkstat", "warm")
                          for policy in ("H0+L0+U0", "H3+L1+U1") for threads in (1, 2)])
        self.assertEqual([row["shared_writes"] for row in rows if row["workload"] == "warm"],
                         [0, 1, 0, 0])
        self.assertEqual(rows[1]["visits"], 32)
        for key in ("shared_reads", "writes_after_callbacks", "reads_after_callbacks", "callbacks"):
            self.assertIn(key, rows[0])
        self.assertIn("addr2line", done.stderr)

    def test_what_cannot_be_replayed_is_refused_naming_what_can(self):
        for option, value, reason in (("--workloads", "chmod", "unlink"), ("--workloads", "swim", "bulkstat"),
                                      ("--policies", "H9+L0+U0", "bit_rcu"), ("--threads", "65", "64"),
                                      ("--threads", "0", "1"), ("--files", "7", "--files")):
            done = run(option, value)
            self.assertEqual(done.returncode, 2, value)
            self.assertIn(reason, done.stderr)

    def test_help_names_the_defaults(self):
        done = run("--help")
        self.assertEqual(done.returncode, 0)
        self.assertIn("H8+L3+U1", done.stdout)


if __name__ == "__main__":
    unittest.main()
