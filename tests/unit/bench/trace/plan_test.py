"""Which calls are replayed, and how a plan is written."""

import contextlib
import io
import json
import os
import tempfile
import unittest

import calls
from calls import LeftOut
import make_plan
import plan

FILE = b'5 stat("/%b", {st_mode=S_IFREG|0644, st_size=3, ...}) = 0\n'
GONE = b" = -1 ENOENT (No such)\n"


def planned(text):
    return plan.Plan(calls.parse(text))


class LeavingOut(unittest.TestCase):
    def assert_plan(self, text, replayed, **left_out):
        made = planned(text)
        reasons = {LeftOut[name]: count for name, count in left_out.items()}
        self.assertEqual((len(made.calls()), dict(made.left_out)), (replayed, reasons), text)

    def test_answers_that_one_tree_can_give_are_all_replayed(self):
        self.assert_plan(FILE % b"d/f" + b'5 stat("/d/none", 0x1)' + GONE +
                         b'5 stat("/d/f/x", 0x1) = -1 ENOTDIR (Not a directory)\n'
                         b'5 access("/d/f", R_OK|W_OK) = 0\n'
                         b'5 access("/d/f", X_OK) = -1 EACCES (Permission denied)\n'
                         b'5 readlink("/d/f", 0x1, 4096) = -1 EINVAL (Invalid argument)\n'
                         b'5 open("/d/f", O_RDONLY) = 3</d/f>\n', 7)

    def test_answers_that_no_one_tree_can_give_are_left_out_wholly(self):
        for text in (b'5 stat("/f", 0x1)' + GONE + FILE % b"f",
                     FILE % b"f" + b'5 readlink("/f", 0x1, 4096)' + GONE,
                     FILE % b"f" + b'5 access("/f", X_OK) = 0\n'
                     b'5 access("/f", X_OK) = -1 EACCES (Permission denied)\n',
                     b'5 readlink("/l", "a", 4096) = 1\n5 readlink("/l", "b", 4096) = 1\n'):
            count = text.count(b"\n")
            self.assert_plan(text + FILE % b"g", 1, CONFLICTING_ANSWERS=count)

    def test_what_the_trace_changes_and_what_is_the_process_own_is_left_out(self):
        directory = b'{st_mode=S_IFDIR|0755, st_size=40, ...}) = 0\n'
        self.assert_plan(b'5 stat("/d", ' + directory + b'5 stat("/d/t", 0x1)' + GONE +
                         b'5 mkdir("/d/t", 0777) = 0\n5 stat("/d/t", ' + directory +
                         b'5 stat("/proc/self/maps", 0x1)' + GONE,
                         1, CHANGED_BY_TRACE=2, PER_PROCESS=1)

    def test_listings_stand_apart(self):
        made = planned(b"5 getdents64(3</d>, 0x1 /* 2 entries */, 9) = 48\n" + FILE % b"f")
        self.assertEqual([call.path for call in made.listings], [b"/d"])
        self.assertEqual(len(made.calls()), 1)

    def test_the_calls_of_a_process_stay_together_and_in_order(self):
        made = planned(b'5 stat("/a", 0x1)' + GONE + b'6 stat("/b", 0x1)' + GONE +
                       b'5 stat("/c", 0x1)' + GONE)
        self.assertEqual([call.path for call in made.calls()], [b"/a", b"/c", b"/b"])
        self.assertEqual((made.processes, len(made.lots)), (2, 1))

    def test_a_lot_ends_with_a_process_once_it_is_full(self):
        made = planned(b"".join(b'%d stat("/a", 0x1)' % process + GONE
                                for process in (5, 6, 7) for _ in range(600)))
        self.assertEqual([len(lot) for lot in made.lots], [1200, 600])


class Files(unittest.TestCase):
    def text_of(self, text):
        trace = calls.parse(text)
        return plan.text_of("name", trace, plan.Plan(trace))

    def test_a_plan_holds_the_tree_the_strings_the_calls_and_their_number(self):
        lines = self.text_of(
            b'5 lstat("/f", {st_mode=S_IFREG|S_ISUID|0755, st_size=9, ...}) = 0\n'
            b'5 stat("/a b", {st_mode=S_IFDIR|0755, st_size=9, ...}) = 0\n'
            b'5 readlink("/l", "f", 9) = 1\n'
            b'5 access("/f", R_OK|X_OK) = 0\n'
            b'5 stat("/n", {st_mode=S_IFCHR|0666, st_rdev=makedev(0x1, 0x3), ...}) = 0\n'
            b'5 stat("/none", 0x1)' + GONE +
            b"5 getdents64(3</a b>, 0x1 /* 2 entries */, 9) = 48\n").splitlines()
        whole, without_special = (json.loads(lines.pop(2).partition(" ")[2]) for _ in range(2))
        self.assertEqual(lines, [
            "nfswalk-plan 2",
            "trace name",
            "node d 755 0 0 0 /",
            r"node d 755 0 0 0 /a\x20b",
            "node f 4755 9 0 0 /f",
            "node l 777 1 0 0 /l f",
            "node c 666 0 1 3 /n",
            "string /f", r"string /a\x20b", "string f", "string /l", "string /n", "string /none",
            "lot",
            "stat n 0 0 104755 9 1 0",
            "stat - 0 0 40755 - 2 1",
            "readlink n 0 0 0 - 3 3 2",
            "access - 0 5 0 - 4 0",
            "stat s 0 0 20666 - 5 4",
            "stat - 2 0 0 - 6 5",
            "listings",
            "getdents64 n 0 0 0 - 7 1",
            "end 7"])
        self.assertEqual(whole, {
            "lines": 7, "stat_calls": 4, "noent_answers": 1, "truncated_last_lines": 0,
            "resumed_without_start": 0, "processes": 1, "names": 5,
            "compared": {"stat": 4, "access": 1, "readlink": 1, "getdents64": 1}, "left_out": {},
            "conflicting": []})
        self.assertEqual(without_special, whole | {
            "compared": whole["compared"] | {"stat": 3},
            "left_out": {"device, FIFO or socket, not made through NFS": 1}})

    def test_an_open_is_one_where_it_opened_a_file_else_an_access(self):
        for text, kind in (
                (b'5 open("/f", O_RDONLY) = 3</f>\n', "open"),
                (b'5 open("/f", O_RDONLY|O_PATH) = 3</f>\n', "access"),
                (b'5 open("/f", O_RDONLY)' + GONE, "access"),
                (b'5 open("/f", O_RDONLY|O_DIRECTORY) = 3</f>\n', "access")):
            known = b"" if GONE in text else FILE % b"f"
            if b"O_DIRECTORY" in text:
                known = b'5 stat("/f", {st_mode=S_IFDIR|0755, st_size=9, ...}) = 0\n'
            lines = self.text_of(known + text).splitlines()
            coverage = json.loads(lines[2].removeprefix("coverage "))
            with self.subTest(text):
                self.assertEqual(lines[-3].split()[0], kind)
                self.assertEqual(coverage["compared"].get("open", 0), kind == "open")
                self.assertEqual(coverage["compared"].get("open as access", 0), kind != "open")

    def test_what_was_left_out_is_told_with_its_reason(self):
        text = self.text_of(b'5 stat("/\\377", 0x1)' + GONE + FILE % b"\\377" +
                            b'5 stat("/very/lo"..., 0x1)' + GONE + FILE % b"f")
        coverage = json.loads(text.splitlines()[2].removeprefix("coverage "))
        self.assertEqual(coverage["left_out"], {"path cut short by strace": 1,
                                             "conflicting recorded answers": 2})
        self.assertEqual(coverage["conflicting"], ["/\\xff"])

    def test_every_byte_that_is_no_printable_ascii_is_escaped(self):
        self.assertEqual(plan.escape(b"/a\\b \n\t\x7f\xff~!"),
                         r"/a\x5cb\x20\x0a\x09\x7f\xff~!")

    def test_the_program_writes_a_plan_for_each_trace_or_says_why_not(self):
        with tempfile.TemporaryDirectory() as directory:
            good, bad, empty = (os.path.join(directory, name)
                                for name in ("good.strace", "bad.strace", "empty.strace"))
            for file, text in [(good, FILE % b"f"), (bad, b"hello\n" * 2),
                               (empty, b"5 sync() = 0\n")]:
                with open(file, "wb") as stream:
                    stream.write(text)
            self.assertEqual(make_plan.main(["--out", directory, good]), 0)
            with open(os.path.join(directory, "good.plan"), encoding="ascii") as stream:
                self.assertTrue(stream.read().endswith("end 1\n"))
            for file, expected in [(bad, "bad.strace, line 1: expected "),
                                   (empty, "no call of this trace can be replayed")]:
                said = io.StringIO()
                with contextlib.redirect_stderr(said):
                    self.assertEqual(make_plan.main(["--out", directory, file]), 1)
                self.assertIn(expected, said.getvalue())
            with self.assertRaises(SystemExit) as exit_, contextlib.redirect_stderr(io.StringIO()):
                make_plan.main(["--bogus"])
            self.assertEqual(exit_.exception.code, 2)


if __name__ == "__main__":
    unittest.main()
