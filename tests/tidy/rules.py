"""The rules of CONTRIBUTING.md that a machine can check. A rule takes a Tree and yields Violations."""

import posixpath
import re
from typing import NamedTuple

import citations
import mutants
import walk_steps
from source_text import cxx_code, cxx_functions, python_functions

FILE_LINES_MAX = 600
FUNCTION_LINES_MAX = 70
PARTNER_LINES = 3  # how far from an ordered access its comment may be

# A folder includes itself and what stands before it.
LAYERS = ["third_party", "rcu", "threads", "sunrpc_auth", "access_cache", "nfsclient/memory", "nfsclient/protocol",
          "nfsclient/rpc", "nfsclient/nfs3",
          "nfsclient/nfs4", "nfsclient/icache", "nfsclient/vfs", "nfsclient/superblock", "nfsclient/nfs",
          "nfsclient/ahead", "nfsclient/walk", "nfsclient/data", "nfsclient", "nfsclient/api", "nfsclient/c_api",
          "nfsclient/mount", "nfsclient/cli"]
# Names and contents do not know each other.
STRANGERS = {"nfsclient/walk", "nfsclient/data"}
ABOVE_ALL = ["tests", "bench", "docs"]
FIXTURES = "tests/fixtures/"
# All that the command may include of the client (docs/architecture.md), besides what a file needs that
# speaks to a server by itself.
COMMAND = "nfsclient/cli"
COMMAND_INCLUDES = {"nfsclient/client.h"}
# Folders of which the command may include all headers, besides COMMAND_INCLUDES.
COMMAND_FOLDERS = {"nfsclient/mount", "threads"}
COMMAND_EXCEPTIONS = {
    "nfsclient/cli/doctor/server_examination.h": {"nfsclient/api/connect.h", "nfsclient/protocol/protocol.h"},
    "nfsclient/cli/doctor/doctor_advice.cc": {"sunrpc_auth/auth_body.h"},
    "nfsclient/cli/copy/copy_source.cc": {"nfsclient/protocol/wire_limits.h"},
    "nfsclient/cli/copy/export_copy.cc": {"nfsclient/protocol/wire_limits.h"},
    "nfsclient/cli/copy/file_acl.cc": {"nfsclient/nfs4/acl.h", "nfsclient/protocol/posix_acl.h"},
    "nfsclient/cli/show/acl_text.cc": {"nfsclient/nfs4/acl.h", "nfsclient/protocol/posix_acl.h"},
    "nfsclient/cli/copy/local_copy.cc": {"nfsclient/protocol/wire_limits.h"},
}
# Headers of a library -> the folders that may include them, and their tests.
LIBRARY_HOMES = {"nfsc/": ("nfsclient/rpc", "nfsclient/nfs3", "nfsclient/nfs4"), "rpc/": ("sunrpc_auth",),
                 "tirpc/": ("sunrpc_auth",), "urcu": ("rcu",), "fuse3/": ("nfsclient/mount",)}

# A clause, or a comment that cannot be understood without the one before it.
_NO_SUBJECT = re.compile(r"(?://|#) ?(?:Of|What|Where|Those|That|The same|Others|Both)\b")
# As above, in the name of a test.
_CLAUSE = re.compile(r"TEST(?:_P|_F)?\(\w+, (?:Of|What|Who|Whose|Where|Which|Those|That)(?=[A-Z])")
# Words of no subject that a reader could look for, and of no state that the code has.
_NO_TERM = re.compile(r"\b(?:(?:nobody|somebody|anybody) [a-z]+|in (?:vain|doubt)|v(?:ouch|ouches|ouched))\b",
                      re.IGNORECASE)
_VAGUE = {"util", "utils", "common", "misc", "helper", "helpers", "manager", "managers"}
# In pieces, or this file would violate them.
_UNFINISHED = re.compile(r"\b(" + "|".join(["TO" "DO", "FIX" "ME", "X" "XX", "HA" "CK"]) + r")\b")
_MACHINE_PATH = re.compile(r"/wo" r"rk/|\.\./sha" r"red")
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]')
_ORDERED = re.compile(
    r"memory_order(?:_|::)(?:acquire|release|acq_rel|seq_cst|consume)"
    r"|atomic_thread_fence|atomic_signal_fence|cmm_smp_\w*mb")
_PARTNER = re.compile(r"pairs with|\bO\d+\b", re.IGNORECASE)
_SLEEP = re.compile(r"\b(?:sleep_for|sleep_until|u?sleep|nanosleep|clock_nanosleep)\s*\("
                    r"|\bpoll\(\s*nullptr|\bselect\(\s*0\s*,")
# Scripts of CI and of the night, and the targets that they ask Bazel for: //a/{b,c}/..., //a:b.
_SCRIPTS = (".ci/suites", "tests/nightly.sh", "tests/fuzz/guided.sh")
_PATTERN = re.compile(r"(?<![\w:/])//(\w[\w/{},-]*?)(/\.\.\.|:\w+|(?=[\s)\"']|$))")
_LINK = re.compile(r"\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)")


class Violation(NamedTuple):
    path: str
    line: int
    rule: str
    message: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.rule}: {self.message}"


class Tree:
    """The files of a checkout: {path from the root: text}, and paths that are no text files."""

    def __init__(self, files, lockfree_files=(), other_paths=()):
        self.files = files
        self.lockfree_files = list(lockfree_files)
        self.other_paths = set(other_paths)
        self.code = {path: cxx_code(text) for path, text in self.cxx()}

    def cxx(self):
        return [(path, text) for path, text in self.files.items() if path.endswith((".cc", ".h"))]

    def exists(self, path):
        return (path in self.files or path in self.other_paths or
                any(known.startswith(path + "/") for known in [*self.files, *self.other_paths]))


def _layer(path):
    """(place in LAYERS, name) of the folder `path` is in; the place is None outside of all."""
    for folder in sorted(LAYERS, key=len, reverse=True):
        if path.startswith(folder + "/"):
            return LAYERS.index(folder), folder
    folder = path.split("/")[0]
    return (len(LAYERS) if folder in ABOVE_ALL else None), folder


def _includes(tree, path):
    """(line number, '<' or '"', what) of each include. The code tells comments apart, the text names."""
    lines = zip(tree.code[path].splitlines(), tree.files[path].splitlines())
    for number, (code, line) in enumerate(lines, 1):
        match = _INCLUDE.match(line)
        if match and code.lstrip().startswith("#"):
            yield number, match.group(1), match.group(2)


def file_size(tree):
    for path, text in tree.files.items():
        lines = text.count("\n")
        if path.endswith((".cc", ".h", ".py", ".sh")) and lines > FILE_LINES_MAX:
            yield Violation(path, lines, "file-size", f"{lines} lines, at most {FILE_LINES_MAX}")


def function_size(tree):
    for path, text in tree.files.items():
        find = {".cc": cxx_functions, ".h": cxx_functions, ".py": python_functions}.get(
            posixpath.splitext(path)[1])
        for first, last in find(text) if find else []:
            if last - first + 1 > FUNCTION_LINES_MAX:
                yield Violation(path, first, "function-size",
                                f"{last - first + 1} lines, at most {FUNCTION_LINES_MAX}")


def include_direction(tree):
    for path, _ in tree.cxx():
        place, folder = _layer(path)
        for line, bracket, header in _includes(tree, path):
            if bracket == "<" or _layer(header)[0] is None and "/" in header:
                continue  # a library's
            if header not in tree.files:
                yield Violation(path, line, "include-direction",
                                f'"{header}" is not a file; include by the path from the root')
                continue
            above, other = _layer(header)
            if place is None or above is None or above > place or {folder, other} == STRANGERS:
                yield Violation(path, line, "include-direction", f"{folder} may not include {other}")
            elif path.startswith(FIXTURES) and header.startswith("tests/") and not header.startswith(FIXTURES):
                yield Violation(path, line, "include-direction", f"a fixture may not include a test's {header}")


def command_includes(tree):
    for path, _ in tree.cxx():
        if not path.startswith(COMMAND + "/"):
            continue
        allowed = COMMAND_INCLUDES | COMMAND_EXCEPTIONS.get(path, set())
        for line, bracket, header in _includes(tree, path):
            _, folder = _layer(header)
            inside = folder in LAYERS and folder != COMMAND and folder not in COMMAND_FOLDERS
            if bracket == '"' and inside and header not in allowed:
                yield Violation(path, line, "command-includes",
                                f'"{header}": the command includes nfsclient/client.h')


def library_home(tree):
    for path, _ in tree.cxx():
        for line, bracket, header in _includes(tree, path):
            for prefix, homes in LIBRARY_HOMES.items():
                if (bracket == "<" and header.startswith(prefix) and
                        not re.match(rf"(tests/\w+/)?(?:{'|'.join(homes)})/", path)):
                    yield Violation(path, line, "library-home", f"<{header}> belongs to {' or '.join(homes)}")


def lockfree_list(tree):
    using = {path for path, code in tree.code.items() if "memory_order" in code}
    for path in sorted(using - set(tree.lockfree_files)):
        line = tree.code[path][:tree.code[path].index("memory_order")].count("\n") + 1
        yield Violation(path, line, "lockfree-list",
                        "names a memory_order but is not in tests/tidy/lockfree_files.txt")
    for path in sorted(set(tree.lockfree_files) - using):
        yield Violation(path, 1, "lockfree-list",
                        "is in tests/tidy/lockfree_files.txt but names no memory_order")


def ordering_partner(tree):
    for path, text in tree.cxx():
        if path.startswith("tests/"):
            continue
        lines = text.splitlines()
        for number, code in enumerate(tree.code[path].splitlines(), 1):
            near = lines[max(0, number - 1 - PARTNER_LINES):number + PARTNER_LINES]
            if _ORDERED.search(code) and not any(_PARTNER.search(line) for line in near):
                yield Violation(path, number, "ordering-partner",
                                f'no "pairs with ..." within {PARTNER_LINES} lines')


def vague_name(tree):
    for path in tree.files:
        for part in path.split("/"):
            for word in _VAGUE & set(re.split(r"[_.\-]", part.lower())):
                yield Violation(path, 1, "vague-name", f'"{word}" says nothing; name what it does')


def comment_subject(tree):
    for path, text in tree.files.items():
        if path.endswith((".cc", ".h", ".c")):
            mark = "//"
        elif path.endswith((".py", ".sh", ".bzl", "BUILD")) or path in _SCRIPTS:
            mark = "#"
        else:
            continue
        before = ""
        for number, line in enumerate(text.splitlines(), 1):
            line = line.strip()
            if before in ("", mark) and line.startswith(mark) and _NO_SUBJECT.match(line):
                yield Violation(path, number, "comment-subject", "begin with a verb or a noun of the code")
            before = line if line.startswith(mark) else ""


def test_name(tree):
    for path, text in tree.cxx():
        for number, line in enumerate(text.splitlines(), 1):
            if _CLAUSE.match(line):
                yield Violation(path, number, "test-name", "begin with the subject of the behaviour")


def _lines_matching(pattern, rule, message):
    """The rule that no line of any file matches `pattern`."""
    def violations(tree):
        for path, text in tree.files.items():
            for number, line in enumerate(text.splitlines(), 1):
                if pattern.search(line):
                    yield Violation(path, number, rule, message)
    return violations


def dead_file(tree):
    for path, _ in tree.cxx():
        folder, name = posixpath.split(path)
        build = posixpath.join(folder, "BUILD")
        text = tree.files.get(build, "")
        names = [name]
        # A comprehension, or a macro for what is named after its file, adds the ends.
        if name.endswith("_test.cc") and (" for " in text or "nfswalk_test" in text):
            names += [name.removesuffix(".cc"), name.removesuffix("_test.cc")]
        elif "nfswalk_library" in text:
            names.append(posixpath.splitext(name)[0])
        if not any(f'"{known}"' in text for known in names):
            yield Violation(path, 1, "dead-file", f"{build} does not name it")


def test_sleep(tree):
    for path, code in tree.code.items():
        if not path.startswith("tests/"):
            continue
        for number, line in enumerate(code.splitlines(), 1):
            if _SLEEP.search(line):
                yield Violation(path, number, "test-sleep", "wait for the event, not for time")


def broken_link(tree):
    for path, text in tree.files.items():
        if not path.endswith(".md"):
            continue
        for number, line in enumerate(text.splitlines(), 1):
            for target in _LINK.findall(line):
                name = target.split("#")[0]
                if not name or re.match(r"[a-z]+:", name):
                    continue
                found = posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
                if not tree.exists(found):
                    yield Violation(path, number, "broken-link", f"{target} leads nowhere")


def _expanded(pattern):
    """What a shell makes of {a,b}."""
    match = re.search(r"\{([^{}]*)\}", pattern)
    if not match:
        return [pattern]
    return [whole for part in match.group(1).split(",")
            for whole in _expanded(pattern[:match.start()] + part + pattern[match.end():])]


def script_target(tree):
    for path in _SCRIPTS:
        for number, line in enumerate(tree.files.get(path, "").splitlines(), 1):
            for pattern, end in _PATTERN.findall(line.split("# ")[0]):
                for folder in _expanded(pattern):
                    below = end == "/..."
                    if not any(known == f"{folder}/BUILD" or
                               below and known.startswith(folder + "/") and known.endswith("/BUILD")
                               for known in tree.files):
                        yield Violation(path, number, "script-target", f"//{folder} is no package")


def _found_by(find, rule):
    """The rule that `find` yields no (path, line, message)."""
    return lambda tree: (Violation(path, line, rule, message) for path, line, message in find(tree))


RULES = [
    file_size, function_size, include_direction, command_includes, library_home, lockfree_list,
    ordering_partner, vague_name, comment_subject, test_name, dead_file, test_sleep, broken_link,
    script_target,
    _lines_matching(_UNFINISHED, "unfinished", "finish it, or open an issue"),
    _lines_matching(_NO_TERM, "no-term", "name the caller, the thread, the user, or the state"),
    _lines_matching(_MACHINE_PATH, "machine-path", "a path of one machine"),
    _found_by(citations.named_tests, "named-test"), _found_by(citations.named_files, "named-file"),
    _found_by(citations.named_targets, "named-target"),
    _found_by(citations.named_options, "named-option"),
    _found_by(citations.rules, "rule-citation"),
    _found_by(citations.unshipped, "unshipped-citation"),
    _found_by(citations.letters, "letter-citation"), _found_by(mutants.mutants, "mutant"),
    _found_by(walk_steps.walk_steps, "walk-steps")]


def check(tree, exceptions=()):
    """Violations of `tree`. An exception is (rule, path); one that excepts nothing is a violation."""
    found = [violation for rule in RULES for violation in rule(tree)]
    used = {(violation.rule, violation.path) for violation in found} & set(exceptions)
    left = [violation for violation in found if (violation.rule, violation.path) not in used]
    left += [Violation(path, 1, "unused-exception", f"tests/tidy/limits.txt excepts it from {rule}")
             for rule, path in exceptions if (rule, path) not in used]
    return sorted(left)
