"""What of a build's trace is replayed, and which calls wait for which."""

import contextlib
import io
import json
import os
import tempfile
import unittest

import build_calls
import build_plan
from calls import LeftOut
import make_plan
import strace

GONE = b" = -1 ENOENT (No such)\n"
# A compiler that writes a file beside a make that looks for it, before and after.
TWO_PROCESSES = (b'1 getcwd("/b", 4096) = 3\n'
                 b'1 stat("out.o", 0x1)' + GONE +
                 b'1 clone(child_stack=NULL, flags=SIGCHLD) = 2\n'
                 b'2 openat(AT_FDCWD</b>, "tmp.o", O_WRONLY|O_CREAT|O_TRUNC, 0666) = 3</b/tmp.o>\n'
                 b'2 write(3</b/tmp.o>, "", 100) = 100\n'
                 b'2 lseek(3</b/tmp.o>, 10, SEEK_SET) = 10\n'
                 b'2 write(3</b/tmp.o>, "", 20) = 20\n'
                 b'2 rename("tmp.o", "out.o") = 0\n'
                 b'1 stat("out.o", {st_mode=S_IFREG|0644, st_nlink=1, st_size=100, '
                 b'st_mtime=7, st_mtime_nsec=8}) = 0\n'
                 b'1 unlink("out.o") = 0\n'
                 b'2 stat("out.o", 0x1)' + GONE)


def planned(text):
    return build_plan.BuildPlan(build_calls.parse(text))


def shown(made):
    return [[(call.kind, call.path, call.waits) for call in process] for process in made.processes]


class Waiting(unittest.TestCase):
    def test_processes_wait_where_a_name_or_a_file_orders_them(self):
        made = planned(TWO_PROCESSES)
        self.assertEqual(shown(made), [
            [("stat", b"/b/out.o", {}),
             ("stat", b"/b/out.o", {1: 3}),  # the rename
             ("unlink", b"/b/out.o", {})],
            [("create", b"/b/tmp.o", {}),
             ("truncate", b"/b/tmp.o", {}),
             ("rename", b"/b/tmp.o", {0: 1}),  # after the name was found missing
             ("stat", b"/b/out.o", {0: 3})]])
        self.assertFalse(made.left_out)

    def test_uses_of_what_nobody_changes_wait_for_nothing(self):
        made = planned(b'1 stat("/u", {st_mode=S_IFREG|0644, st_size=3, ...}) = 0\n'
                       b'2 stat("/u", {st_mode=S_IFREG|0644, st_size=3, ...}) = 0\n'
                       b'1 mkdir("/d", 0777) = 0\n'
                       b'2 mkdir("/e", 0777) = 0\n')
        self.assertEqual([call.waits for process in made.processes for call in process], [{}] * 4)

    def test_every_wait_is_for_an_earlier_call(self):
        made = planned(TWO_PROCESSES)
        done = [0] * len(made.processes)
        in_order = sorted((call.call.line, process, number)
                          for process, calls in enumerate(made.processes)
                          for number, call in enumerate(calls))
        for _, process, number in in_order:
            for other, calls in made.processes[process][number].waits.items():
                self.assertLessEqual(calls, done[other])
            done[process] = number + 1

    def test_a_chmod_through_one_name_comes_before_a_stat_through_another(self):
        made = planned(b'1 open("/a", O_WRONLY|O_CREAT, 0666) = 3</a>\n'
                       b'1 link("/a", "/b") = 0\n1 chmod("/a", 0755) = 0\n'
                       b'2 stat("/b", {st_mode=S_IFREG|0755, st_nlink=2, st_size=0}) = 0\n'
                       b'1 unlink("/a") = 0\n')
        self.assertEqual(made.processes[1][0].waits, {0: 3})
        self.assertEqual(made.processes[1][0].links, 2)
        self.assertEqual(made.processes[0][3].waits, {1: 1}, "the number of links is in the answer")


class Sizes(unittest.TestCase):
    def sizes(self, calls):
        made = planned(b'1 openat(AT_FDCWD</>, "/f", O_RDWR|O_CREAT, 0666) = 3</f>\n' + calls)
        return [(call.kind, call.size) for call in made.processes[0][1:]]

    def test_writes_are_one_truncate_before_the_next_call_about_the_file(self):
        self.assertEqual(self.sizes(b'1 write(3</f>, "", 5) = 5\n1 write(3</f>, "", 5) = 5\n'
                                    b'1 stat("/f", {st_mode=S_IFREG|0644, st_size=10}) = 0\n'
                                    b'1 pwrite64(3</f>, "", 1, 30) = 1\n'),
                         [("truncate", 10), ("stat", 10), ("truncate", 31)])

    def test_the_offset_is_that_of_all_who_share_the_description(self):
        self.assertEqual(self.sizes(b'1 clone(child_stack=NULL, flags=SIGCHLD) = 2\n'
                                    b'2 dup2(3</f>, 1</dev/null>) = 1</f>\n'
                                    b'2 write(1</f>, "", 4) = 4\n'
                                    b'1 write(3</f>, "", 4) = 4\n'), [("truncate", 8)])

    def test_o_trunc_of_data_is_a_truncate_and_append_begins_at_the_end(self):
        self.assertEqual(self.sizes(b'1 write(3</f>, "", 4) = 4\n'
                                    b'1 open("/f", O_WRONLY|O_APPEND) = 4</f>\n'
                                    b'1 write(4</f>, "", 4) = 4\n'
                                    b'1 open("/f", O_WRONLY|O_CREAT|O_TRUNC, 0666) = 5</f>\n'),
                         [("truncate", 4), ("open", None), ("truncate", 8), ("create", None),
                          ("truncate", 0)])


class LeavingOut(unittest.TestCase):
    def test_what_the_tree_cannot_answer_is_left_out_and_changes_nothing(self):
        made = planned(b'1 mkdir("/d", 0777) = 0\n1 mkdir("/d", 0777) = 0\n'
                       b'1 stat("/d", {st_mode=S_IFDIR|0755, st_size=40}) = 0\n')
        self.assertEqual([call.kind for call in made.processes[0]], ["mkdir", "stat"])
        self.assertEqual(made.left_out, {LeftOut.CONFLICTING_ANSWERS: 1})

    def test_each_reason_counts(self):
        made = planned(b'1 open("/dev/null", O_WRONLY) = 3</dev/null>\n'
                       b'1 chown("/f", 0, 0) = 0\n'
                       b'1 renameat2(AT_FDCWD</>, "a", AT_FDCWD</>, "b", RENAME_NOREPLACE)'
                       b' = -1 EEXIST (File exists)\n')
        self.assertEqual(made.left_out, {LeftOut.SPECIAL_FILE: 1, LeftOut.OWNER: 1,
                                         LeftOut.NO_REPLACE: 1})

    def test_the_tree_is_the_one_before_the_build(self):
        made = planned(b'1 stat("/f", {st_mode=S_IFREG|0600, st_size=3}) = 0\n'
                       b'1 chmod("/f", 0644) = 0\n1 unlink("/f") = 0\n1 rmdir("/d") = 0\n'
                       b'1 stat("/n", 0x1)' + GONE + b'1 mkdir("/n", 0777) = 0\n')
        self.assertEqual(made.initial.sorted_paths(), [b"", b"/d", b"/f"])
        self.assertEqual(made.initial.nodes[b"/f"].permissions, 0o600)


class Text(unittest.TestCase):
    def test_a_plan_says_what_waits_for_what(self):
        with tempfile.TemporaryDirectory() as directory:
            trace = os.path.join(directory, "t.strace")
            with open(trace, "wb") as stream:
                stream.write(TWO_PROCESSES + b'2 utimensat(AT_FDCWD</b>, "..", [{tv_sec=1, '
                             b'tv_nsec=2}, {tv_sec=3, tv_nsec=4}], 0) = 0\n')
            self.assertEqual(make_plan.main(["--build", "--out", directory, trace]), 0)
            with open(os.path.join(directory, "t.plan"), encoding="ascii") as stream:
                lines = stream.read().split("\n")
        self.assertEqual(lines[0], "nfswalk-build-plan 1")
        self.assertEqual(json.loads(lines[2].partition(" ")[2])["writes"], 2)
        self.assertEqual(lines[3:], [
            "node d 755 0 0 0 /", "node d 755 0 0 0 /b",
            "string /b/out.o", "string /b/tmp.o", "string /b/..",
            "process",
            "stat - 2 0 0 - - - - 2 0",
            "stat - 0 0 100644 100 1 - 1:3 9 0",
            "unlink n 0 0 0 - - - - 10 0",
            "process",
            "create - 0 0 644 - - - - 4 1",
            "truncate n 0 0 0 100 - - - 5 1",
            "rename n 0 0 0 - - - 0:1 8 1 0",
            "stat - 2 0 0 - - - 0:3 11 0",
            "utimes - 0 0 0 - - 3.4 - 12 2",
            "end 8", ""])

    def test_a_damaged_trace_is_an_error(self):
        with contextlib.redirect_stderr(io.StringIO()) as said:
            self.assertEqual(make_plan.main(["--build", "/nowhere"]), 1)
        self.assertIn("/nowhere: cannot read", said.getvalue())
        self.assertRaises(strace.TraceError, build_calls.parse, b"hello\n")


if __name__ == "__main__":
    unittest.main()
