"""The calls of a whole build in an order that gives the recorded answers: the file that
bench/make_replay reads where a build is replayed.

The calls of a process keep their order. A call waits for one of another process where a name or a
file orders them: a call that uses a name, or asks for a file's attributes, for the last change of
it, and a change for all uses since the one before. Every call waits for earlier calls of the trace
only, so that there is always one that waits for nothing.

The trace is made once more on a tree in memory. A call that is not answered there as recorded
(two that were in flight at the same time can stand in the trace in the wrong order) is left out,
and what it would have changed is not changed.

What is written is one truncate to the size that the file has before the next call about it. An
O_TRUNC of a file that has data is a truncate of its own. Renames with flags are renames.

Text as in plan.py, but for:

    nfswalk-build-plan 1
    process                                     the calls up to the next process are of one, in
                                                order
    CALL FLAGS ERRNO ACCESS MODE SIZE LINKS TIME WAITS LINE PATH [TEXT]

CALL is also one of build_calls.Operation. FLAGS: "x" too: O_EXCL. MODE: what stat answers, or what
a change sets. SIZE: of truncate too. LINKS: of a file that the build made, what stat answers, else
"-". TIME: SECONDS.NANOSECONDS of modification, which utimes sets ("-": now) and stat then answers;
"-" where it is not compared. WAITS: PROCESS:CALLS,... how many calls of which other processes must
be done; processes are numbered from 0; "-": none. TEXT: of a link; the second name.
"""

import collections
import errno
import json
import os
import stat

import build_tree
from build_calls import Operation
from calls import Kind, LeftOut
import learned_tree
import plan

_FOLLOWS_UP = "truncate after write"


class _Order:
    """Which calls a call waits for. Processes and their calls are numbered as they come."""

    def __init__(self):
        self.processes = {}  # number by pid
        self.counts = []  # calls so far, by process
        self._changed = {}  # by what was changed: (process, calls)
        self._used = {}  # since then: {process: calls}
        self._known = []  # by process: {process: calls} that it has waited for

    def place(self, pid, uses, changes):
        """Returns (process, {process: calls}) of a call that uses and changes these things."""
        process = self.processes.setdefault(pid, len(self.counts))
        if process == len(self.counts):
            self.counts.append(0)
            self._known.append({})
        self.counts[process] += 1
        here = process, self.counts[process]
        waits = {}
        for thing in (*uses, *changes):
            self._add(waits, *self._changed.get(thing, here))
        for thing in changes:
            for user in self._used.pop(thing, {}).items():
                self._add(waits, *user)
            self._changed[thing] = here
        for thing in uses:
            if thing not in changes:
                self._used.setdefault(thing, {})[process] = here[1]
        known = self._known[process]
        waits = {other: calls for other, calls in waits.items()
                 if other != process and known.get(other, 0) < calls}
        known.update(waits)
        return process, waits

    @staticmethod
    def _add(waits, process, calls):
        waits[process] = max(waits.get(process, 0), calls)


class Planned:
    """A call of the plan: one of the trace, or what follows from it."""
    __slots__ = ("kind", "call", "path", "text", "mode", "size", "links", "modified", "waits")

    def __init__(self, kind, call, path):
        self.kind = kind  # its name in the plan
        self.call = call
        self.path = path
        self.text = None
        self.mode = 0
        self.size = None
        self.links = None
        self.modified = None
        self.waits = {}


class BuildPlan:
    """The calls of a build, by process."""

    def __init__(self, trace):
        learned = build_tree.BuildTree(trace)
        self.initial = learned.tree
        self.changed = learned.changed
        self.left_out = trace.left_out.copy()
        self.compared = collections.Counter()
        self.writes = 0
        self.processes = []  # lists of Planned
        self._tree = build_tree.LiveTree(learned.tree)
        self._order = _Order()
        self._unwritten = {}  # {node: the last change} of files that were written
        self._walks = {}  # of paths that nothing changes
        for call in trace.calls:
            if call.kind is not Kind.EXECUTE:
                self._replay(call)
        for node in list(self._unwritten):
            self._flush(node)

    def _leave_out(self, reason):
        self.left_out[reason] += 1

    def _replay(self, call):
        if call.kind is not Kind.CHANGE:
            self._ask(call)
        elif call.operation in (Operation.WRITE, Operation.SEEK):
            self._write(call)
        elif learned_tree.is_per_process(call.path):
            self._leave_out(LeftOut.PER_PROCESS)
        elif build_tree.is_device(call.path):
            self._leave_out(LeftOut.SPECIAL_FILE)
        else:
            self._change(call)

    def _place(self, planned, uses, changes=()):
        call = planned.call
        process, planned.waits = self._order.place(call.pid, uses, changes)
        if process == len(self.processes):
            self.processes.append([])
        self.processes[process].append(planned)

    def _uses(self, visited):
        return [name for name in visited if name in self.changed]

    # Calls that change nothing.

    def _walk(self, call):
        key = call.path, call.no_follow
        found = self._walks.get(key)
        if found is None:
            visited = []
            error, name = self._tree.walk(call.path, call.no_follow, False, visited)
            node = None if error else self._tree.nodes[name]
            found = error, node, self._uses(visited)
            if not found[2]:
                self._walks[key] = found
        return found

    def _ask(self, call):
        if learned_tree.is_per_process(call.path):
            self._leave_out(LeftOut.PER_PROCESS)
            return
        error, node, uses = self._walk(call)
        if node is not None and node.type in plan.SPECIAL:
            self._leave_out(LeftOut.SPECIAL_FILE)
            return
        if node in self._unwritten:
            self._flush(node)
        if not self._answers_as_recorded(node, error, call):
            self._leave_out(LeftOut.CONFLICTING_ANSWERS)
            return
        is_file = node is not None and node.type == stat.S_IFREG and call.access_mode
        kind = Kind.ACCESS if call.kind is Kind.OPEN and not is_file else call.kind
        planned = Planned(kind.value, call, call.path)
        if call.attributes:
            planned.mode = call.attributes.mode
            if node.type in plan.SIZED:
                planned.size = call.attributes.size
            if call.attributes.links is not None and node.type == stat.S_IFREG:
                planned.links = node.links
            if call.attributes.modified is not None:
                planned.modified = node.modified
        if call.kind is Kind.READLINK and not error and call.error == 0:
            planned.text = call.text
        self.compared[kind.value if kind is call.kind else
                      f"{call.kind.value} as {kind.value}"] += 1
        self._place(planned, uses if node is None else [*uses, node])

    @staticmethod
    def _answers_as_recorded(node, error, call):
        if not plan.answers_as_recorded(node, error, call):
            return False
        if error or not call.attributes:
            return True
        attributes = call.attributes
        links_differ = (node.type == stat.S_IFREG and node.links is not None and
                        attributes.links not in (None, node.links))
        return not links_differ and (node.modified is None or
                                     attributes.modified in (None, node.modified))

    # Writes.

    def _write(self, change):
        description = change.description
        node = description.node
        if node is None:  # the open was left out
            return
        if change.operation is Operation.SEEK:
            description.offset = change.size
            return
        self.writes += 1
        offset = change.offset
        if offset is None:
            offset = node.size if description.append else description.offset
            description.offset = offset + change.size
        node.modified = None
        if offset + change.size > node.size:
            node.size = offset + change.size
            self._unwritten[node] = change

    def _flush(self, node):
        """Gives the file the size that the writes so far gave it."""
        change = self._unwritten.pop(node, None)
        name = change and next((name for name in node.names if
                                self._tree.nodes.get(name) is node), None)
        if name is None:  # nothing written, or no name is left
            return
        self._truncate(change, name, node)
        self.compared[_FOLLOWS_UP] += 1

    def _truncate(self, change, name, node):
        planned = Planned(Operation.TRUNCATE.value, change, name)
        planned.size = node.size
        visited = []
        self._tree.walk(name, True, False, visited)
        self._place(planned, self._uses(visited), [node])

    # Changes.

    def _change(self, call):
        visited = []
        name_only = call.operation in (Operation.MKDIR, Operation.SYMLINK, Operation.UNLINK,
                                       Operation.RMDIR, Operation.RENAME, Operation.LINK)
        error, name = self._tree.locate(call.path, name_only or call.no_follow, visited)
        node = None if error else self._tree.nodes.get(name)
        if node is not None and node.type in plan.SPECIAL:
            self._leave_out(LeftOut.SPECIAL_FILE)
            return
        if node in self._unwritten:
            self._flush(node)
        second, second_node = None, None
        if call.operation in (Operation.RENAME, Operation.LINK) and not error:
            error, second = self._tree.locate(call.second_path, True, visited)
            second_node = self._tree.nodes.get(second)
            if second_node in self._unwritten:
                self._flush(second_node)
            if node is not None and node.type == stat.S_IFDIR:
                self._leave_out(LeftOut.DIRECTORY_RENAMED)
                return
        error = error or self._error_of(call, name, node, second_node)
        if error != call.error:
            self._leave_out(LeftOut.CONFLICTING_ANSWERS)
            return
        self._plan_change(call, self._uses(visited),
                          () if error else (name, node, second, second_node))

    def _error_of(self, call, name, node, second_node):
        operation = call.operation
        is_directory = node is not None and node.type == stat.S_IFDIR
        if operation in (Operation.MKDIR, Operation.SYMLINK):
            return errno.EEXIST if node is not None else 0
        if operation is Operation.CREATE:
            if node is not None and call.exclusive:
                return errno.EEXIST
            return errno.EISDIR if is_directory else 0
        if node is None:
            return errno.ENOENT
        if operation is Operation.RMDIR:
            if not is_directory:
                return errno.ENOTDIR
            return 0 if self._tree.is_empty(name) else errno.ENOTEMPTY
        if is_directory and operation in (Operation.OPEN, Operation.UNLINK, Operation.TRUNCATE):
            return errno.EISDIR
        if operation is Operation.LINK and second_node is not None:
            return errno.EEXIST
        return 0

    def _plan_change(self, call, uses, places):
        """`places`: (name, node, second name, its node) of a change that succeeds."""
        planned = Planned(call.operation.value, call, call.path)
        planned.mode = call.mode
        planned.text = call.second_path
        planned.modified = call.modified
        if call.operation is Operation.TRUNCATE:
            planned.size = call.size
        self.compared[planned.kind] += 1
        if not places:
            self._place(planned, uses)
            return
        name, node, second, second_node = places
        changed_names = self._changed_names(call, name, node, second)
        changed_nodes = [each for each in (node, second_node) if each is not None and
                         call.operation not in (Operation.CREATE, Operation.OPEN)]
        self._place(planned, [*uses, *([] if node is None else [node])],
                    [*changed_names, *changed_nodes])
        self._apply(call, name, node, second, second_node)
        if call.operation in (Operation.CREATE, Operation.OPEN):
            self._open(call, name)

    @staticmethod
    def _changed_names(call, name, node, second):
        operation = call.operation
        if operation is Operation.RENAME:
            return [name, second]
        if operation is Operation.LINK:
            return [second]
        makes = operation in (Operation.MKDIR, Operation.SYMLINK) or (
            operation is Operation.CREATE and node is None)
        return [name] if makes or operation in (Operation.RMDIR, Operation.UNLINK) else []

    def _apply(self, call, name, node, second, second_node):
        operation = call.operation
        live = self._tree
        if operation in (Operation.MKDIR, Operation.SYMLINK) or (
                operation is Operation.CREATE and node is None):
            self._make(call, name)
        elif operation in (Operation.RMDIR, Operation.UNLINK):
            live.remove(name)
        elif operation is Operation.LINK:
            live.add(second, node)
        elif operation is Operation.RENAME and node is not second_node:
            if second_node is not None:
                live.remove(second)
            live.add(second, live.remove(name))
        elif operation is Operation.CHMOD:
            node.permissions = call.mode & 0o7777
        elif operation is Operation.TRUNCATE:
            node.size, node.modified = call.size, None
        elif operation is Operation.UTIMES:
            node.modified = call.modified

    def _make(self, call, name):
        type_ = {Operation.MKDIR: stat.S_IFDIR, Operation.SYMLINK: stat.S_IFLNK}.get(
            call.operation, stat.S_IFREG)
        node = build_tree.LiveNode(type_, 0o777 if type_ == stat.S_IFLNK else call.mode)
        if type_ == stat.S_IFLNK:
            node.link_text = call.second_path
            node.size = len(node.link_text)
        node.links = 0
        self._tree.add(name, node)

    def _open(self, call, name):
        node = self._tree.nodes[name]
        call.description.node = node
        if call.truncates and node.size:
            node.size, node.modified = 0, None
            self._truncate(call, name, node)


def coverage_of(trace, made):
    """What is compared and what is not, and why."""
    return {
        **trace.counts(),
        "processes": len(made.processes),
        "names": len(made.initial.nodes),
        "names_changed": len(made.changed),
        "writes": made.writes,
        "waits": sum(len(planned.waits) for process in made.processes for planned in process),
        "compared": dict(sorted(made.compared.items())),
        "left_out": {reason.value: made.left_out[reason] for reason in LeftOut
                     if made.left_out[reason]},
    }


def _or_dash(value):
    return "-" if value is None else value


def _line_of(planned, strings):
    call = planned.call
    is_change = call.kind is Kind.CHANGE
    flags = ("n" if call.no_follow else "") + ("x" if is_change and call.exclusive else "")
    access = os.W_OK if planned.kind == Operation.OPEN.value and is_change else call.access_mode
    waits = ",".join(f"{process}:{calls}" for process, calls in sorted(planned.waits.items()))
    text = "" if planned.text is None else f" {strings.number(planned.text)}"
    time = "-" if planned.modified is None else "{}.{}".format(*planned.modified)
    return (f"{planned.kind} {flags or '-'} {call.error} {access} {planned.mode:o} "
            f"{_or_dash(planned.size)} {_or_dash(planned.links)} {time} {waits or '-'} "
            f"{call.line} {strings.number(planned.path)}{text}")


def text_of(name, trace, made):
    """The whole plan, as a file holds it."""
    strings = plan.Strings()
    calls = []
    for process in made.processes:
        calls.append("process")
        calls.extend(_line_of(planned, strings) for planned in process)
    nodes = made.initial.nodes
    lines = ["nfswalk-build-plan 1", "trace " + plan.escape(name.encode()),
             "coverage " + json.dumps(coverage_of(trace, made))]
    lines += [plan.node_line(path, nodes[path]) for path in made.initial.sorted_paths()
              if nodes[path].type not in plan.SPECIAL]
    count = sum(map(len, made.processes))
    return "\n".join(lines + strings.lines() + calls + [f"end {count}", ""])
