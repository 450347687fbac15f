"""Holds each patch of tests/mutants to the code that it breaks and the test that sees it."""

import fnmatch
import re
from typing import NamedTuple

from citations import tests_of

_PATCHED_FILE = re.compile(r"^\+\+\+ b/(\S+)")
_HUNK = re.compile(r"^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@")
_RED = re.compile(r"# red: (//\S+:\S+) (\S+)$")


class Hunk(NamedTuple):
    path: str
    line: int  # of the patch
    before: list  # the lines, each with its end


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
