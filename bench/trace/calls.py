"""The calls of a trace as the replay needs them: kind, absolute path, recorded answer.

    trace = calls.load("git-null.strace.xz")
"""

import collections
import enum
import errno
import functools
import os
import re
import stat
from typing import NamedTuple

import strace


class LeftOut(enum.Enum):
    """Why a recorded call is not replayed or not compared.

    Every call left out is counted under exactly one reason, so that "0 mismatches" cannot hide what
    was never asked.
    """
    NO_PATH_BEHIND_DESCRIPTOR = "descriptor without a path (pipe, socket, deleted file)"
    TEXT_CUT_SHORT = "path cut short by strace"
    DIRECTORY_UNKNOWN = "directory of a relative path unknown"
    ANSWER_NOT_RECORDED = "answer not recorded"
    NOT_ABOUT_PATH = "empty path, or an error that says nothing about a path"
    PER_PROCESS = "another file for each process (/proc/self ...)"
    CHANGED_BY_TRACE = "path changed by the trace itself"
    CONFLICTING_ANSWERS = "conflicting recorded answers"
    SPECIAL_FILE = "device, FIFO or socket, not made through NFS"
    OWNER = "owner set, which is not compared"
    NO_REPLACE = "rename refused by RENAME_NOREPLACE"
    DIRECTORY_RENAMED = "directory renamed"
    OPEN_DECIDED_BY_TYPE = "open refused for O_NOFOLLOW or O_DIRECTORY"


class Kind(enum.Enum):
    """What a call does; the value is its name in a plan."""
    STAT = "stat"  # stat, lstat, newfstatat, statx; fstat by way of an empty path
    ACCESS = "access"  # access, faccessat, faccessat2
    READLINK = "readlink"  # readlink, readlinkat
    OPEN = "open"  # open, openat for reading
    READDIR = "getdents64"
    EXECUTE = "execve"  # known to the tree model, not replayed
    CHANGE = "change"  # a call that succeeded and changed what its path names
    CHANGE_DIRECTORY = "chdir"  # from here on: never in Trace.calls
    CHANGE_DIRECTORY_FD = "fchdir"
    WORKING_DIRECTORY = "getcwd"
    SPAWN = "clone"


class Attributes(NamedTuple):
    """Of {st_mode=S_IFREG|0644, st_size=12, ...} or statx's {stx_mode=..., stx_size=...}."""
    mode: int  # type and permission bits, as st_mode
    size: int  # None for what has none
    rdev: tuple = (0, 0)  # major, minor
    links: int = None  # None, here and below: not recorded
    modified: tuple = None  # seconds, nanoseconds


class Call:
    """One call of a trace."""
    __slots__ = ("kind", "no_follow", "must_be_directory", "access_mode", "error", "pid", "line",
                 "path", "text", "attributes")

    def __init__(self, kind, path, pid=0, line=0, error=0, no_follow=False):
        self.kind = kind
        self.no_follow = no_follow  # the last component is not followed if it is a link
        self.must_be_directory = False  # O_DIRECTORY
        self.access_mode = 0  # os.R_OK | os.W_OK | os.X_OK
        self.error = error  # errno, 0: success
        self.pid = pid
        self.line = line  # in the trace, from 1; of an unfinished call, where it ended
        # Absolute, joined from the directory and the argument as text: ".." stands for the walk to
        # resolve.
        self.path = path
        # READLINK: the link's text. OPEN, CHANGE: where the kernel says that the new descriptor
        # points to.
        self.text = b""
        self.attributes = None  # STAT that succeeded


class Trace:
    """What a trace recorded."""

    def __init__(self, joined):
        self.calls = []  # in the order of their answers
        # Paths that the kernel itself printed (-y, getcwd): nothing on them is a symbolic link,
        # except in last place behind a descriptor opened with O_PATH | O_NOFOLLOW.
        self.resolved_paths = set()
        self.lines = joined.lines
        self.stat_calls = 0  # stat, lstat, newfstatat, statx, replayable or not
        self.noent_answers = joined.noent_answers  # of calls of any kind
        self.truncated_last_lines = joined.truncated_last_lines
        self.resumed_without_start = joined.resumed_without_start
        self.left_out = collections.Counter()
        if joined.never_resumed:
            self.left_out[LeftOut.ANSWER_NOT_RECORDED] = joined.never_resumed

    def counts(self):
        """What was met in the trace, for coverage_of()."""
        return {
            "lines": self.lines,
            "stat_calls": self.stat_calls,
            "noent_answers": self.noent_answers,
            "truncated_last_lines": self.truncated_last_lines,
            "resumed_without_start": self.resumed_without_start,
        }


class Form(NamedTuple):
    """Which argument of a system call is what. None: it has no such argument."""
    kind: Kind
    directory: int = None  # descriptor that a relative path starts from
    path: int = None
    flags: int = None
    answer: int = None  # structure or text that the kernel filled in
    mode: int = None  # access mode
    directory2: int = None  # the second path of rename, which is changed too
    path2: int = None
    no_follow: bool = False  # never follows a last link, whatever the flags


def _change(path, directory=None, no_follow=True, **others):
    return Form(Kind.CHANGE, directory=directory, path=path, no_follow=no_follow, **others)


_RENAME_AT = _change(1, 0, directory2=2, path2=3)
FORMS = {
    b"stat": Form(Kind.STAT, path=0, answer=1),
    b"stat64": Form(Kind.STAT, path=0, answer=1),
    b"lstat": Form(Kind.STAT, path=0, answer=1, no_follow=True),
    b"lstat64": Form(Kind.STAT, path=0, answer=1, no_follow=True),
    b"newfstatat": Form(Kind.STAT, directory=0, path=1, flags=3, answer=2),
    b"fstatat64": Form(Kind.STAT, directory=0, path=1, flags=3, answer=2),
    b"statx": Form(Kind.STAT, directory=0, path=1, flags=2, answer=4),
    b"access": Form(Kind.ACCESS, path=0, mode=1),
    b"faccessat": Form(Kind.ACCESS, directory=0, path=1, flags=3, mode=2),
    b"faccessat2": Form(Kind.ACCESS, directory=0, path=1, flags=3, mode=2),
    b"readlink": Form(Kind.READLINK, path=0, answer=1, no_follow=True),
    b"readlinkat": Form(Kind.READLINK, directory=0, path=1, answer=2, no_follow=True),
    b"open": Form(Kind.OPEN, path=0, flags=1),
    b"openat": Form(Kind.OPEN, directory=0, path=1, flags=2),
    b"getdents64": Form(Kind.READDIR, directory=0),
    b"getdents": Form(Kind.READDIR, directory=0),
    b"execve": Form(Kind.EXECUTE, path=0),
    b"execveat": Form(Kind.EXECUTE, directory=0, path=1, flags=4),
    b"chdir": Form(Kind.CHANGE_DIRECTORY, path=0),
    b"fchdir": Form(Kind.CHANGE_DIRECTORY_FD, directory=0),
    b"getcwd": Form(Kind.WORKING_DIRECTORY, path=0),
    b"clone": Form(Kind.SPAWN),
    b"clone3": Form(Kind.SPAWN),
    b"fork": Form(Kind.SPAWN),
    b"vfork": Form(Kind.SPAWN),
    b"creat": _change(0, no_follow=False),
    b"mkdir": _change(0),
    b"mkdirat": _change(1, 0),
    b"mknod": _change(0),
    b"mknodat": _change(1, 0),
    b"rmdir": _change(0),
    b"unlink": _change(0),
    b"unlinkat": _change(1, 0),
    b"symlink": _change(1),
    b"symlinkat": _change(2, 1),
    # The existing name keeps all that is compared; only the new one changes.
    b"link": _change(1),
    b"linkat": _change(3, 2),
    b"rename": _change(0, path2=1),
    b"renameat": _RENAME_AT,
    b"renameat2": _RENAME_AT,
    b"chmod": _change(0, no_follow=False),
    b"fchmodat": _change(1, 0, no_follow=False),
    b"chown": _change(0, no_follow=False),
    b"lchown": _change(0),
    b"fchownat": _change(1, 0, no_follow=False, flags=4),
    b"truncate": _change(0, no_follow=False),
}
SPAWNING = {name for name, form in FORMS.items() if form.kind is Kind.SPAWN}

# Replayed, each of them or counted as left out.
_READ_ONLY = {Kind.STAT, Kind.ACCESS, Kind.READLINK, Kind.OPEN}
# Errors that tell something about the path, and not about the caller or its arguments.
_ERRORS_OF_PATHS = {0, errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.ELOOP, errno.ENAMETOOLONG}
_UNKNOWN_ERROR = -1

_TYPES = {b"S_IFREG": stat.S_IFREG, b"S_IFDIR": stat.S_IFDIR, b"S_IFLNK": stat.S_IFLNK,
          b"S_IFCHR": stat.S_IFCHR, b"S_IFBLK": stat.S_IFBLK, b"S_IFIFO": stat.S_IFIFO,
          b"S_IFSOCK": stat.S_IFSOCK, b"S_ISUID": stat.S_ISUID, b"S_ISGID": stat.S_ISGID,
          b"S_ISVTX": stat.S_ISVTX}
_FILE_TYPES = {bits for bits in _TYPES.values() if stat.S_IFMT(bits)}
_ACCESS_MODES = {b"R_OK": os.R_OK, b"W_OK": os.W_OK, b"X_OK": os.X_OK}


def _field(pattern):
    return re.compile(rb"(?<=[{ ])" + pattern)


_MODE = _field(rb"stx?_mode=([^,}]*)")
_SIZE = _field(rb"stx?_size=([0-9]+)")
_LINKS = _field(rb"stx?_nlink=([0-9]+)")
_MODIFIED = re.compile(rb" st_mtime=(-?[0-9]+),? .*?st_mtime_nsec=([0-9]+)")
_RDEV = re.compile(rb"rdev=makedev\(0x([0-9a-f]+), 0x([0-9a-f]+)\)")
_RESULT = re.compile(rb"(-?[0-9]+)(?: (E[A-Z0-9]+)| ?)")


class Result(NamedTuple):
    """What follows the "=" of a call."""
    known: bool = False  # False: "?", the process ended inside the call
    value: int = 0
    error: int = 0  # errno; _UNKNOWN_ERROR: a name unknown here
    descriptor: strace.Descriptor = None  # where the value is an annotated descriptor


@functools.lru_cache(maxsize=1 << 16)
def parse_result(text):
    """A Result."""
    match = _RESULT.match(text)
    if not match:
        return Result()
    value = int(match[1])
    if value == -1 and match[2]:
        return Result(True, value, getattr(errno, match[2].decode(), _UNKNOWN_ERROR))
    return Result(True, value, 0, strace.parse_descriptor(text) if b"<" in text else None)


@functools.lru_cache(maxsize=1 << 16)
def _descriptor(argument):
    return strace.parse_descriptor(argument)


@functools.lru_cache(maxsize=1 << 16)
def parse_attributes(argument):
    """Attributes, or None where the argument is no such structure."""
    mode = argument.startswith(b"{") and _MODE.search(argument)
    if not mode:
        return None
    bits = 0
    for word in mode[1].split(b"|"):
        octal = re.match(rb"[0-7]+", word)
        if word not in _TYPES and not octal:
            return None
        bits |= _TYPES[word] if word in _TYPES else int(octal[0], 8)
    if stat.S_IFMT(bits) not in _FILE_TYPES:  # no file is of this type
        return None
    size = _SIZE.search(argument)
    rdev = _RDEV.search(argument)
    links = _LINKS.search(argument)
    modified = _MODIFIED.search(argument)
    return Attributes(bits, int(size[1]) if size else None,
                      (int(rdev[1], 16), int(rdev[2], 16)) if rdev else (0, 0),
                      int(links[1]) if links else None,
                      (int(modified[1]), int(modified[2])) if modified else None)


def join_path(directory, path):
    """`path` as seen from `directory`, joined as text. ".." is kept: only a walk can resolve it."""
    if path.startswith(b"/"):
        return path
    return directory + path if directory.endswith(b"/") else directory + b"/" + path


class ProcessTable:
    """The working directory of every traced process, as far as the trace tells.

    It is known from AT_FDCWD</path> of -y and from getcwd, follows chdir and fchdir, and is handed
    to children; CLONE_FS shares it instead.
    """

    def __init__(self):
        self._directories = collections.defaultdict(lambda: [None])

    def directory(self, pid):
        """None: unknown."""
        return self._directories[pid][0]

    def set_directory(self, pid, path):
        self._directories[pid][0] = path

    def spawn(self, parent, child, shares_directory):
        directory = self._directories[parent]
        self._directories[child] = directory if shares_directory else list(directory)


class Unreadable(Exception):
    """Carries a LeftOut."""


def argument_at(arguments, position):
    inside = position is not None and position < len(arguments)
    return arguments[position] if inside else b""


class CallReader:
    """Gives whole calls their meaning."""

    def __init__(self, whole_calls, trace, forms):
        self._calls = whole_calls
        self._forms = forms
        self._trace = trace
        self._processes = ProcessTable()
        self._index = 0
        self._searched_ahead = set()

    def read_all(self):
        for self._index, source in enumerate(self._calls):
            try:
                self._read(source, self._forms[source.name])
            except Unreadable as reason:
                self._trace.left_out[reason.args[0]] += 1

    def _read(self, source, form):
        result = parse_result(source.result)
        self._note_descriptors(source.pid, source.arguments, result)
        if form.kind is Kind.STAT:
            self._trace.stat_calls += 1
        read_only = form.kind in _READ_ONLY
        if not result.known:
            if read_only:
                raise Unreadable(LeftOut.ANSWER_NOT_RECORDED)
            return
        error = result.error
        not_a_link = error == errno.EINVAL and form.kind is Kind.READLINK
        if read_only and error not in _ERRORS_OF_PATHS and not not_a_link:
            raise Unreadable(LeftOut.NOT_ABOUT_PATH)
        flags = argument_at(source.arguments, form.flags).split(b"|")
        no_follow = form.no_follow or b"AT_SYMLINK_NOFOLLOW" in flags or b"O_NOFOLLOW" in flags
        call = Call(form.kind, None, source.pid, source.line, error, no_follow)
        getattr(self, _READERS[form.kind])(call, source, form, result, flags)

    def _add(self, call, source, form):
        if call.path is None:
            call.path = self._path(source, form, form.directory, form.path)
        self._trace.calls.append(call)

    def _read_stat(self, call, source, form, result, _flags):
        call.path = self._path(source, form, form.directory, form.path)
        if result.error == 0:
            call.attributes = parse_attributes(argument_at(source.arguments, form.answer))
            if call.attributes is None:
                raise Unreadable(LeftOut.ANSWER_NOT_RECORDED)
        self._add(call, source, form)

    def _read_access(self, call, source, form, _result, _flags):
        for word in argument_at(source.arguments, form.mode).split(b"|"):
            call.access_mode |= _ACCESS_MODES.get(word, 0)
        self._add(call, source, form)

    def _read_readlink(self, call, source, form, result, _flags):
        call.path = self._path(source, form, form.directory, form.path)
        if result.error == 0:
            quoted = strace.parse_quoted(argument_at(source.arguments, form.answer))
            if not quoted:
                raise Unreadable(LeftOut.ANSWER_NOT_RECORDED)
            call.text, cut_short = quoted
            # A full buffer holds the beginning of a longer text. No link holds an empty text or a
            # NUL.
            whole = not cut_short and len(call.text) == result.value
            if not whole or not call.text or b"\0" in call.text:
                raise Unreadable(LeftOut.TEXT_CUT_SHORT)
        self._add(call, source, form)

    def _read_open(self, call, source, form, result, flags):
        if result.descriptor and result.descriptor.path:
            call.text = result.descriptor.path
        if any(flag in flags for flag in (b"O_WRONLY", b"O_RDWR", b"O_CREAT", b"O_TRUNC")):
            call.kind = Kind.CHANGE
            self._read_change(call, source, form, result, flags)
            return
        call.must_be_directory = b"O_DIRECTORY" in flags
        call.access_mode = os.F_OK if b"O_PATH" in flags else os.R_OK
        if ((call.error == errno.ELOOP and call.no_follow) or
                (call.error == errno.ENOTDIR and call.must_be_directory)):
            raise Unreadable(LeftOut.OPEN_DECIDED_BY_TYPE)
        self._add(call, source, form)

    def _read_readdir(self, call, source, form, result, _flags):
        if result.error == 0 and result.value > 0:
            call.path = self._directory(source, form.directory)
            call.no_follow = call.must_be_directory = True
            self._add(call, source, form)

    def _read_execute(self, call, source, form, _result, _flags):
        if call.error == 0:
            call.access_mode = os.X_OK
            try:
                self._add(call, source, form)
            except Unreadable:
                pass  # not replayed, so not left out

    def _read_change(self, call, source, form, _result, _flags):
        if call.error != 0:
            return
        for directory, path in ((form.directory, form.path), (form.directory2, form.path2)):
            if path is None:
                continue
            try:
                changed = Call(Kind.CHANGE, self._path(source, form, directory, path), call.pid,
                               call.line, no_follow=call.no_follow)
            except Unreadable:
                continue  # a path that cannot be told changes nothing that is told either
            changed.text = call.text
            self._trace.calls.append(changed)

    def _read_spawn(self, call, source, _form, result, _flags):
        if call.error == 0 and result.value != 0:
            shares = any(b"CLONE_FS" in argument for argument in source.arguments)
            self._processes.spawn(source.pid, result.value, shares)

    def _read_directory(self, call, source, form, _result, _flags):
        if call.error != 0:
            return
        try:
            if form.kind is Kind.CHANGE_DIRECTORY_FD:
                path = self._directory(source, form.directory)
            else:
                path = self._path(source, form, form.directory, form.path)
        except Unreadable:
            path = None  # the directory is unknown rather than wrong
        self._processes.set_directory(source.pid, path)
        if form.kind is Kind.WORKING_DIRECTORY and path:
            self._trace.resolved_paths.add(path)

    def _path(self, source, form, directory, path):
        """What the arguments at these positions name."""
        quoted = strace.parse_quoted(argument_at(source.arguments, path))
        if not quoted:
            raise Unreadable(LeftOut.NOT_ABOUT_PATH)
        text, cut_short = quoted
        if cut_short:
            raise Unreadable(LeftOut.TEXT_CUT_SHORT)
        if b"\0" in text:  # no system call can have been given this
            raise Unreadable(LeftOut.NOT_ABOUT_PATH)
        if text.startswith(b"/"):
            return text
        base = self._directory(source, directory)
        if text:
            return join_path(base, text)
        # The descriptor itself. Without the flag an empty path is no path.
        if b"AT_EMPTY_PATH" not in argument_at(source.arguments, form.flags).split(b"|"):
            raise Unreadable(LeftOut.NOT_ABOUT_PATH)
        return base

    def _directory(self, source, position):
        descriptor = _descriptor(argument_at(source.arguments, position))
        if descriptor and descriptor.path:
            return descriptor.path
        if descriptor and descriptor.annotated:
            raise Unreadable(LeftOut.NO_PATH_BEHIND_DESCRIPTOR)
        if position is not None and not (descriptor and descriptor.working_directory):
            raise Unreadable(LeftOut.DIRECTORY_UNKNOWN)
        if self._processes.directory(source.pid) is None:
            self._search_ahead(source.pid)
        working = self._processes.directory(source.pid)
        if working is None:
            raise Unreadable(LeftOut.DIRECTORY_UNKNOWN)
        return working

    def _search_ahead(self, pid):
        """Looks for what this process says of its working directory before it changes it."""
        if pid in self._searched_ahead:
            return
        self._searched_ahead.add(pid)
        for index in range(self._index, len(self._calls)):
            call = self._calls[index]
            if call.pid != pid:
                continue
            kind = self._forms[call.name].kind
            if kind in (Kind.CHANGE_DIRECTORY, Kind.CHANGE_DIRECTORY_FD):
                return
            self._note_descriptors(pid, call.arguments, Result())
            quoted = kind is Kind.WORKING_DIRECTORY and strace.parse_quoted(
                argument_at(call.arguments, 0))
            if quoted and not quoted[1] and quoted[0].startswith(b"/") and b"\0" not in quoted[0]:
                self._processes.set_directory(pid, quoted[0])
            if self._processes.directory(pid) is not None:
                return

    def _note_descriptors(self, pid, arguments, result):
        for argument in arguments:
            descriptor = _descriptor(argument) if b"<" in argument else None
            if descriptor and descriptor.path:
                self._trace.resolved_paths.add(descriptor.path)
                if descriptor.working_directory:
                    self._processes.set_directory(pid, descriptor.path)
        if result.descriptor and result.descriptor.path:
            self._trace.resolved_paths.add(result.descriptor.path)


# By name, so that a reader that knows more can read some in its own way.
_READERS = {
    Kind.STAT: "_read_stat",
    Kind.ACCESS: "_read_access",
    Kind.READLINK: "_read_readlink",
    Kind.OPEN: "_read_open",
    Kind.READDIR: "_read_readdir",
    Kind.EXECUTE: "_read_execute",
    Kind.CHANGE: "_read_change",
    Kind.SPAWN: "_read_spawn",
    Kind.CHANGE_DIRECTORY: "_read_directory",
    Kind.CHANGE_DIRECTORY_FD: "_read_directory",
    Kind.WORKING_DIRECTORY: "_read_directory",
}


def parse(text):
    """Returns the Trace that `text` holds. Raises strace.TraceError with the line."""
    joined = strace.join_lines(text, FORMS, SPAWNING)
    trace = Trace(joined)
    CallReader(joined.calls, trace, FORMS).read_all()
    return trace


def load(file, parse_text=parse):
    """Reads and parses a file, plain or .xz. The text of a strace.TraceError begins with its
    name."""
    text = strace.read_text(file)
    try:
        return parse_text(text)
    except strace.TraceError as error:
        raise strace.TraceError(f"{file}, {error}") from None
