"""The tree that a trace saw, as far as its answers tell: types, modes, sizes, links, and (by their
absence) the names that did not exist."""

import errno
import os
import re
import stat

from calls import Kind
import tree

_DIRECTORY_MODE = 0o755
_FILE_MODE = 0o644
_PROGRAM_MODE = 0o755
_LINK_MODE = 0o777
# Each round can uncover links behind links found in the round before; real trees nest a few.
_ROUNDS_MAX = 16

_PER_PROCESS = re.compile(
    rb"/(?:proc/(?:thread-)?self|dev/(?:fd|stdin|stdout|stderr))(?:/|\Z)")


def is_per_process(path):
    """Whether `path` means something else in each process."""
    return _PER_PROCESS.match(path) is not None


def says_what_exists(call):
    """Whether the answer of a call that changes nothing says that its path exists."""
    return call.error == 0 or (call.kind is Kind.READLINK and call.error == errno.EINVAL)


def _components(path):
    return [name for name in path.split(b"/") if name]


def _relative_path(directory, target):
    """From the one to the other, both as components."""
    common = len(os.path.commonprefix([directory, target]))
    return b"/".join([b".."] * (len(directory) - common) + target[common:]) or b"."


def infer_link(opened, arrived, no_links):
    """The symbolic link that an opened descriptor betrays without naming it.

    openat("/lib/x86_64-linux-gnu/libc.so.6") = 3</usr/lib/x86_64-linux-gnu/libc.so.6> says that a
    link stood on the way. Which component it was follows from `no_links`, the names that are known
    not to be links; where several could be, the one nearest to the root is taken, because it
    explains the most other paths.

    Returns (canonical path, text relative to it, so that it means the same under any root), or None
    if no component can be the link. Both paths are canonical as far as known, and absolute.
    """
    source = _components(opened)
    target = _components(arrived)
    same_end = len(os.path.commonprefix([source[::-1], target[::-1]]))
    for kept in range(max(len(source) - same_end, 1), len(source) + 1):
        after_link = len(source) - kept
        if after_link >= len(target):
            continue
        link = b"".join(b"/" + name for name in source[:kept])
        pointed_to = target[:len(target) - after_link]
        points_at = b"".join(b"/" + name for name in pointed_to)
        # A link into itself would never end.
        if link == points_at or link in no_links or points_at.startswith(link + b"/"):
            continue
        return link, _relative_path(source[:kept - 1], pointed_to)
    return None


class _LinkLearner:
    """Puts every link that readlink answers and opened descriptors tell of into a tree."""

    def __init__(self, trace, links):
        self._trace = trace
        self._tree = links
        self._canonical = {}  # by (path, no_follow); valid until the next link is found

    def learn(self):
        for _ in range(_ROUNDS_MAX):
            if not self._learn_round():
                return

    def _walk(self, path, no_follow):
        key = path, no_follow
        if key not in self._canonical:
            self._canonical[key] = self._tree.walk(path, no_follow, True)[1]
        return self._canonical[key]

    def _names_that_are_no_links(self):
        names = set()
        for path in self._trace.resolved_paths:
            names.add(path)
            names.update(tree.parents_of(path))
        for call in self._trace.calls:
            plain = (call.kind is Kind.STAT and call.no_follow and call.attributes and
                     stat.S_IFMT(call.attributes.mode) != stat.S_IFLNK)
            if plain or (call.kind is Kind.READLINK and call.error == errno.EINVAL):
                names.add(self._walk(call.path, True))
        return names

    def _set_link(self, canonical, text):
        node = self._tree.node(canonical)
        if node.link_text == text:
            return False
        node.type = stat.S_IFLNK
        node.link_text = text
        self._canonical.clear()
        return True

    def _learn_round(self):
        """True if it found a new link."""
        found = False
        no_links = self._names_that_are_no_links()
        for call in self._trace.calls:
            if call.error or not call.text or is_per_process(call.path):
                continue
            if call.kind is Kind.READLINK:
                # A name read twice with two texts stays what it was first: the plan finds the
                # conflict.
                name = self._walk(call.path, True)
                known = self._tree.nodes.get(name)
                if known is None or known.link_text is None:
                    found |= self._set_link(name, call.text)
            elif call.kind is Kind.OPEN and not call.no_follow:
                opened = self._walk(call.path, False)
                if not opened or opened == call.text:
                    continue
                link = infer_link(opened, call.text, no_links)
                if link and link[0] not in self._tree.nodes:
                    found |= self._set_link(*link)
        return found


class LearnedTree:
    """A tree, and the names in it that cannot be compared.

    A walk that comes by such a name, or ends beneath it, is left out.
    """

    def __init__(self, trace):
        self.tree = tree.Tree()
        self.changed = set()  # canonical paths that the trace itself changed
        self.conflicting = set()  # about which two answers disagree
        _LinkLearner(trace, self.tree).learn()
        self._learn(trace)
        self._give_parents()
        self._fill_in()

    def _learn(self, trace):
        self._learn_changes(trace)
        for call in trace.calls:
            if call.kind is not Kind.CHANGE and says_what_exists(call):
                self._learn_answer(call)

    def visited(self, path, no_follow):
        """The canonical paths of the names that a walk looks up."""
        visited = []
        self.tree.walk(path, no_follow, True, visited)
        return visited

    def _learn_changes(self, trace):
        for call in trace.calls:
            if call.kind is not Kind.CHANGE or is_per_process(call.path):
                continue
            canonical = call.text or self.tree.walk(call.path, call.no_follow, True)[1]
            # Opening a device or a file of procfs for writing changes nothing that is compared.
            if call.text and canonical.startswith((b"/dev/", b"/proc/")):
                continue
            if canonical:
                self.changed.add(canonical)

    def _set_type(self, canonical, node, type_):
        if node.type is None:
            node.type = type_
        elif node.type != type_:
            self.conflicting.add(canonical)

    def _learn_attributes(self, canonical, node, attributes):
        type_ = stat.S_IFMT(attributes.mode)
        permissions = stat.S_IMODE(attributes.mode)
        self._set_type(canonical, node, type_)
        conflict = node.permissions not in (None, permissions)
        node.permissions = permissions
        if type_ in (stat.S_IFREG, stat.S_IFLNK):
            size = attributes.size or 0
            conflict |= node.size not in (None, size)
            node.size = size
        node.rdev = attributes.rdev
        if conflict:
            self.conflicting.add(canonical)

    def _learn_answer(self, call):
        if is_per_process(call.path):
            return
        visited = []
        error, canonical = self.tree.walk(call.path, call.no_follow, True, visited)
        if error or not self.changed.isdisjoint(visited):
            return
        # Everything on the way exists, and is a directory unless it is a link.
        for name in visited:
            node = self.tree.node(name)
            if name != canonical and node.type is None:
                node.type = stat.S_IFDIR
        node = self.tree.node(canonical)
        if call.attributes:
            self._learn_attributes(canonical, node, call.attributes)
        if call.must_be_directory or call.path.endswith(b"/"):
            self._set_type(canonical, node, stat.S_IFDIR)
        if call.access_mode & os.X_OK:
            node.executable = True

    def _give_parents(self):
        """A link learnt from a call that is left out can stand where no answer showed a
        directory."""
        for path in self.tree.sorted_paths():
            for parent in tree.parents_of(path):
                node = self.tree.node(parent)
                if node.type not in (None, stat.S_IFDIR):
                    self.conflicting.add(parent)
                node.type = stat.S_IFDIR
                node.link_text = None

    def _fill_in(self):
        for path, node in self.tree.nodes.items():
            if node.type is None:
                node.type = stat.S_IFREG
            if node.type == stat.S_IFLNK and node.link_text is None:
                # Seen, never read: any text of the right length answers all that was asked.
                node.link_text = b"x" * (node.size or 1)
            if node.permissions is None:
                node.permissions = (
                    _DIRECTORY_MODE if node.type == stat.S_IFDIR else
                    _LINK_MODE if node.type == stat.S_IFLNK else
                    _PROGRAM_MODE if node.executable else _FILE_MODE)
            if node.size is None:
                node.size = len(node.link_text) if node.link_text else 0
            # An inferred text that lstat contradicts.
            if node.link_text is not None and len(node.link_text) != node.size:
                self.conflicting.add(path)
