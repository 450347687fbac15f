"""Holds the tables of mutants to the code that they break and to the tests that see it."""

import fnmatch
import re

import mutant_table
from citations import tests_of


def _selects(pattern, suite, case):
    """Whether a pattern of --test_filter selects the test; names of parameters are taken on trust."""
    names = (f"{suite}.{case}", f"_/{suite}.{case}/_", f"{suite}/_.{case}", f"_/{suite}/_.{case}")
    pattern = re.sub(r"/\w+$", "/*", re.sub(r"^\w+/", "*/", pattern))
    stars = [at for at, symbol in enumerate(pattern) if symbol == "*"]
    known = [pattern, *(pattern[:at + 1] for at in stars if "." in pattern[:at])]
    return any(fnmatch.fnmatchcase(name, one) for name in names for one in known)


def _has_test(suites, test_filter):
    return all(any(_selects(pattern, suite, case) for suite, cases in suites.items() for case in cases)
               for pattern in test_filter.split(":"))


def _has_target(tree, label):
    folder, _, name = label.removeprefix("//").partition(":")
    text = tree.files.get(f"{folder}/BUILD", "")
    return any(f'"{known}"' in text for known in (name, name.removesuffix("_test")))


def _faults(mutant, tree, suites):
    if not _has_target(tree, mutant.label):
        yield f"there is no {mutant.label}"
    if not _has_test(suites, mutant.test_filter):
        yield f"no test matches {mutant.test_filter}"
    changed = {}
    try:
        for edit in mutant.edits:
            code = changed.get(edit.file, tree.files.get(edit.file, ""))
            changed[edit.file] = mutant_table.apply(edit, code)
    except ValueError as error:
        yield str(error)


def mutants(tree):
    suites = tests_of(tree)
    first_uses = {}
    for path, text in sorted(tree.files.items()):
        if not (path.startswith("tests/mutants/") and path.endswith(".toml")):
            continue
        try:
            table = mutant_table.parse(text)
        except ValueError as error:
            yield path, 1, str(error)
            continue
        for mutant in table:
            line = text[:text.index(f"[{mutant.name}]")].count("\n") + 1
            if first_uses.setdefault(mutant.name, path) != path:
                yield path, line, f"{mutant.name} is in {first_uses[mutant.name]} too"
            for fault in _faults(mutant, tree, suites):
                yield path, line, f"{mutant.name}: {fault}"
