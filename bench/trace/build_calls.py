"""The calls of a trace of a whole build: those of calls.py, and every change with its details.

    trace = build_calls.parse(strace.read_text("git-build.strace.xz"))
"""

import collections
import enum
import errno
import re

import calls
from calls import Form, Kind, LeftOut, argument_at
import strace

# Umask that record_build.sh sets and that the recorded processes inherit.
_UMASK = 0o022


class Operation(enum.Enum):
    """What a change does; the value is its name in a plan."""
    CREATE = "create"  # open with O_CREAT
    OPEN = "open"  # for writing, without O_CREAT
    TRUNCATE = "truncate"
    MKDIR = "mkdir"
    RMDIR = "rmdir"
    UNLINK = "unlink"
    SYMLINK = "symlink"
    LINK = "link"
    RENAME = "rename"
    CHMOD = "chmod"
    UTIMES = "utimes"
    WRITE = "write"  # through a descriptor, as the next one: of no path
    SEEK = "seek"


class Description:
    """An open file description, for writing: shared by descriptors and processes."""
    __slots__ = ("node", "offset", "append")

    def __init__(self, append):
        self.node = None  # whoever replays the trace sets it
        self.offset = 0
        self.append = append


class Change(calls.Call):
    """A call that changes something, or failed to."""
    __slots__ = ("operation", "mode", "exclusive", "truncates", "second_path", "size",
                 "offset", "modified", "description")

    def __init__(self, operation, source, error, no_follow=True):
        super().__init__(Kind.CHANGE, None, source.pid, source.line, error, no_follow)
        self.operation = operation
        self.mode = 0  # permission bits, without those of the umask
        self.exclusive = False  # O_EXCL
        self.truncates = False  # O_TRUNC
        self.second_path = None  # RENAME, LINK: the new name; SYMLINK: the text
        self.size = 0  # TRUNCATE: the new one; WRITE: bytes written; SEEK: the offset
        self.offset = None  # WRITE; None: that of the description, which moves on
        self.modified = None  # UTIMES: seconds, nanoseconds; None: now
        self.description = None  # CREATE, OPEN, WRITE, SEEK


# Errors that tell something about the path: those of calls.py, and three that only changes have.
_ERRORS_OF_CHANGES = {0, errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.ELOOP,
                      errno.ENAMETOOLONG, errno.EEXIST, errno.EISDIR, errno.ENOTEMPTY}


class _Details(enum.Enum):
    OWNER = 0
    SPECIAL = 1


# Maps a system call to its operation and to the argument that holds its mode, size, times or link text.
_OPERATIONS = {
    b"creat": (Operation.CREATE, 1), b"open": (Operation.CREATE, 2),
    b"openat": (Operation.CREATE, 3),
    b"mkdir": (Operation.MKDIR, 1), b"mkdirat": (Operation.MKDIR, 2),
    b"rmdir": (Operation.RMDIR, None),
    b"unlink": (Operation.UNLINK, None), b"unlinkat": (Operation.UNLINK, None),
    b"symlink": (Operation.SYMLINK, 0), b"symlinkat": (Operation.SYMLINK, 0),
    b"link": (Operation.LINK, None), b"linkat": (Operation.LINK, None),
    b"rename": (Operation.RENAME, None), b"renameat": (Operation.RENAME, None),
    b"renameat2": (Operation.RENAME, None),
    b"chmod": (Operation.CHMOD, 1), b"fchmodat": (Operation.CHMOD, 2),
    b"fchmod": (Operation.CHMOD, 1),
    b"truncate": (Operation.TRUNCATE, 1), b"ftruncate": (Operation.TRUNCATE, 1),
    b"utimensat": (Operation.UTIMES, 2), b"futimesat": (Operation.UTIMES, 2),
    b"utimes": (Operation.UTIMES, 1), b"utime": (Operation.UTIMES, 1),
    b"mknod": (_Details.SPECIAL, None), b"mknodat": (_Details.SPECIAL, None),
    b"chown": (_Details.OWNER, None), b"lchown": (_Details.OWNER, None),
    b"fchownat": (_Details.OWNER, None), b"fchown": (_Details.OWNER, None),
}
# The descriptor that is written, and the argument that says where; None: at its offset.
_WRITES = {b"write": (0, None), b"writev": (0, None), b"pwrite64": (0, 3), b"pwritev": (0, 2),
           b"sendfile": (0, None), b"copy_file_range": (2, 3)}
_DUPLICATES = {b"dup", b"dup2", b"dup3", b"fcntl"}

_CHANGE = Form(Kind.CHANGE)
_FORMS = calls.FORMS | {
    # Reads both names of a link: the existing one first, then the new one.
    b"link": Form(Kind.CHANGE, path=0, path2=1),
    b"linkat": Form(Kind.CHANGE, directory=0, path=1, directory2=2, path2=3, flags=4),
    b"unlinkat": Form(Kind.CHANGE, directory=0, path=1, flags=2),
    b"utimensat": Form(Kind.CHANGE, directory=0, path=1, flags=3),
    b"futimesat": Form(Kind.CHANGE, directory=0, path=1),
    b"utimes": Form(Kind.CHANGE, path=0),
    b"utime": Form(Kind.CHANGE, path=0),
    b"fchmod": Form(Kind.CHANGE, directory=0),
    b"ftruncate": Form(Kind.CHANGE, directory=0),
} | {name: _CHANGE for name in (*_WRITES, *_DUPLICATES, b"lseek", b"umask", b"fchown",
                                b"fallocate")}

_NUMBER = re.compile(rb"-?[0-9]+")
_TIME = re.compile(rb"tv_sec=(-?[0-9]+).*?tv_[nu]sec=([0-9]+)")


def _number(argument):
    match = _NUMBER.match(argument)
    return int(match[0]) if match else 0


def _octal(argument):
    return int(argument, 8) if re.fullmatch(rb"[0-7]+", argument) else 0


def _modification_time(name, argument):
    """Of the times that a call sets; None: now. Raises Unreadable."""
    times = _TIME.findall(argument)
    if len(times) == 2:
        scale = 1 if name == b"utimensat" else 1000
        return int(times[1][0]), int(times[1][1]) * scale
    if argument == b"NULL" or argument.count(b"UTIME_NOW") == 2:
        return None
    raise calls.Unreadable(LeftOut.ANSWER_NOT_RECORDED)


class _BuildReader(calls.CallReader):
    """Follows descriptors too, since writes name no file."""

    def __init__(self, whole_calls, trace):
        super().__init__(whole_calls, trace, _FORMS)
        self._descriptions = collections.defaultdict(dict)  # by process, by descriptor
        self._umasks = {}  # by process

    def _read(self, source, form):
        name = source.name
        if name not in _WRITES and name not in _DUPLICATES and form is not _CHANGE:
            super()._read(source, form)
            return
        result = calls.parse_result(source.result)
        self._note_descriptors(source.pid, source.arguments, result)
        if not result.known or result.error:
            return
        if name in _WRITES:
            descriptor, place = _WRITES[name]
            self._write(source, descriptor, place, result.value)
        elif name in _DUPLICATES:
            self._duplicate(source, result)
        elif name == b"lseek":
            self._on_description(source, 0, Operation.SEEK, result.value)
        elif name == b"umask":
            self._umasks[source.pid] = _octal(argument_at(source.arguments, 0))
        elif name == b"fallocate" and argument_at(source.arguments, 1) == b"0":
            offset, length = (_number(argument_at(source.arguments, at)) for at in (2, 3))
            self._on_description(source, 0, Operation.WRITE, length, offset)

    def _on_description(self, source, position, operation, size, offset=None):
        number = _number(argument_at(source.arguments, position))
        description = self._descriptions[source.pid].get(number)
        descriptor = strace.parse_descriptor(argument_at(source.arguments, position))
        if description is None or not descriptor or not descriptor.path:
            return  # a pipe, a socket, a file without a name, or not open for writing
        change = Change(operation, source, 0)
        change.description = description
        change.size, change.offset = size, offset
        self._trace.calls.append(change)

    def _write(self, source, descriptor, place, count):
        where = argument_at(source.arguments, place).strip(b"[]")
        offset = int(where) if _NUMBER.fullmatch(where) else None
        self._on_description(source, descriptor, Operation.WRITE, count, offset)

    def _duplicate(self, source, result):
        if source.name == b"fcntl" and not argument_at(source.arguments, 1).startswith(b"F_DUPFD"):
            return
        self._install(source.pid, result.value, self._descriptions[source.pid].get(
            _number(argument_at(source.arguments, 0))))

    def _install(self, pid, number, description):
        """Closes are not recorded: a number that is given anew was closed before."""
        if description is None:
            self._descriptions[pid].pop(number, None)
        else:
            self._descriptions[pid][number] = description

    def _read_open(self, call, source, form, result, flags):
        if result.error == 0:
            self._install(source.pid, result.value, None)
        super()._read_open(call, source, form, result, flags)

    def _read_spawn(self, call, source, form, result, flags):
        super()._read_spawn(call, source, form, result, flags)
        if call.error == 0 and result.value > 0:
            shares = any(b"CLONE_FILES" in argument for argument in source.arguments)
            mine = self._descriptions[source.pid]
            self._descriptions[result.value] = mine if shares else dict(mine)
            self._umasks[result.value] = self._umasks.get(source.pid, _UMASK)

    def _read_change(self, call, source, form, result, flags):
        operation, place = _OPERATIONS[source.name]
        if call.error not in _ERRORS_OF_CHANGES:
            raise calls.Unreadable(LeftOut.NOT_ABOUT_PATH)
        if operation is _Details.OWNER:
            raise calls.Unreadable(LeftOut.OWNER)
        if operation is _Details.SPECIAL:
            raise calls.Unreadable(LeftOut.SPECIAL_FILE)
        change = Change(operation, source, call.error, no_follow=form.no_follow)
        change.text = call.text
        self._read_details(change, source, flags, argument_at(source.arguments, place))
        names_descriptor = form.path is None or argument_at(
            source.arguments, form.path) == b"NULL"
        change.path = (self._directory(source, form.directory) if names_descriptor else
                       self._path(source, form, form.directory, form.path))
        if form.path2 is not None:
            change.second_path = self._path(source, form, form.directory2, form.path2)
        if change.operation in (Operation.CREATE, Operation.OPEN) and call.error == 0:
            change.description = Description(b"O_APPEND" in flags)
            self._install(source.pid, result.value, change.description)
        self._trace.calls.append(change)

    def _read_details(self, change, source, flags, argument):
        operation = change.operation
        if source.name in (b"open", b"openat") and b"O_CREAT" not in flags:
            change.operation = Operation.OPEN
        if operation in (Operation.CREATE, Operation.MKDIR):
            change.mode = _octal(argument) & ~self._umasks.get(source.pid, _UMASK)
            change.exclusive = b"O_EXCL" in flags
            change.truncates = b"O_TRUNC" in flags or source.name == b"creat"
            change.no_follow = b"O_NOFOLLOW" in flags or change.exclusive
        elif operation is Operation.CHMOD:
            change.mode = _octal(argument)
        elif operation is Operation.TRUNCATE:
            change.size = _number(argument)
        elif operation is Operation.SYMLINK:
            quoted = strace.parse_quoted(argument)
            if not quoted or quoted[1]:
                raise calls.Unreadable(LeftOut.TEXT_CUT_SHORT)
            change.second_path = quoted[0]
        elif operation is Operation.UTIMES:
            change.modified = _modification_time(source.name, argument)
            change.no_follow = b"AT_SYMLINK_NOFOLLOW" in flags
        elif operation is Operation.UNLINK and b"AT_REMOVEDIR" in flags:
            change.operation = Operation.RMDIR
        elif operation is Operation.RENAME and change.error == errno.EEXIST:
            raise calls.Unreadable(LeftOut.NO_REPLACE)


def parse(text):
    """Returns the calls.Trace that `text` holds; its changes are Changes. Raises
    strace.TraceError with the line."""
    joined = strace.join_lines(text, _FORMS, calls.SPAWNING)
    trace = calls.Trace(joined)
    _BuildReader(joined.calls, trace).read_all()
    return trace
