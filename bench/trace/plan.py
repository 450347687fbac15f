"""Which calls of a trace are replayed, in which order, what each must answer, and of which tree:
the file that bench/make_replay reads.

The recorded answer is compared, never the model's: the tree model only decides which recorded
answers can be expected of a tree at rest. Sizes are compared for regular files and links; a
directory's size is the file system's own affair.

A plan is text, one item a line, fields between single spaces, numbers decimal but for modes, which
are octal. Strings hold any byte but NUL; those that are not printable ASCII, the space and the
backslash are written \\xHH.

    nfswalk-plan 2
    trace NAME
    coverage {"lines": 20109, ...}              what is compared and what is not, and why, in JSON
    coverage-without-special {...}              where the tree can hold no device, FIFO or socket
    node TYPE MODE SIZE MAJOR MINOR PATH [TEXT]  the tree, parents first, the root ("/") in front;
                                                TYPE as find(1) prints it, TEXT of a link
    string STRING                               numbered from 0: what calls refer to
    lot                                         the calls up to the next lot are taken together
    CALL FLAGS ERRNO ACCESS MODE SIZE LINE PATH [TEXT]
                                                PATH and TEXT are numbers of strings
    listings                                    calls from here on are asked in the first pass only
    end COUNT                                   the number of calls

CALL is stat, access, readlink, open or getdents64. An open that failed, or was of anything but a
regular file, is replayed as access: the walk and the permission check. FLAGS: "n" the last link is
not followed, "s" the path ends at a device, FIFO or socket, "-" none of these. ACCESS: the mode of
access and open. MODE and SIZE: what stat answers, "-" where the size is not compared. LINE: in the
trace.
"""

import collections
import errno
import json
import os
import re
import stat

from calls import Kind, LeftOut
import learned_tree

# Enough calls that taking the next lot, a write to a word that all threads share, is lost in the
# work.
_CALLS_IN_LOT_MIN = 1024

_TYPE_LETTERS = {stat.S_IFREG: "f", stat.S_IFDIR: "d", stat.S_IFLNK: "l", stat.S_IFCHR: "c",
                 stat.S_IFBLK: "b", stat.S_IFIFO: "p", stat.S_IFSOCK: "s"}
SIZED = (stat.S_IFREG, stat.S_IFLNK)
SPECIAL = (stat.S_IFCHR, stat.S_IFBLK, stat.S_IFIFO, stat.S_IFSOCK)


def answers_as_recorded(node, walk_error, call):
    """Whether a walk that ends with `walk_error`, or else at `node`, gives the recorded answer."""
    if walk_error:
        return walk_error == call.error
    if call.kind is Kind.READLINK:
        if node.type != stat.S_IFLNK:
            return call.error == errno.EINVAL
        return call.error == 0 and node.link_text == call.text
    if call.kind is Kind.STAT:
        return (call.error == 0 and call.attributes.mode == node.type | node.permissions and
                (node.type not in SIZED or node.size == call.attributes.size))
    if call.kind is Kind.ACCESS:
        # Recorded as root: only execution of a regular file can be refused.
        refused = (call.access_mode & os.X_OK and node.type == stat.S_IFREG and
                   not node.permissions & 0o111)
        return call.error == (errno.EACCES if refused else 0)
    return call.error == 0 and (not call.must_be_directory or node.type == stat.S_IFDIR)


class Plan:
    """The calls of a trace that can be compared, and the tree that they are asked of."""

    def __init__(self, trace):
        self.learned = learned_tree.LearnedTree(trace)
        self.left_out = trace.left_out.copy()
        self.lots = []  # lists of calls of one or more whole processes, in order
        self.listings = []  # no subject caches them
        self.processes = 0
        self._walks = {}  # by (path, no_follow): (errno, node or None, names looked up)
        replayed = [call for call in trace.calls
                    if call.kind not in (Kind.CHANGE, Kind.EXECUTE)]
        self._find_conflicts(replayed)
        self._add_calls(replayed)

    def calls(self):
        """In the order of the lots, without listings."""
        return [call for lot in self.lots for call in lot]

    def ends_at_special(self, call):
        """Whether a tree made through NFS cannot hold what `call` asks about."""
        _, node, _ = self._walk(call)
        return node is not None and node.type in SPECIAL

    def replayed_as(self, call):
        """A Kind: an open is one where there is data to open."""
        _, node, _ = self._walk(call)
        is_file = call.error == 0 and call.access_mode and node and node.type == stat.S_IFREG
        return Kind.ACCESS if call.kind is Kind.OPEN and not is_file else call.kind

    def _walk(self, call):
        key = call.path, call.no_follow
        if key not in self._walks:
            error, canonical = self.learned.tree.walk(call.path, call.no_follow, False)
            node = None if error else self.learned.tree.nodes[canonical]
            self._walks[key] = error, node, self.learned.visited(call.path, call.no_follow)
        return self._walks[key]

    def _trouble(self, call):
        """The reason to leave a call out, or None."""
        _, _, visited = self._walk(call)
        if learned_tree.is_per_process(call.path):
            return LeftOut.PER_PROCESS
        if not self.learned.changed.isdisjoint(visited):
            return LeftOut.CHANGED_BY_TRACE
        if not self.learned.conflicting.isdisjoint(visited):
            return LeftOut.CONFLICTING_ANSWERS
        return None

    def _find_conflicts(self, replayed):
        for call in replayed:
            error, node, visited = self._walk(call)
            if self._trouble(call) is None and not answers_as_recorded(node, error, call):
                self.learned.conflicting.add(visited[-1] if visited else b"")

    def _add_calls(self, replayed):
        streams = {}  # by process, in the order of their first call
        for call in replayed:
            reason = self._trouble(call)
            if reason:
                self.left_out[reason] += 1
            elif call.kind is Kind.READDIR:
                self.listings.append(call)
            else:
                streams.setdefault(call.pid, []).append(call)
        self.processes = len(streams)
        for stream in streams.values():
            if not self.lots or len(self.lots[-1]) >= _CALLS_IN_LOT_MIN:
                self.lots.append([])
            self.lots[-1].extend(stream)


def _readable(path):
    return path.decode(errors="backslashreplace")


def coverage_of(trace, plan, special_files=True):
    """What is compared and what is not, and why."""
    asked = plan.calls() + plan.listings
    kinds = collections.Counter((call.kind, plan.replayed_as(call)) for call in asked
                                if special_files or not plan.ends_at_special(call))
    left_out = plan.left_out + collections.Counter(
        {LeftOut.SPECIAL_FILE: len(asked) - sum(kinds.values())})
    return {
        **trace.counts(),
        "processes": plan.processes,
        "names": len(plan.learned.tree.nodes),
        "compared": {kind.value if kind is asked_as else f"{kind.value} as {asked_as.value}":
                         kinds[kind, asked_as]
                     for kind in Kind for asked_as in Kind if kinds[kind, asked_as]},
        "left_out": {reason.value: left_out[reason] for reason in LeftOut if left_out[reason]},
        "conflicting": [_readable(name) for name in sorted(plan.learned.conflicting)],
    }


_UNSAFE = re.compile(rb"[^\x21-\x5b\x5d-\x7e]")


def escape(text):
    """A string as a plan holds it."""
    return _UNSAFE.sub(lambda match: b"\\x%02x" % match[0][0], text).decode("ascii")


class Strings:
    """The strings of a plan, numbered from 0."""

    def __init__(self):
        self._numbers = {}

    def number(self, text):
        return self._numbers.setdefault(text, len(self._numbers))

    def lines(self):
        return ["string " + escape(text) for text in self._numbers]


class _Writer:
    """The lines of a plan's calls."""

    def __init__(self, plan):
        self._plan = plan
        self.strings = Strings()

    def line_of(self, call):
        flags = ("n" if call.no_follow else "") + (
            "s" if self._plan.ends_at_special(call) else "")
        mode, size = 0, "-"
        if call.attributes:
            mode = call.attributes.mode
            if stat.S_IFMT(mode) in SIZED and call.attributes.size is not None:
                size = call.attributes.size
        text = ""
        if call.kind is Kind.READLINK and call.error == 0:
            text = f" {self.strings.number(call.text)}"
        kind = self._plan.replayed_as(call)
        return (f"{kind.value} {flags or '-'} {call.error} {call.access_mode} {mode:o} {size} "
                f"{call.line} {self.strings.number(call.path)}{text}")


def node_line(path, node):
    text = "" if node.link_text is None else " " + escape(node.link_text)
    return (f"node {_TYPE_LETTERS[node.type]} {node.permissions:o} {node.size} "
            f"{node.rdev[0]} {node.rdev[1]} {escape(path) or '/'}{text}")


def text_of(name, trace, plan):
    """The whole plan, as a file holds it."""
    writer = _Writer(plan)
    calls = []
    for lot in plan.lots:
        calls.append("lot")
        calls.extend(writer.line_of(call) for call in lot)
    calls.append("listings")
    calls.extend(writer.line_of(call) for call in plan.listings)
    count = sum(len(lot) for lot in plan.lots) + len(plan.listings)
    nodes = plan.learned.tree.nodes
    lines = ["nfswalk-plan 2", "trace " + escape(name.encode()),
             "coverage " + json.dumps(coverage_of(trace, plan)),
             "coverage-without-special " + json.dumps(coverage_of(trace, plan, False))]
    lines += [node_line(path, nodes[path]) for path in plan.learned.tree.sorted_paths()]
    return "\n".join(lines + writer.strings.lines() + calls + [f"end {count}", ""])
