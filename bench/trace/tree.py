"""A directory tree in memory, with the path resolution of path_resolution(7).

It is what a trace says of the file system it ran on. Names are absolute canonical paths as bytes:
b"/usr/lib"; the root is b"".
"""

import errno
import stat

_LINKS_MAX = 40  # path_resolution(7)
_NAME_BYTES_MAX = 255
_PATH_BYTES_MAX = 4096


class Node:
    """What is known of one name."""
    __slots__ = ("type", "permissions", "size", "link_text", "rdev", "executable")

    def __init__(self, type_=None):
        self.type = type_  # stat.S_IFREG ..., None: exists, but no call told as what
        self.permissions = None
        self.size = None
        self.link_text = None
        self.rdev = (0, 0)
        self.executable = False  # execve or access(X_OK) succeeded


class Tree:
    """Nodes by canonical path."""

    def __init__(self):
        self.nodes = {b"": Node(stat.S_IFDIR)}

    def node(self, canonical):
        """Makes it where it does not exist. The parents are the caller's business."""
        found = self.nodes.get(canonical)
        if found is None:
            found = self.nodes[canonical] = Node()
        return found

    def walk(self, path, no_follow, assume_directories, visited=None):
        """Returns (errno, the canonical path where the walk ended if errno is 0).

        `assume_directories`: names that are not in the tree, or of no known type, are walked
        through, else a missing one is ENOENT. `visited` receives the canonical path of every name
        looked up, links included.
        """
        if not path:
            return errno.ENOENT, b""
        if len(path) >= _PATH_BYTES_MAX:
            return errno.ENAMETOOLONG, b""
        nodes = self.nodes
        at = b""
        links = 0
        left = path.split(b"/")[::-1]  # an empty one in front: a slash follows the last component
        while True:
            name = b""
            while left and not name:
                name = left.pop()
            here = nodes.get(at)
            directory = here is None or here.type == stat.S_IFDIR or (
                here.type is None and assume_directories)
            if not name:
                refused = path.endswith(b"/") and not directory
                return (errno.ENOTDIR, b"") if refused else (0, at)
            if not directory:
                return errno.ENOTDIR, b""
            if name == b".":
                continue
            if name == b"..":
                at = parent_of(at)
                continue
            if len(name) > _NAME_BYTES_MAX:
                return errno.ENAMETOOLONG, b""
            parent, at = at, at + b"/" + name
            if visited is not None:
                visited.append(at)
            child = nodes.get(at)
            if child is None and not assume_directories:
                return errno.ENOENT, b""
            is_link = child is not None and child.type == stat.S_IFLNK and child.link_text
            if not is_link or (no_follow and not left):
                continue
            links += 1
            if links > _LINKS_MAX:
                return errno.ELOOP, b""
            at = b"" if child.link_text.startswith(b"/") else parent
            left.extend(reversed(child.link_text.split(b"/")))

    def sorted_paths(self):
        """All canonical paths, parents before children, the root first."""
        return sorted(self.nodes)  # a parent is a proper prefix of its children


def parent_of(canonical):
    """b"/usr/lib" of b"/usr/lib/x", b"" of b"/usr"."""
    return canonical.rpartition(b"/")[0]


def parents_of(canonical):
    """From the nearest up, without the root."""
    parent = parent_of(canonical)
    while parent:
        yield parent
        parent = parent_of(parent)
