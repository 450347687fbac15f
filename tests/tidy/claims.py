"""Rules that hold the documents and the mutants to the tests they name."""

import fnmatch
import re
from typing import NamedTuple

# `Suite.Case` or `Suite.*` in a document; what it says is proven ends with the test it names.
_NAMED_TEST = re.compile(r"`([A-Z]\w*)\.([A-Z]\w*|\*)`")
_TEST = re.compile(r"\b(?:TEST|TEST_F|TEST_P|TYPED_TEST|TYPED_TEST_P)\(\s*(\w+),\s*(\w+)\)")
# The class tells a suite from the other dotted names that documents are full of.
_SUITE_END = re.compile(r"(Test|Race|Bugs|Stress|Walk|Faults|Exits|Oracle)\w*$")
_PATCHED_FILE = re.compile(r"^\+\+\+ b/(\S+)")
_HUNK = re.compile(r"^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@")
_RED = re.compile(r"# red: (//\S+:\S+) (\S+)$")


class Hunk(NamedTuple):
    path: str
    line: int  # of the patch
    before: list  # the lines, each with its end


def tests_of(tree):
    """{suite: {case}} of every GoogleTest case."""
    suites = {}
    for path, text in tree.cxx():
        if path.startswith(("tests/", "bench/")):
            for suite, case in _TEST.findall(text):
                suites.setdefault(suite, set()).add(case)
    return suites


def named_test(tree):
    suites = tests_of(tree)
    for path, text in tree.files.items():
        if not (path.startswith("docs/") and path.endswith(".md")):
            continue
        for number, line in enumerate(text.splitlines(), 1):
            for suite, case in _NAMED_TEST.findall(line):
                cases = suites.get(suite, set())
                if case in cases or (cases and case == "*"):
                    continue
                if cases or _SUITE_END.search(suite):
                    yield path, number, f"there is no test {suite}.{case}"


def hunks_of(patch):
    """What each hunk of a unified diff expects to find."""
    target, hunks = "", []
    for number, line in enumerate(patch.splitlines(), 1):
        if match := _PATCHED_FILE.match(line):
            target = match.group(1)
        elif _HUNK.match(line):
            hunks.append(Hunk(target, number, []))
        elif line.startswith(("diff ", "index ", "--- ", "#")):
            continue
        elif hunks and line[:1] in ("", " ", "-"):
            hunks[-1].before.append(line[1:] + "\n")
    return hunks


def seen_by(test_filter, suites):
    """Whether there is a test for a filter of GoogleTest, as far as parameters let one say."""
    without_parameter = re.sub(r"\*[^*]*$", "*", test_filter)
    return any(suite in test_filter or
               any(fnmatch.fnmatchcase(f"{suite}.{case}", without_parameter) for case in cases)
               for suite, cases in suites.items())


def mutants(tree):
    suites = tests_of(tree)
    for path, text in tree.files.items():
        if not (path.startswith("tests/mutants/") and path.endswith(".patch")):
            continue
        red = _RED.match(text.splitlines()[0]) if text else None
        if not red:
            yield path, 1, 'must begin with "# red: //label filter"'
        elif not seen_by(red.group(2), suites):
            yield path, 1, f"no test matches {red.group(2)}"
        for hunk in hunks_of(text):
            if "".join(hunk.before) not in tree.files.get(hunk.path, ""):
                yield path, hunk.line, f"does not apply to {hunk.path} any more"
