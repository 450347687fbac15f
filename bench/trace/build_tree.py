"""The tree that a build found when it began, as far as its trace tells."""

import errno
import stat

from build_calls import Operation
from calls import Kind
import learned_tree
import tree

# Operations on a name that has to exist, and operations whose second name is the new one.
_NEEDS_NAME = {Operation.OPEN, Operation.TRUNCATE, Operation.RMDIR, Operation.UNLINK,
               Operation.LINK, Operation.RENAME, Operation.CHMOD, Operation.UTIMES}
_HAS_NEW_NAME = {Operation.LINK, Operation.RENAME}


def is_device(path):
    """Whether opening it for writing changes nothing."""
    return path.startswith((b"/dev/", b"/proc/"))


class BuildTree(learned_tree.LearnedTree):
    """Learns of each name until the trace changes it: `changed` has all of those in the end."""

    def _learn(self, trace):
        for call in trace.calls:
            if call.path is None or learned_tree.is_per_process(call.path):
                continue
            if call.kind is not Kind.CHANGE:
                if learned_tree.says_what_exists(call):
                    self._learn_answer(call)
            elif is_device(call.path):
                continue
            elif call.error == 0:
                self._learn_change(call)
            elif call.error == errno.EEXIST and call.operation is Operation.MKDIR:
                self._learn_existing(call.path, True)
        for call in trace.calls:
            if call.kind is Kind.CHANGE and call.operation is Operation.SYMLINK and not call.error:
                # The texts of all links were learnt first, those that the trace makes too.
                self.tree.nodes.pop(self._canonical(call.path, True), None)

    def _canonical(self, path, no_follow):
        return self.tree.walk(path, no_follow, True)[1]

    def _learn_change(self, call):
        if call.operation in _NEEDS_NAME:
            self._learn_existing(call.path, call.no_follow, stat.S_IFDIR if
                                 call.operation is Operation.RMDIR else None)
        else:
            self._learn_parents(call.path, call.no_follow)
        self.changed.add(self._canonical(call.path, call.no_follow))
        if call.operation in _HAS_NEW_NAME:
            self._learn_parents(call.second_path, True)
            self.changed.add(self._canonical(call.second_path, True))

    def _learn_parents(self, path, no_follow):
        """Returns the last name, or None where that is the trace's own."""
        visited = []
        self.tree.walk(path, no_follow, True, visited)
        for name in visited[:-1]:
            if name in self.changed:
                return None
            node = self.tree.node(name)
            node.type = node.type or stat.S_IFDIR
        return visited[-1] if visited and visited[-1] not in self.changed else None

    def _learn_existing(self, path, no_follow, type_=None):
        name = self._learn_parents(path, no_follow)
        if name is not None:
            node = self.tree.node(name)
            node.type = node.type or type_


class LiveNode(tree.Node):
    """A node while the build changes it. Several names of one file share it."""
    __slots__ = ("links", "modified", "names")

    def __init__(self, type_, permissions):
        super().__init__(type_)
        self.permissions = permissions
        self.size = 0
        # None: not known. What the build finds may have names that no call tells of.
        self.links = None
        self.modified = None  # (seconds, nanoseconds) where a call set it
        self.names = []  # all that it ever had

    @classmethod
    def of(cls, node):
        live = cls(node.type, node.permissions)
        live.size, live.link_text, live.rdev = node.size, node.link_text, node.rdev
        return live


class LiveTree(tree.Tree):
    """A copy of a tree, to be changed. Each change returns its errno, as the kernel would give
    it."""

    def __init__(self, learned):
        super().__init__()
        self.nodes = {name: LiveNode.of(node) for name, node in learned.nodes.items()}
        for name, node in self.nodes.items():
            node.names.append(name)
        self._children = dict.fromkeys(self.nodes, 0)
        for name in self.nodes:
            if name:
                self._children[tree.parent_of(name)] += 1

    def locate(self, path, no_follow, visited):
        """(errno, canonical name): of a name that need not exist, in a directory that does."""
        trimmed = path.rstrip(b"/")
        error, canonical = self.walk(trimmed, no_follow, False, visited)
        if error != errno.ENOENT:
            return error, canonical
        parent, _, name = trimmed.rpartition(b"/")
        error, directory = self.walk(parent or b"/", False, False, visited)
        if error:
            return error, b""
        canonical = directory + b"/" + name
        # A link that leads nowhere: what it would make is not told.
        return (errno.ELOOP, b"") if canonical in self.nodes else (0, canonical)

    def add(self, name, node):
        if node.links is not None:
            node.links += 1
        node.names.append(name)
        self.nodes[name] = node
        self._children[name] = 0
        self._children[tree.parent_of(name)] += 1

    def remove(self, name):
        node = self.nodes.pop(name)
        if node.links is not None:
            node.links -= 1
        del self._children[name]
        self._children[tree.parent_of(name)] -= 1
        return node

    def is_empty(self, name):
        return self._children[name] == 0
