"""Rules that hold the documents to the tests they name."""

import re

# `Suite.Case` or `Suite.*` in a document; what it says is proven ends with the test it names.
_NAMED_TEST = re.compile(r"`([A-Z]\w*)\.([A-Z]\w*|\*)`")
_TEST = re.compile(r"\b(?:TEST|TEST_F|TEST_P|TYPED_TEST|TYPED_TEST_P)\(\s*(\w+),\s*(\w+)\)")
# The class tells a suite from the other dotted names that documents are full of.
_SUITE_END = re.compile(r"(Test|Race|Bugs|Stress|Walk|Faults|Exits|Oracle)\w*$")


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
