"""Path resolution in a tree, and the tree that is learnt from a trace."""

import errno
import stat
import unittest

import calls
import learned_tree
import tree


class Walks(unittest.TestCase):
    def setUp(self):
        self.tree = tree.Tree()
        for path, type_ in [(b"/usr", stat.S_IFDIR), (b"/usr/lib", stat.S_IFDIR),
                            (b"/usr/lib/c", stat.S_IFREG)]:
            self.tree.node(path).type = type_
        for path, text in [(b"/lib", b"usr/lib"), (b"/usr/up", b"../lib/c"),
                           (b"/usr/abs", b"/usr/lib/c"), (b"/loop", b"loop"),
                           (b"/dangling", b"nowhere"), (b"/slash", b"usr/lib/")]:
            self.link(path, text)

    def link(self, path, text):
        self.tree.node(path).type = stat.S_IFLNK
        self.tree.node(path).link_text = text

    def walk(self, path, no_follow=False):
        return self.tree.walk(path, no_follow, False)

    def test_paths_end_where_the_kernels_would(self):
        for path, no_follow, canonical in [
                (b"/lib/c", False, b"/usr/lib/c"), (b"/usr/up", False, b"/usr/lib/c"),
                (b"/usr/abs", False, b"/usr/lib/c"), (b"/lib", True, b"/lib"),
                # A slash behind the last link follows it.
                (b"/lib/", True, b"/usr/lib"), (b"/slash", False, b"/usr/lib"),
                (b"/lib/../lib/./c", False, b"/usr/lib/c"), (b"/../..", False, b""),
                (b"//usr///lib", False, b"/usr/lib"), (b"/loop", True, b"/loop"),
                (b"/" * 4095, False, b"")]:
            self.assertEqual(self.walk(path, no_follow), (0, canonical), path)

    def test_errors_are_those_of_the_kernel(self):
        for path, error in [
                (b"", errno.ENOENT), (b"/nope", errno.ENOENT), (b"/nope/..", errno.ENOENT),
                (b"/dangling", errno.ENOENT), (b"/usr/lib/c/x", errno.ENOTDIR),
                (b"/usr/lib/c/", errno.ENOTDIR), (b"/usr/lib/c/..", errno.ENOTDIR),
                (b"/loop", errno.ELOOP), (b"/" + b"x" * 255, errno.ENOENT),
                (b"/" + b"x" * 256, errno.ENAMETOOLONG), (b"/" * 4096, errno.ENAMETOOLONG)]:
            self.assertEqual(self.walk(path)[0], error, path[:20])

    def test_forty_links_are_followed_and_the_forty_first_is_not(self):
        self.tree.node(b"/end").type = stat.S_IFREG
        self.link(b"/1", b"end")
        for number in range(2, 42):
            self.link(b"/%d" % number, b"%d" % (number - 1))
        self.assertEqual(self.walk(b"/40"), (0, b"/end"))
        self.assertEqual(self.walk(b"/41")[0], errno.ELOOP)

    def test_every_name_looked_up_is_visited_links_included(self):
        visited = []
        self.tree.walk(b"/lib/c", False, False, visited)
        self.assertEqual(visited, [b"/lib", b"/usr", b"/usr/lib", b"/usr/lib/c"])

    def test_what_is_missing_can_be_assumed_to_be_a_directory(self):
        self.assertEqual(self.tree.walk(b"/new/sub/x", False, True), (0, b"/new/sub/x"))

    def test_parents_stand_before_their_children(self):
        paths = self.tree.sorted_paths()
        self.assertEqual(paths[0], b"")
        for path in paths[1:]:
            if tree.parent_of(path) in paths:
                self.assertLess(paths.index(tree.parent_of(path)), paths.index(path))
        self.assertEqual(list(tree.parents_of(b"/usr/lib/c")), [b"/usr/lib", b"/usr"])


def learned(text):
    return learned_tree.LearnedTree(calls.parse(text))


class LearnedTrees(unittest.TestCase):
    def assert_node(self, learnt, path, **expected):
        self.assertIn(path, learnt.tree.nodes)
        for name, value in expected.items():
            self.assertEqual(getattr(learnt.tree.nodes[path], name), value, (path, name))

    def met(self, learnt, path, names, no_follow=False):
        """Whether a walk of `path` comes by one of `names`."""
        return not names.isdisjoint(learnt.visited(path, no_follow))

    def test_modes_sizes_and_parents_come_from_stat(self):
        learnt = learned(b'5 stat("/a/b/c", {st_mode=S_IFREG|0640, st_size=7, ...}) = 0\n')
        for parent in (b"/a", b"/a/b"):
            self.assert_node(learnt, parent, type=stat.S_IFDIR, permissions=0o755)
        self.assert_node(learnt, b"/a/b/c", type=stat.S_IFREG, permissions=0o640, size=7)

    def test_what_did_not_exist_is_not_made(self):
        learnt = learned(b'5 stat("/a/b", 0x1) = -1 ENOENT (No such)\n'
                         b'5 stat("/a", {st_mode=S_IFDIR|0700, st_size=40, ...}) = 0\n')
        self.assertEqual(learnt.tree.sorted_paths(), [b"", b"/a"])

    def test_answers_behind_a_link_belong_to_where_it_points(self):
        learnt = learned(b'5 stat("/l/f", {st_mode=S_IFREG|0600, st_size=1, ...}) = 0\n'
                         b'5 readlink("/l", "d", 4096) = 1\n')
        self.assert_node(learnt, b"/l", type=stat.S_IFLNK, link_text=b"d", permissions=0o777)
        self.assert_node(learnt, b"/d", type=stat.S_IFDIR)
        self.assert_node(learnt, b"/d/f", permissions=0o600)
        self.assertNotIn(b"/l/f", learnt.tree.nodes)

    def test_an_open_that_arrives_elsewhere_betrays_a_link(self):
        for text, link, points_to in [
                (b'5 openat(AT_FDCWD</w>, "/lib/x86/c.so", O_RDONLY) = 3</usr/lib/x86/c.so>\n',
                 b"/lib", b"usr/lib"),
                # Not where an answer shows a directory.
                (b'5 lstat("/lib", {st_mode=S_IFDIR|0755, st_size=40, ...}) = 0\n'
                 b'5 openat(AT_FDCWD</w>, "/lib/a/f", O_RDONLY) = 3</opt/a/f>\n',
                 b"/lib/a", b"../opt/a"),
                # To a file of another name.
                (b'5 openat(AT_FDCWD</w>, "/lib/libz.so.1", O_RDONLY) = 3</lib/libz.so.1.2.13>\n',
                 b"/lib/libz.so.1", b"libz.so.1.2.13")]:
            learnt = learned(text)
            self.assert_node(learnt, link, type=stat.S_IFLNK, link_text=points_to)

    def test_a_link_never_points_into_itself(self):
        self.assertIsNone(learned_tree.infer_link(b"/a", b"/a/b", set()))
        self.assertEqual(learned_tree.infer_link(b"/a/b/c", b"/a/c", set()), (b"/a/b", b"."))

    def test_a_link_that_was_seen_but_never_read_gets_a_text_of_its_length(self):
        learnt = learned(b'5 lstat("/l", {st_mode=S_IFLNK|0777, st_size=9, ...}) = 0\n')
        self.assertEqual(len(learnt.tree.nodes[b"/l"].link_text), 9)

    def test_a_program_that_ran_can_be_executed(self):
        self.assert_node(learned(b'5 execve("/bin/sh", ["sh"], 0x1 /* 4 vars */) = 0\n'),
                         b"/bin/sh", permissions=0o755)

    def test_what_the_trace_changed_is_met_by_every_walk_to_it_or_beneath(self):
        learnt = learned(b'5 mkdir("/a/new", 0777) = 0\n5 rename("/a/x", "/a/y") = 0\n'
                         b'5 open("/a/log", O_WRONLY|O_CREAT, 0666) = 3</a/log>\n'
                         b'5 readlink("/l", "d", 4096) = 1\n5 unlink("/l/f") = 0\n')
        for path in (b"/a/new", b"/a/new/sub", b"/a/x", b"/a/y", b"/a/log", b"/a/./new", b"/d/f",
                     b"/l/f"):
            self.assertTrue(self.met(learnt, path, learnt.changed), path)
        for path in (b"/a", b"/a/newer", b"/l"):
            self.assertFalse(self.met(learnt, path, learnt.changed), path)
        # Writing to a device changes nothing.
        self.assertEqual(learned(b'5 open("/dev/null", O_WRONLY|O_CREAT, 0666) = 3</dev/null>\n')
                         .changed, set())

    def test_two_answers_about_one_path_are_a_conflict(self):
        file = b'stat("/f", {st_mode=S_IFREG|0640, st_size=7, ...}) = 0'
        directory = b'stat("/d", {st_mode=S_IFDIR|0755, st_size=40, ...}) = 0'
        link = b'lstat("/l", {st_mode=S_IFLNK|0777, st_size=9, ...}) = 0'
        for first, second, conflicting in [
                (file, b'stat("/f", {st_mode=S_IFREG|0600, st_size=7, ...}) = 0', {b"/f"}),
                (file, b'stat("/f", {st_mode=S_IFREG|0640, st_size=8, ...}) = 0', {b"/f"}),
                (file, b'stat("/f", {st_mode=S_IFDIR|0640, st_size=7, ...}) = 0', {b"/f"}),
                (link, b'readlink("/l", "d", 4096) = 1', {b"/l"}),
                # The size of a directory is none.
                (directory, b'stat("/d", {st_mode=S_IFDIR|0755, st_size=60, ...}) = 0', set())]:
            learnt = learned(b"5 %b\n5 %b\n" % (first, second))
            self.assertEqual(learnt.conflicting, conflicting, second)

    def test_names_of_the_process_itself_are_recognised(self):
        for path, expected in [(b"/proc/self/maps", True), (b"/dev/stdin", True),
                               (b"/proc/thread-self", True), (b"/proc/selfish", False),
                               (b"/proc/meminfo", False)]:
            self.assertEqual(learned_tree.is_per_process(path), expected, path)


if __name__ == "__main__":
    unittest.main()
