"""The meaning of whole calls: kind, absolute path, recorded answer, and why some are left out."""

import errno
import os
import stat
import unittest

import calls
from calls import Kind, LeftOut
import strace

FILE = stat.S_IFREG | 0o644
LINK = stat.S_IFLNK | 0o777


def trace_of(line):
    """The trace of one line, recorded in a process that is known to work in /w."""
    return calls.parse(b'5 getcwd("/w", 4096) = 3\n5 ' + line + b"\n")


def paths_of(text):
    return [call.path for call in calls.parse(text).calls]


class Calls(unittest.TestCase):
    def only_call(self, line):
        found = trace_of(line).calls
        self.assertEqual(len(found), 1, line)
        return found[0]

    def assert_left_out(self, line, reason):
        trace = trace_of(line)
        self.assertEqual((trace.calls, dict(trace.left_out)), ([], {reason: 1}), line)

    def test_every_form_of_stat_is_read_with_its_attributes(self):
        answer = b"{st_mode=S_IFREG|0644, st_size=3, ...}"
        for line in (b'stat("a", %b) = 0', b'stat64("a", %b) = 0',
                     b'newfstatat(AT_FDCWD, "a", %b, 0) = 0',
                     b'newfstatat(AT_FDCWD</w>, "a", %b, 0) = 0',
                     b'newfstatat(7</w>, "a", %b, 0) = 0', b'fstatat64(7</w>, "a", %b, 0) = 0',
                     b'newfstatat(7</w/a>, "", %b, AT_EMPTY_PATH) = 0',
                     b'statx(AT_FDCWD, "a", AT_STATX_SYNC_AS_STAT, STATX_ALL, %b) = 0'):
            call = self.only_call(line % answer.replace(b"st_", b"stx_" if b"statx" in line
                                                        else b"st_"))
            self.assertEqual(
                (call.kind, call.path, call.no_follow, call.error, call.attributes),
                (Kind.STAT, b"/w/a", False, 0, calls.Attributes(FILE, 3)), line)

    def test_stats_that_do_not_follow_a_last_link_are_told_apart(self):
        for line in (b'lstat("/l", {st_mode=S_IFLNK|0777, st_size=1, ...}) = 0',
                     b'newfstatat(AT_FDCWD, "/l", {st_mode=S_IFLNK|0777, st_size=1, ...}, '
                     b"AT_SYMLINK_NOFOLLOW) = 0",
                     b'statx(AT_FDCWD, "/l", AT_STATX_SYNC_AS_STAT|AT_SYMLINK_NOFOLLOW, STATX_ALL, '
                     b"{stx_mode=S_IFLNK|0777, stx_size=1, ...}) = 0"):
            call = self.only_call(line)
            self.assertEqual((call.no_follow, call.attributes), (True, calls.Attributes(LINK, 1)),
                             line)

    def test_attributes_are_read_from_both_structures(self):
        for text, expected in [
                (b"{st_mode=S_IFREG|S_ISUID|0755, st_size=125640, ...}",
                 calls.Attributes(stat.S_IFREG | stat.S_ISUID | 0o755, 125640)),
                (b"{stx_mask=STATX_ALL, stx_attributes=0, stx_mode=S_IFLNK|0777, stx_size=7, ...}",
                 calls.Attributes(LINK, 7)),
                (b"{st_mode=S_IFCHR|0666, st_rdev=makedev(0x1, 0x3), ...}",
                 calls.Attributes(stat.S_IFCHR | 0o666, None, (1, 3))),
                (b"{st_mode=S_IFREG|0644, st_nlink=2, st_size=4, st_mtime=5 /* 1970 */, "
                 b"st_mtime_nsec=6, st_ctime=7}", calls.Attributes(FILE, 4, (0, 0), 2, (5, 6))),
                (b"0x7ffc2724e9d0", None), (b"{st_size=3}", None), (b"{st_mode=0644}", None),
                (b"{st_mode=S_IFREG|S_IFDIR|S_IFIFO|0644}", None),
                (b"{st_mode=S_IFREG|what}", None),
        ]:
            self.assertEqual(calls.parse_attributes(text), expected, text)

    def test_a_result_is_a_number_an_error_a_descriptor_or_unknown(self):
        for text, expected in [
                (b"27", (True, 27, 0, None)),
                (b"-1 ENOENT (No such file or directory)", (True, -1, errno.ENOENT, None)),
                (b"-1 EWHATEVER (Not known here)", (True, -1, -1, None)),
                (b"3</usr/lib/c>", (True, 3, 0, (False, True, b"/usr/lib/c"))),
                (b"0 (flags O_RDONLY|O_CLOEXEC)", (True, 0, 0, None)),
                (b"?", (False, 0, 0, None)),
                (b"? ERESTARTSYS (To be restarted if SA_RESTART is set)", (False, 0, 0, None)),
        ]:
            self.assertEqual(calls.parse_result(text), expected, text)

    def test_errors_that_tell_of_the_path_are_kept(self):
        for line, error in [
                (b'stat("a", 0x1) = -1 ENOENT (No such file or directory)', errno.ENOENT),
                (b'stat("a/b", 0x1) = -1 ENOTDIR (Not a directory)', errno.ENOTDIR),
                (b'access("a", X_OK) = -1 EACCES (Permission denied)', errno.EACCES),
                (b'stat("a", 0x1) = -1 ELOOP (Too many)', errno.ELOOP),
                (b'stat("a", 0x1) = -1 ENAMETOOLONG (Too long)', errno.ENAMETOOLONG),
                (b'readlink("a", 0x1, 4096) = -1 EINVAL (Invalid argument)', errno.EINVAL),
                (b'open("a", O_RDONLY) = -1 ENOENT (No such file)', errno.ENOENT)]:
            self.assertEqual(self.only_call(line).error, error, line)

    def test_every_form_of_access_is_read_with_its_mode(self):
        for line, mode in [(b'access("a", F_OK) = 0', os.F_OK),
                           (b'access("a", R_OK|W_OK|X_OK) = 0', os.R_OK | os.W_OK | os.X_OK),
                           (b'faccessat(AT_FDCWD, "a", X_OK) = 0', os.X_OK)]:
            self.assertEqual(self.only_call(line).access_mode, mode, line)
        call = self.only_call(b'faccessat2(3</d>, "a", R_OK, AT_EACCESS|AT_SYMLINK_NOFOLLOW) = 0')
        self.assertEqual((call.kind, call.path, call.no_follow), (Kind.ACCESS, b"/d/a", True))

    def test_every_form_of_readlink_is_read_with_the_text(self):
        for line in (b'readlink("l", "../x", 4096) = 4', b'readlinkat(3</w>, "l", "../x", 9) = 4',
                     b'readlinkat(AT_FDCWD, "l", "../x", 4096) = 4'):
            call = self.only_call(line)
            self.assertEqual((call.kind, call.path, call.text), (Kind.READLINK, b"/w/l", b"../x"))

    def test_an_open_for_reading_tells_where_it_arrived(self):
        for line in (b'open("/lib/c", O_RDONLY|O_CLOEXEC) = 3</usr/lib/c>',
                     b'openat(AT_FDCWD, "/lib/c", O_RDONLY|O_CLOEXEC) = 3</usr/lib/c>'):
            call = self.only_call(line)
            self.assertEqual((call.kind, call.path, call.text, call.access_mode,
                              call.must_be_directory),
                             (Kind.OPEN, b"/lib/c", b"/usr/lib/c", os.R_OK, False), line)
        self.assertTrue(self.only_call(
            b'openat(AT_FDCWD, ".", O_RDONLY|O_DIRECTORY) = 3</w>').must_be_directory)
        self.assertEqual(self.only_call(
            b'openat(AT_FDCWD, "a", O_RDONLY|O_PATH) = 3</w/a>').access_mode, os.F_OK)
        # A flag is a whole word.
        self.assertEqual(self.only_call(
            b'openat(AT_FDCWD, "a", O_RDONLY|O_PATHOLOGY) = 3</w/a>').access_mode, os.R_OK)

    def test_every_call_that_changes_the_tree_names_what_it_changes(self):
        for line, changed in [
                (b'open("a", O_WRONLY) = 4</w/a>', [b"/w/a"]),
                (b'creat("a", 0666) = 4</w/a>', [b"/w/a"]),
                (b'openat(3</d>, "a", O_RDWR) = 4</d/a>', [b"/d/a"]),
                (b'openat(3</d>, "a", O_RDONLY|O_CREAT, 0666) = 4</d/a>', [b"/d/a"]),
                (b'openat(3</d>, "a", O_RDONLY|O_TRUNC) = 4</d/a>', [b"/d/a"]),
                (b'mkdir("a", 0777) = 0', [b"/w/a"]),
                (b'mkdirat(3</d>, "a", 0777) = 0', [b"/d/a"]),
                (b'rmdir("a") = 0', [b"/w/a"]),
                (b'unlink("a") = 0', [b"/w/a"]),
                (b'unlinkat(3</d>, "a", AT_REMOVEDIR) = 0', [b"/d/a"]),
                (b'rename("a", "b") = 0', [b"/w/a", b"/w/b"]),
                (b'renameat(3</d>, "a", 4</e>, "b") = 0', [b"/d/a", b"/e/b"]),
                (b'renameat2(3</d>, "a", 4</e>, "b", RENAME_NOREPLACE) = 0', [b"/d/a", b"/e/b"]),
                (b'symlink("text", "a") = 0', [b"/w/a"]),
                (b'symlinkat("text", 3</d>, "a") = 0', [b"/d/a"]),
                (b'link("a", "b") = 0', [b"/w/b"]),
                (b'linkat(3</d>, "a", 4</e>, "b", 0) = 0', [b"/e/b"]),
                (b'chmod("a", 0644) = 0', [b"/w/a"]),
                (b'truncate("a", 0) = 0', [b"/w/a"]),
                # A change that failed changes nothing.
                (b'mkdir("/a", 0777) = -1 EEXIST (File exists)', []),
                (b'rename("/a", "/b") = -1 ENOENT (No such file or directory)', []),
        ]:
            found = trace_of(line).calls
            self.assertEqual([(call.kind, call.path) for call in found],
                             [(Kind.CHANGE, path) for path in changed], line)

    def test_listings_and_programs_that_ran_are_kept_and_what_tells_nothing_is_not(self):
        for line, kind, path in [
                (b"getdents64(3</d>, 0x1 /* 2 entries */, 9) = 48", Kind.READDIR, b"/d"),
                (b'execve("/b/sh", ["sh"], 0x1 /* 4 vars */) = 0', Kind.EXECUTE, b"/b/sh")]:
            call = self.only_call(line)
            self.assertEqual((call.kind, call.path), (kind, path))
        self.assertEqual(call.access_mode, os.X_OK)
        for line in (b"getdents64(3</d>, 0x1, 9) = 0",
                     b'execve("/a/sh", ["sh"], 0x1 /* 4 vars */) = -1 ENOENT (No such)'):
            self.assertEqual((trace_of(line).calls, dict(trace_of(line).left_out)), ([], {}), line)

    def test_what_no_replay_can_ask_or_compare_is_left_out_and_counted(self):
        for line, reason in [
                (b'stat("/very/lo"..., 0x1) = -1 ENOENT (No such)', LeftOut.TEXT_CUT_SHORT),
                (b'readlink("l", "abc"..., 4096) = 40', LeftOut.TEXT_CUT_SHORT),
                (b'readlink("l", "abc", 3) = 4', LeftOut.TEXT_CUT_SHORT),
                (b'newfstatat(1<pipe:[7]>, "", {st_mode=S_IFIFO|0600, ...}, AT_EMPTY_PATH) = 0',
                 LeftOut.NO_PATH_BEHIND_DESCRIPTOR),
                (b'newfstatat(6</t>(deleted), "", {st_mode=S_IFREG|0644, ...}, AT_EMPTY_PATH) = 0',
                 LeftOut.NO_PATH_BEHIND_DESCRIPTOR),
                (b'newfstatat(6, "a", {st_mode=S_IFREG|0644, ...}, 0) = 0',
                 LeftOut.DIRECTORY_UNKNOWN),
                (b'stat("/a",  <unfinished ...>) = ?', LeftOut.ANSWER_NOT_RECORDED),
                (b'stat("/a",  <unfinished ...>', LeftOut.ANSWER_NOT_RECORDED),
                (b'stat("/a", 0x7ffc) = 0', LeftOut.ANSWER_NOT_RECORDED),
                (b'readlink("/a", 0x7ffc, 9) = 3', LeftOut.ANSWER_NOT_RECORDED),
                (b'stat("", 0x1) = -1 ENOENT (No such)', LeftOut.NOT_ABOUT_PATH),
                (b'stat(NULL, 0x1) = -1 EFAULT (Bad address)', LeftOut.NOT_ABOUT_PATH),
                (b'stat("a", 0x1) = -1 EWHATEVER (?)', LeftOut.NOT_ABOUT_PATH),
                (b'access("a", R_OK) = -1 EROFS (Read-only)', LeftOut.NOT_ABOUT_PATH),
                (rb'stat("a\0b", 0x1) = -1 ENOENT (No such)', LeftOut.NOT_ABOUT_PATH),
                (b'open("l", O_RDONLY|O_NOFOLLOW) = -1 ELOOP (Too many)',
                 LeftOut.OPEN_DECIDED_BY_TYPE),
                (b'open("f", O_RDONLY|O_DIRECTORY) = -1 ENOTDIR (Not a directory)',
                 LeftOut.OPEN_DECIDED_BY_TYPE),
        ]:
            self.assert_left_out(line, reason)

    def test_paths_that_the_kernel_printed_are_kept_as_resolved(self):
        trace = trace_of(b'openat(AT_FDCWD</w>, "/lib/c", O_RDONLY) = 3</usr/lib/c>')
        self.assertEqual(trace.resolved_paths, {b"/w", b"/usr/lib/c"})

    def test_an_error_names_the_file(self):
        with self.assertRaisesRegex(strace.TraceError, "^/nowhere/trace: "):
            calls.load("/nowhere/trace")
        with self.assertRaisesRegex(strace.TraceError, "^/proc/self/status, line 1: expected "):
            calls.load("/proc/self/status")


class WorkingDirectories(unittest.TestCase):
    GONE = b"-1 ENOENT (No such)\n"

    def test_paths_are_joined_as_text_and_dot_dot_is_kept(self):
        for directory, path, expected in [
                (b"/src", b"a/../b", b"/src/a/../b"), (b"/", b"a", b"/a"),
                (b"/src", b"/etc", b"/etc"), (b"/src", b"a/", b"/src/a/")]:
            self.assertEqual(calls.join_path(directory, path), expected)

    def test_chdir_and_fchdir_are_followed_where_they_succeed(self):
        ask = b'5 stat("a", 0x1) = ' + self.GONE
        self.assertEqual(
            paths_of(b'5 chdir("/w") = 0\n' + ask + b'5 chdir("sub") = 0\n' + ask +
                     b'5 chdir("gone") = ' + self.GONE + ask + b"5 fchdir(3</w>) = 0\n" + ask +
                     b'5 stat("../a/../b", 0x1) = ' + self.GONE),
            [b"/w/a", b"/w/sub/a", b"/w/sub/a", b"/w/a", b"/w/../a/../b"])

    def test_children_inherit_whichever_call_made_them_and_go_their_own_way(self):
        for spawn in (b"fork() = 6\n", b"vfork() = 6\n",
                      b"clone(child_stack=NULL, flags=SIGCHLD) = 6\n",
                      b"clone3({flags=CLONE_VM|CLONE_VFORK, exit_signal=SIGCHLD}, 88) = 6\n"):
            trace = calls.parse(b'5 chdir("/w") = 0\n5 ' + spawn + b'6 stat("a", 0x1) = ' +
                                self.GONE + b'6 chdir("/other") = 0\n5 stat("b", 0x1) = ' + self.GONE)
            self.assertEqual([(call.path, call.pid) for call in trace.calls],
                             [(b"/w/a", 6), (b"/w/b", 5)], spawn)

    def test_a_child_is_known_before_its_parents_call_is_answered(self):
        self.assertEqual(
            paths_of(b'5 chdir("/w") = 0\n5 vfork( <unfinished ...>\n6 stat("a", 0x1) = ' +
                     self.GONE + b"5 <... vfork resumed>) = 6\n"), [b"/w/a"])

    def test_a_thread_that_changes_the_directory_changes_it_for_all(self):
        self.assertEqual(
            paths_of(b'5 chdir("/w") = 0\n'
                     b"5 clone3({flags=CLONE_VM|CLONE_FS|CLONE_THREAD}, 88) = 6\n"
                     b'6 chdir("/x") = 0\n5 stat("a", 0x1) = ' + self.GONE), [b"/x/a"])

    def test_a_reused_pid_inherits_from_its_new_parent(self):
        table = calls.ProcessTable()
        self.assertIsNone(table.directory(5))
        table.set_directory(5, b"/a")
        table.spawn(5, 6, False)
        table.set_directory(6, b"/old")
        table.spawn(5, 6, False)
        self.assertEqual(table.directory(6), b"/a")

    def test_the_directory_at_the_start_is_learnt_from_what_the_process_prints_later(self):
        ask = b'5 stat("a", 0x1) = ' + self.GONE
        opened = b'5 openat(AT_FDCWD</w>, "b", O_RDONLY) = 3</w/b>\n'
        self.assertEqual(paths_of(ask + opened), [b"/w/a", b"/w/b"])
        # After it moved it tells nothing of the start.
        moved = calls.parse(ask + b'5 chdir("/w") = 0\n' + opened)
        self.assertEqual([call.kind for call in moved.calls], [Kind.OPEN])
        self.assertEqual(dict(moved.left_out), {LeftOut.DIRECTORY_UNKNOWN: 1})


if __name__ == "__main__":
    unittest.main()
