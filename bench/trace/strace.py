"""Lines of `strace -f -y`, put together into whole calls.

    21893 openat(AT_FDCWD</src>, "a", O_RDONLY) = 3</src/a>
    pid   name   arguments                        result

Also understood: no pid column (strace without -f), "[pid 123]", time stamps of -t, -tt, -ttt and
-r, the time spent of -T. strace -f prints a call that another process interrupts in two halves.
Here it appears once, where its answer stands; only calls that make a process appear where they
begin, because the child's own lines may come before the parent's answer.
"""

import lzma
import re
from typing import NamedTuple

# The most that a trace may unpack to: a bound for damaged and malicious files.
TRACE_BYTES_MAX = 4 << 30
_CHUNK_BYTES = 1 << 20
_XZ_MAGIC = b"\xfd7zXZ\0"


class TraceError(Exception):
    """A sentence that names the line, or the file, and what is wrong with it."""


class WholeCall(NamedTuple):
    """A call of a system call that the caller of join_lines() knows."""
    name: bytes
    pid: int  # 0: the line has none
    line: int  # from 1, where the call ended
    arguments: list  # between top-level commas, without spaces around them
    result: bytes  # what follows "= "


class JoinedLines:
    """The calls of a trace, and what was met besides."""

    def __init__(self):
        self.calls = []
        self.lines = 0
        self.recognised = 0
        self.noent_answers = 0
        self.truncated_last_lines = 0  # 1 if the last line stops in the middle; it is ignored
        self.resumed_without_start = 0  # strace attached while the call was in flight
        self.never_resumed = 0  # of the known calls, those that make a process excepted


def read_text(file):
    """Returns the whole text of a trace file, plain or .xz, told apart by the first bytes."""
    try:
        with open(file, "rb") as stream:
            chunks = []
            while chunk := stream.read(_CHUNK_BYTES):
                chunks.append(chunk)
                if len(chunks) * _CHUNK_BYTES > TRACE_BYTES_MAX:
                    raise TraceError(f"{file}: larger than {TRACE_BYTES_MAX} bytes")
    except OSError as error:
        raise TraceError(f"{file}: cannot read: {error.strerror}") from error
    raw = b"".join(chunks)
    return _unpack(file, raw) if raw.startswith(_XZ_MAGIC) else raw


def _unpack(file, packed):
    """Unpacks .xz streams that stand one behind the other."""
    chunks = []
    while packed:
        stream = lzma.LZMADecompressor(lzma.FORMAT_XZ)
        while not stream.eof:
            try:
                chunk = stream.decompress(packed, _CHUNK_BYTES)
            except lzma.LZMAError as error:
                raise TraceError(f"{file}: damaged .xz data: {error}") from error
            if not chunk and stream.needs_input and not stream.eof:
                raise TraceError(
                    f"{file}: ends in the middle of the compressed data (truncated .xz)")
            packed = b""
            chunks.append(chunk)
            if len(chunks) * _CHUNK_BYTES > TRACE_BYTES_MAX:
                raise TraceError(f"{file}: unpacks to over {TRACE_BYTES_MAX} bytes")
        packed = stream.unused_data.lstrip(b"\0")  # stream padding
    return b"".join(chunks)


# Matches what -y prints behind a descriptor number or AT_FDCWD. strace writes < and > inside a name as
# octal escapes; -yy nests one pair: </dev/null<char 1:3>>. The arrow of "TCP:[1.2.3.4:5->...]"
# closes nothing.
_ANNOTATION_TEXT = rb"(?:[^<>-]++|->(?=[\[0-9A-Fa-f])|-)*+"
_ANNOTATION = rb"<%b(?:<%b>%b)*+" % ((_ANNOTATION_TEXT,) * 3)
# A string or an annotation, closed or running to the end of the text; or a separator.
_TOKEN = re.compile(
    rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)'
    rb"|(?:(?<=[0-9])|(?<=AT_FDCWD))(?!<<|<\Z)" + _ANNOTATION + rb"(?:>|\Z)"
    rb"|[][(){},]", re.DOTALL)


def split_call(text):
    """Splits what follows the opening parenthesis of a call: (arguments, result)."""
    arguments = []
    begin = depth = 0
    for token in _TOKEN.finditer(text):
        mark = token[0]
        if mark == b",":
            if depth == 0:
                arguments.append(text[begin:token.start()].strip(b" "))
                begin = token.end()
        elif mark in (b"(", b"[", b"{"):
            depth += 1
        elif mark == b")" and depth == 0:
            break
        elif mark in (b")", b"]", b"}"):
            depth -= 1
    else:
        raise TraceError('expected the closing ")" of the call')
    last = text[begin:token.start()].strip(b" ")
    if last or arguments:
        arguments.append(last)
    result = text[token.end():].lstrip(b" ")
    if not result.startswith(b"= ") or len(result) < 3:
        raise TraceError('expected "= RESULT" after the arguments')
    return arguments, result[2:]


_ESCAPE = re.compile(rb"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|(.))", re.DOTALL)
_SIMPLE_ESCAPES = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"v": b"\v", b"f": b"\f", b"a": b"\a",
                   b"b": b"\b", b"e": b"\033"}


def _unescape_one(match):
    octal, hexadecimal, other = match.groups()
    if other is not None:
        return _SIMPLE_ESCAPES.get(other, other)
    return bytes([(int(octal, 8) if octal else int(hexadecimal, 16)) & 0xff])


def unescape(text):
    """Undoes the escapes of strace: \\n, \\", \\\\, \\33, \\x1b ..."""
    return _ESCAPE.sub(_unescape_one, text) if b"\\" in text else text


_QUOTED = re.compile(rb'"((?:[^"\\]++|\\.)*+)"(\.\.\.)?', re.DOTALL)


def parse_quoted(argument):
    """(bytes, whether strace cut the text short), or None where it is no string (NULL, an
    address)."""
    match = _QUOTED.match(argument)
    return match and (unescape(match[1]), match[2] is not None)


class Descriptor(NamedTuple):
    """What -y says of a descriptor: 3</usr/lib>, AT_FDCWD</src>, 4<pipe:[17]>."""
    working_directory: bool  # AT_FDCWD
    annotated: bool
    path: bytes  # of an existing file, or None


_DESCRIPTOR = re.compile(rb"(AT_FDCWD|-?[0-9]+)(?:\Z|(?:<(%b)(?:<%b>%b)*+>(.*))|(?=<))" %
                         ((_ANNOTATION_TEXT,) * 3), re.DOTALL)


def parse_descriptor(argument):
    """A Descriptor, or None where the argument is neither a number nor AT_FDCWD."""
    match = _DESCRIPTOR.match(argument)
    if not match:
        return None
    number, inside, behind = match.groups()
    path = None
    if inside and inside.startswith(b"/"):
        deleted = behind.startswith(b"(deleted)") or inside.endswith(b" (deleted)")
        path = None if deleted else unescape(inside)
    if path and b"\0" in path:  # no path holds it
        path = None
    return Descriptor(number == b"AT_FDCWD", inside is not None, path)


_HEAD = re.compile(rb"(?:\[pid *([0-9]+)\]? +| *([0-9]+) +)?"  # the pid
                   rb"(?:(?=[+:.]*[0-9])[+0-9:.]+ +)?")  # 12:34:56.789, 1700000000.123, +0.1
_CALL = re.compile(rb"([A-Za-z_][A-Za-z_0-9]*)\((.*)", re.DOTALL)
_RESUMED = re.compile(rb"<\.\.\. (.*?) resumed>(.*)", re.DOTALL)
_EVENTS = (b"--- ", b"+++ ", b"strace: ")  # a signal, an exit, a remark of strace's own
_UNFINISHED = b"<unfinished ...>"
# A thread that executes a program takes over the pid of its process.
_PID_CHANGED = re.compile(rb"(.*)<pid changed to ([0-9]+) \.\.\.>", re.DOTALL)


def _excerpt(text):
    shown = "".join(chr(byte) if 0x20 <= byte < 0x7f else "?" for byte in text[:60])
    return shown + "..." if len(text) > 60 else shown


class _Half(NamedTuple):
    name: bytes
    arguments: bytes
    slot: int  # in JoinedLines.calls, of a call that makes a process; else None


class _LineJoiner:
    def __init__(self, known, spawning):
        self.joined = JoinedLines()
        self._known = known
        self._spawning = spawning
        self._halves = {}  # by process, which can be inside one call only

    def add(self, text, number):
        """Raises TraceError without the line number."""
        head = _HEAD.match(text)
        pid = int(head[1] or head[2] or 0)
        rest = text[head.end():].rstrip(b" \r")
        if rest.startswith(_EVENTS):
            pass
        elif rest.startswith(b"<... "):
            self._resume(pid, rest, number)
        else:
            self._begin_or_add(pid, rest, number)
        self.joined.recognised += 1

    def _begin_or_add(self, pid, rest, number):
        call = _CALL.match(rest)
        if not call:
            raise TraceError('expected "PID CALL(ARGUMENTS) = RESULT" as strace -f -y writes it, '
                             f'got "{_excerpt(rest)}"')
        name, rest = call.groups()
        if rest.endswith(_UNFINISHED):
            self._begin(pid, name, rest.removesuffix(_UNFINISHED), number)
        elif changed := _PID_CHANGED.fullmatch(rest):
            self._begin(int(changed[2]), name, changed[1], number)
        else:
            self._add_call(name, pid, number, rest, None)

    def _begin(self, pid, name, arguments, number):
        slot = None
        if name in self._spawning:
            slot = len(self.joined.calls)
            self.joined.calls.append(None)
        # A thread that was in a call when another one executed a program never returns from it.
        self._count_never_resumed(self._halves.pop(pid, None))
        self._halves[pid] = _Half(name, arguments.rstrip(b" "), slot)

    def _resume(self, pid, rest, number):
        resumed = _RESUMED.match(rest)
        if not resumed:
            raise TraceError('expected "<... NAME resumed>"')
        half = self._halves.pop(pid, None)
        if half is None:
            self.joined.resumed_without_start += 1
            return
        if half.name != resumed[1]:
            raise TraceError(f"expected process {pid} to resume {half.name.decode()}, not "
                             + resumed[1].decode(errors="replace"))
        self._add_call(half.name, pid, number, half.arguments + resumed[2], half.slot)

    def _add_call(self, name, pid, number, text, slot):
        arguments, result = split_call(text)
        if result.startswith(b"-1 ENOENT"):
            self.joined.noent_answers += 1
        if name not in self._known:
            return
        call = WholeCall(name, pid, number, arguments, result)
        if slot is None:
            self.joined.calls.append(call)
        else:
            self.joined.calls[slot] = call

    def _count_never_resumed(self, half):
        if half and half.name in self._known and half.name not in self._spawning:
            self.joined.never_resumed += 1

    def finish(self):
        for half in self._halves.values():
            self._count_never_resumed(half)
        self.joined.calls = [call for call in self.joined.calls if call]
        return self.joined


def join_lines(text, known, spawning):
    """Returns the calls of a trace whose names are in `known`; those in `spawning` make a process.

    Every line must be one of strace's, known or not. Raises TraceError with the line number; a
    text without a single line of strace is an error too.
    """
    joiner = _LineJoiner(known, spawning)
    joined = joiner.joined
    lines = text.removesuffix(b"\n").split(b"\n") if text else []
    joined.lines = len(lines)
    for number, line in enumerate(lines, 1):
        if not line.strip(b" \r"):
            continue
        try:
            joiner.add(line, number)
        except TraceError as error:
            if number != len(lines) or joined.recognised == 0:
                raise TraceError(f"line {number}: {error}") from None
            joined.truncated_last_lines += 1
    if joined.recognised == 0:
        raise TraceError('line 1: expected "PID CALL(ARGUMENTS) = RESULT" as strace -f -y writes '
                         "it, got an empty file")
    return joiner.finish()
