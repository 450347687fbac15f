"""Damaged traces: whatever a file holds, parsing it ends, and what comes out can be built and
replayed. Seeded, so that a failure repeats; seed and round are in the message."""

import random
import stat
import unittest

import calls
import plan
import strace
import tree

SEED = 20230612
ROUNDS = 10000
LINES_OF_A_ROUND = 60
DAMAGES_MAX = 8
# Pieces that the grammar gives a meaning to.
PIECES = [b'"', b"\\", b"\\0", b"\\377", b"<", b">", b"(", b")", b"{", b"}", b"=", b" = ", b", ",
          b"...", b"..", b"/", b"AT_FDCWD", b"<unfinished ...>", b"<... stat resumed>", b"S_IFLNK",
          b"S_IFREG", b"st_size=", b"-1 ", b"ENOENT", b"\n", b" ", b"7 ", b"(deleted)",
          b'readlink("/usr/lib", "../x", 9) = 4\n']


class Damager:
    """Makes traces out of a good one."""

    def __init__(self, corpus):
        self._lines = corpus.splitlines(keepends=True)
        self._random = random.Random(SEED)

    def next(self):
        text = self._some_lines()
        for _ in range(self._random.randint(1, DAMAGES_MAX)):
            text = self._damaged(text)
        return text

    def _some_lines(self):
        begin = self._random.randrange(len(self._lines))
        return b"".join(self._lines[begin:begin + self._random.randint(1, LINES_OF_A_ROUND)])

    def _damaged(self, text):
        at = self._random.randint(0, len(text))
        return self._random.choice([
            lambda: text[:at] + bytes([self._random.randrange(256)]) + text[at + 1:],
            lambda: text[:at] + text[at + self._random.randint(1, 20):],
            lambda: text[:at] + self._random.choice(PIECES) + text[at:],
            lambda: text[:at],
            lambda: text[:at] + self._some_lines() + text[at:]])()


class DamagedTraces(unittest.TestCase):
    def assert_sound(self, trace):
        for call in trace.calls:
            self.assertTrue(call.path.startswith(b"/"), call.path)
            self.assertNotIn(b"\0", call.path)
        made = plan.Plan(trace)
        nodes = made.learned.tree.nodes
        for path, node in nodes.items():
            self.assertEqual(nodes[tree.parent_of(path)].type, stat.S_IFDIR, path)
            self.assertIsNotNone(node.permissions, path)
            self.assertIsNotNone(node.size, path)
            self.assertEqual(node.type == stat.S_IFLNK, bool(node.link_text), path)
        self.assertTrue(plan.text_of("damaged", trace, made).isascii())

    def test_they_are_refused_by_line_or_understood_soundly(self):
        damager = Damager(strace.read_text("bench/traces/git-null.strace.xz"))
        refused = understood = 0
        for round_ in range(ROUNDS):
            text = damager.next()
            with self.subTest(seed=SEED, round=round_):
                try:
                    trace = calls.parse(text)
                except strace.TraceError as error:
                    refused += 1
                    self.assertTrue(str(error).startswith("line "), error)
                else:
                    understood += 1
                    self.assert_sound(trace)
        # The damage is neither always fatal nor always harmless.
        self.assertGreater(refused, ROUNDS // 20)
        self.assertGreater(understood, ROUNDS // 20)


if __name__ == "__main__":
    unittest.main()
