"""Lines of strace: what they are taken apart into, how halves become calls, what is refused."""

import lzma
import os
import re
import tempfile
import unittest

import strace

KNOWN = {b"stat", b"access", b"openat", b"execve", b"chdir", b"vfork"}


def joined(text):
    return strace.join_lines(text, KNOWN, {b"vfork"})


def only_call(line):
    return joined(line + b"\n").calls[0]


class Arguments(unittest.TestCase):
    def test_arguments_are_split_at_top_level_commas_only(self):
        for text, arguments in [
                (rb'AT_FDCWD</a,b>, "x,y\",z", {st_mode=S_IFREG|0644, st_size=1}, 0) = 0',
                 [b"AT_FDCWD</a,b>", rb'"x,y\",z"', b"{st_mode=S_IFREG|0644, st_size=1}", b"0"]),
                (rb'"/bin/sh", ["sh", "-c", "a, b"], 0x1 /* 4 vars */) = 0',
                 [b'"/bin/sh"', b'["sh", "-c", "a, b"]', b"0x1 /* 4 vars */"]),
                (rb'3</a)b>, ")", {f(x)}, 1<<2) = 0', [b"3</a)b>", b'")"', b"{f(x)}", b"1<<2"]),
                (b"8<TCP:[127.0.0.1:22->127.0.0.1:4000]>, 1</dev/null<char 1:3>>) = 0",
                 [b"8<TCP:[127.0.0.1:22->127.0.0.1:4000]>", b"1</dev/null<char 1:3>>"]),
                (b") = 0", []),
        ]:
            self.assertEqual(strace.split_call(text), (arguments, b"0"), text)

    def test_a_call_without_end_or_result_is_refused(self):
        for text, expected in [(b'"never ends)', 'the closing ")"'), (b"3</never ends", "closing"),
                               (b"1, 2", "closing"), (b"1) ", "= RESULT"), (b"1) = ", "= RESULT")]:
            with self.assertRaisesRegex(strace.TraceError, re.escape(expected), msg=text):
                strace.split_call(text)

    def test_every_escape_of_a_quoted_string_is_undone(self):
        for text, expected in [
                (rb'"a\n\t\r\v\f\"\\b"', b'a\n\t\r\v\f"\\b'),
                (rb'"\303\274"', b"\303\274"), (rb'"\xc3\xbc"', b"\303\274"),
                # An octal escape ends before the first character that is no octal digit.
                (rb'"\18"', b"\0018"), (rb'"\0011"', b"\0011"), (rb'"/a/name..."', b"/a/name..."),
        ]:
            self.assertEqual(strace.parse_quoted(text), (expected, False), text)

    def test_text_that_was_cut_short_and_what_is_no_string_are_told_apart(self):
        self.assertEqual(strace.parse_quoted(b'"/a/very/lon"...'), (b"/a/very/lon", True))
        for text in (b"0x7ffe1234", b"NULL", b'"open'):
            self.assertIsNone(strace.parse_quoted(text), text)

    def test_a_descriptor_carries_the_path_printed_with_it(self):
        for text, expected in [
                (b"3</usr/lib/libc.so.6>", (False, True, b"/usr/lib/libc.so.6")),
                (b"AT_FDCWD</src/git>", (True, True, b"/src/git")),
                (rb"3</tmp/a\76b\nc>", (False, True, b"/tmp/a>b\nc")),
                (b"1</dev/null<char 1:3>>", (False, True, b"/dev/null")),
                (b"7", (False, False, None)),
                (b"AT_FDCWD", (True, False, None)),
                (b"3</never ends", (False, False, None)),
                # A pipe, a socket, a deleted file.
                (b"4<pipe:[191984]>", (False, True, None)),
                (b"5<socket:[12]>", (False, True, None)),
                (b"6</tmp/x>(deleted)", (False, True, None)),
                (b"6</tmp/x (deleted)>", (False, True, None)),
                (b"7<anon_inode:[eventpoll]>", (False, True, None)),
                (b"8<TCP:[127.0.0.1:22->127.0.0.1:4000]>", (False, True, None)),
                (rb"9</no\0path>", (False, True, None)),
        ]:
            self.assertEqual(strace.parse_descriptor(text), expected, text)
        self.assertIsNone(strace.parse_descriptor(b"0x7f00"))


class Lines(unittest.TestCase):
    def test_a_call_is_taken_apart_whatever_columns_stand_before_it(self):
        for prefix, pid in [(b"", 0), (b"21892 ", 21892), (b"[pid  77] ", 77),
                            (b"77    12:34:56 ", 77), (b"77 12:34:56.123456 ", 77),
                            (b"77 1700000000.123456 ", 77), (b"77      0.000012 ", 77),
                            (b"0.000012 ", 0)]:
            call = only_call(prefix + b'access("/etc/a", R_OK)        = -1 ENOENT (No such)')
            self.assertEqual(call, (b"access", pid, 1, [b'"/etc/a"', b"R_OK"],
                                    b"-1 ENOENT (No such)"), prefix)

    def test_signals_exits_and_remarks_are_passed_over(self):
        for line in (b"5 --- SIGCHLD {si_signo=SIGCHLD, si_code=CLD_EXITED, si_pid=6} ---",
                     b"5 +++ exited with 0 +++", b"+++ killed by SIGKILL (core dumped) +++",
                     b"7 +++ superseded by execve in pid 8 +++", b"strace: Process 6 attached",
                     b"[pid 5] +++ exited with 1 +++"):
            self.assertEqual((joined(line).calls, joined(line).recognised), ([], 1), line)

    def test_anything_else_is_refused_with_what_was_expected(self):
        for line in (b"hello world", b"#include <stdio.h>", b'{"a": 1}', b"12 34 56",
                     b'5 stat("/a"', b'5 stat("/a", 0x1)', b'5 stat("/a", 0x1) = ',
                     b"5 <... stat resum", b"5 1stat() = 0"):
            with self.assertRaisesRegex(strace.TraceError, "^line 1: expected ", msg=line):
                joined(line + b"\n5 close(3) = 0\n")
        # Unprintable bytes are shown as question marks.
        with self.assertRaisesRegex(strace.TraceError, r"\?ELF\?\? binary"):
            joined(b"\x7fELF\x02\x01 binary")

    def test_unknown_calls_are_passed_over_but_their_lines_are_checked(self):
        unknown = b'5 fcntl(3</a>, F_GETFD) = 0\n5 statfs("/", {f_type=1}) = 0\n'
        self.assertEqual(joined(unknown).calls, [])
        with self.assertRaises(strace.TraceError):
            joined(b"5 fcntl(3</a>, F_GETFD\n5 close(3) = 0\n")

    def test_answers_of_no_such_file_are_counted(self):
        self.assertEqual(joined(b'5 stat("/a", 0x1) = -1 ENOENT (No such file or directory)\n'
                                b'5 stat("/b", 0x1) = -1 ENOTDIR (Not a directory)\n'
                                b'5 access("/a", R_OK <unfinished ...>\n'
                                b'5 <... access resumed>) = -1 ENOENT (No such)\n').noent_answers, 2)


class Halves(unittest.TestCase):
    def test_an_interrupted_call_stands_where_its_answer_stands(self):
        both = joined(b'5 stat("/a",  <unfinished ...>\n'
                      b'6 access("/b", R_OK) = 0\n'
                      b"5 <... stat resumed>{st_mode=S_IFREG|0644, st_size=1, ...}) = 0\n")
        self.assertEqual([call.name for call in both.calls], [b"access", b"stat"])
        self.assertEqual(both.calls[1], (
            b"stat", 5, 3, [b'"/a"', b"{st_mode=S_IFREG|0644, st_size=1, ...}"], b"0"))
        self.assertEqual(both.never_resumed, 0)

    def test_a_call_that_its_process_did_not_survive_has_no_answer(self):
        self.assertEqual(only_call(b'5 stat("/a",  <unfinished ...>) = ?').result, b"?")

    def test_a_call_that_makes_a_process_stands_where_it_begins(self):
        both = joined(b'5 vfork( <unfinished ...>\n6 chdir("/b") = 0\n5 <... vfork resumed>) = 6\n')
        self.assertEqual([(call.name, call.result) for call in both.calls],
                         [(b"vfork", b"6"), (b"chdir", b"0")])

    def test_the_execve_of_a_thread_is_resumed_under_the_pid_of_its_process(self):
        both = joined(b'7 openat(AT_FDCWD</>, "a", O_RDONLY <unfinished ...>\n'
                      b'8 execve("/bin/true", ["true"], 0x7f /* 4 vars */ <pid changed to 7 ...>\n'
                      b"7 +++ superseded by execve in pid 8 +++\n"
                      b"7 <... execve resumed>) = 0\n")
        self.assertEqual([(call.name, call.pid) for call in both.calls], [(b"execve", 7)])
        self.assertEqual(both.never_resumed, 1)  # the open of the thread that is no more

    def test_halves_without_the_other_are_counted(self):
        both = joined(b"5 <... stat resumed>{st_mode=S_IFREG|0644, st_size=1, ...}) = 0\n"
                      b'6 stat("/a",  <unfinished ...>\n7 vfork( <unfinished ...>\n')
        self.assertEqual((both.calls, both.resumed_without_start, both.never_resumed), ([], 1, 1))

    def test_a_process_that_resumes_another_call_than_it_began_is_an_error(self):
        with self.assertRaisesRegex(strace.TraceError,
                                    "^line 2: expected process 5 to resume stat, not access$"):
            joined(b'5 stat("/a",  <unfinished ...>\n5 <... access resumed>R_OK) = 0\n'
                   b"5 close(3) = 0\n")


class WholeFiles(unittest.TestCase):
    def test_a_last_line_that_stops_in_the_middle_is_tolerated_and_counted(self):
        for last in (b"5", b"5 sta", b'5 stat("/b', b'5 stat("/b", 0x1)', b'5 stat("/b", 0x1) ='):
            both = joined(b'5 access("/a", R_OK) = 0\n' + last)
            self.assertEqual((len(both.calls), both.truncated_last_lines), (1, 1), last)

    def test_a_broken_line_in_the_middle_is_an_error_with_its_number(self):
        with self.assertRaisesRegex(strace.TraceError, r'^line 3: expected "PID CALL\(ARGUMENTS\)'):
            joined(b'5 access("/a", R_OK) = 0\n\nbroken\n5 access("/b", R_OK) = 0\n')

    def test_a_file_without_one_line_of_strace_is_an_error(self):
        for text in (b"", b"\n\n", b"one line", b"one line\n", b"#!/bin/sh\nexit 0\n"):
            with self.assertRaisesRegex(strace.TraceError, "^line 1: expected ", msg=text):
                joined(text)


class TextOfFiles(unittest.TestCase):
    # Larger than one chunk of the unpacker.
    TEXT = b"".join(b"%d close(3) = 0\n" % number for number in range(100000))

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name

    def file(self, contents):
        name = os.path.join(self.directory, "trace")
        with open(name, "wb") as stream:
            stream.write(contents)
        return name

    def test_plain_text_is_read_as_it_is_and_xz_is_unpacked_whatever_the_file_is_called(self):
        self.assertEqual(strace.read_text(self.file(self.TEXT)), self.TEXT)
        self.assertEqual(strace.read_text(self.file(lzma.compress(self.TEXT, preset=0))), self.TEXT)

    def test_xz_streams_one_behind_the_other_are_one_text(self):
        both = lzma.compress(b"one\n") + b"\0" * 8 + lzma.compress(b"two\n")
        self.assertEqual(strace.read_text(self.file(both)), b"one\ntwo\n")

    def test_a_truncated_or_damaged_xz_is_an_error_that_says_so(self):
        packed = lzma.compress(self.TEXT, preset=0)
        damaged = bytearray(packed)
        damaged[len(packed) // 2] ^= 0x55
        for contents, expected in [(packed[:-1], "ends in the middle"),
                                   (packed[:len(packed) // 2], "ends in the middle"),
                                   (packed[:6], "ends in the middle"),
                                   (bytes(damaged), "damaged .xz data"),
                                   (packed + b"what stands behind it", "damaged .xz data")]:
            with self.assertRaisesRegex(strace.TraceError, "trace: " + expected):
                strace.read_text(self.file(contents))

    def test_what_cannot_be_read_is_named(self):
        with self.assertRaisesRegex(
                strace.TraceError, "^/nowhere/trace.xz: cannot read: No such file or directory$"):
            strace.read_text("/nowhere/trace.xz")
        with self.assertRaisesRegex(strace.TraceError, "cannot read: Is a directory"):
            strace.read_text(self.directory)


if __name__ == "__main__":
    unittest.main()
