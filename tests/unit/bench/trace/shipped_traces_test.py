"""The two recordings that the replay ships with: what is in them must not get lost. The figures of
lines, stat calls and ENOENT answers were counted with grep in the text."""

import unittest

import calls
from calls import Kind, LeftOut
import plan


class ShippedTraces(unittest.TestCase):
    def assert_whole(self, name, lines, stats, noents, left_out, processes, names, lots, links):
        trace = calls.load(f"bench/traces/{name}.strace.xz")
        self.assertEqual((trace.lines, trace.stat_calls, trace.noent_answers),
                         (lines, stats, noents))
        self.assertEqual((trace.truncated_last_lines, trace.resumed_without_start), (0, 0))
        for call in trace.calls:
            self.assertTrue(call.path.startswith(b"/"), call.line)
            self.assertNotEqual(call.pid, 0, call.line)
        made = plan.Plan(trace)
        # Every read-only call is replayed, or counted as left out; nearly all are replayed.
        self.assertEqual({reason.name: count for reason, count in made.left_out.items()}, left_out)
        asked = [call for call in trace.calls if call.kind not in (Kind.CHANGE, Kind.EXECUTE)]
        in_parsing = sum(trace.left_out.values())
        self.assertEqual(len(made.calls()) + len(made.listings) + sum(made.left_out.values()),
                         len(asked) + in_parsing)
        self.assertGreaterEqual(sum(call.kind is Kind.STAT for call in asked) + in_parsing, stats)
        self.assertLess(sum(made.left_out.values()) * 200, len(asked))
        self.assertNotIn(LeftOut.CONFLICTING_ANSWERS, made.left_out)
        nodes = made.learned.tree.nodes
        self.assertEqual((made.processes, len(nodes), len(made.lots)), (processes, names, lots))
        self.assertEqual(sum(node.link_text is not None for node in nodes.values()), links)

    def test_the_null_make_of_git(self):
        self.assert_whole("git-null", 20109, 15396, 1072,
                          {"NO_PATH_BEHIND_DESCRIPTOR": 17, "PER_PROCESS": 2,
                           "CHANGED_BY_TRACE": 7}, 65, 3513, 3, 5)

    def test_the_null_make_of_linux(self):
        self.assert_whole("linux-null", 299575, 258705, 178449,
                          {"NO_PATH_BEHIND_DESCRIPTOR": 111, "NOT_ABOUT_PATH": 19,
                           "OPEN_DECIDED_BY_TYPE": 1, "PER_PROCESS": 15, "CHANGED_BY_TRACE": 742},
                          1337, 7593, 59, 29)


if __name__ == "__main__":
    unittest.main()
