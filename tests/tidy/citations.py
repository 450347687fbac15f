"""What code, tests and documents may cite, and that it is there: rules, letters, tests, files."""

import posixpath
import re

PREFIXES = ["NAME", "ATTR", "ACCESS", "CRED", "WALK", "INODE", "WIRE"]  # a page of docs/rules each

_ID = r"(?:" + "|".join(PREFIXES) + r")-[0-9]+"
_RULE = re.compile(rf"^\*\*({_ID})\*\* ", re.MULTILINE)
_CITED = re.compile(rf"\b{_ID}\b")
# `Suite.Case` or `Suite.*` in a document.
_NAMED_TEST = re.compile(r"`([A-Z]\w*)\.([A-Z]\w*|\*)`")
# `icache/inode.h`, with or without the nfsclient/ in front of it; `inode.h`, wherever it is.
_NAMED_FILE = re.compile(r"`([\w.-]+(?:/[\w.-]+)*\.(?:h|cc|py|sh|md|toml|bzl))\b")
_NAMED_TARGET = re.compile(r"`(?:bazel \w+ )?//([\w/.-]+):(\w+)`")
# `--files 1000000`, alone or in a command; those of other programs are theirs.
_CODE_SPAN = re.compile(r"`([^`\n]+)`")
_NAMED_OPTION = re.compile(r"(?<![\w-])--([a-z][\w-]*)")
_OTHER_PROGRAMS = ("bazel ", "apt ", "git ", "du ")
_TEST = re.compile(r"\b(?:TEST|TEST_F|TEST_P|TYPED_TEST|TYPED_TEST_P)\(\s*(\w+),\s*(\w+)\)")
# The class tells a suite from the other dotted names that documents are full of.
_SUITE_END = re.compile(r"(Test|Race|Bugs|Stress|Walk|Faults|Exits|Oracle)\w*$")
# Notes that the project was drawn from and that do not ship.
_UNSHIPPED = re.compile(
    r"\b(?:vfs_walk|nfs_semantics|icache|libnfs_ganesha|style_anchors)(?:\.md)?,?\s+(?:bugs?\s+)?[0-9]"
    r"|\b(?:nfs_semantics|libnfs_ganesha|style_anchors)\b|\(design\s+[0-9]")
_LETTER = re.compile(r"\b[Tt]he\s+((?:[\w-]+\s+){0,4}?)letter\b(?!s)")
_LISTED_LETTER = re.compile(r"^\| the (.+?) letter \|", re.MULTILINE)
# Letters of the alphabet.
_ALPHABET = ("nfsclient/cli/", "docs/man/", "docs/completion/")
_LINE_END = re.compile(r"\n[ \t]*(?://+|#|\*)?")


def _flat(text):
    """`text` without line ends and the marks of comments; every other character keeps its place."""
    return _LINE_END.sub(lambda match: " " * len(match.group()), text)


def _line(text, at):
    return text.count("\n", 0, at) + 1


def _citing(tree):
    """The files that may cite; the rules of tidy itself and their tests speak of citations."""
    return [(path, text) for path, text in tree.files.items() if not path.startswith("tests/tidy/")]


def tests_of(tree):
    """{suite: {case}} of every GoogleTest case."""
    suites = {}
    for path, text in tree.cxx():
        if path.startswith(("tests/", "bench/")):
            for suite, case in _TEST.findall(text):
                suites.setdefault(suite, set()).add(case)
    return suites


def named_tests(tree):
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


def _documents(tree):
    return [(path, text) for path, text in tree.files.items()
            if path.endswith(".md") and (path.startswith("docs/") or "/" not in path)]


def named_files(tree):
    names = {posixpath.basename(path) for path in [*tree.files, *tree.other_paths]}
    for path, text in _documents(tree):
        for match in _NAMED_FILE.finditer(text):
            file = match.group(1)
            is_there = (tree.exists(file) or tree.exists(f"nfsclient/{file}")) if "/" in file else file in names
            if not is_there:
                yield path, _line(text, match.start()), f"there is no file {file}"


def named_targets(tree):
    for path, text in _documents(tree):
        for match in _NAMED_TARGET.finditer(text):
            package, target = match.groups()
            # The name of a rule, or one of a list that a macro takes.
            if f'"{target}"' not in tree.files.get(f"{package}/BUILD", ""):
                yield path, _line(text, match.start()), f"there is no target //{package}:{target}"


def named_options(tree):
    code = [text for path, text in tree.files.items()
            if not path.startswith("docs/") and not path.endswith(".md")]
    known = {option for text in code for option in _NAMED_OPTION.findall(text)}
    for path, text in _documents(tree):
        for span in _CODE_SPAN.finditer(text):
            if span.group(1).startswith(_OTHER_PROGRAMS):
                continue
            for option in _NAMED_OPTION.findall(span.group(1)):
                if option not in known:
                    yield path, _line(text, span.start()), f"there is no option --{option}"


def rules_of(tree):
    """[(id, path, line, text up to the next rule)] of docs/rules/, in the order of the pages."""
    found = []
    for path, text in tree.files.items():
        if not (path.startswith("docs/rules/") and path.endswith(".md")):
            continue
        starts = list(_RULE.finditer(text))
        ends = [match.start() for match in starts[1:]] + [len(text)]
        found += [(match.group(1), path, _line(text, match.start()), text[match.start():end])
                  for match, end in zip(starts, ends)]
    return found


def rules(tree):
    defined = rules_of(tree)
    known = {rule for rule, *_ in defined}
    seen, cited_by_tests = set(), set()
    for path, text in _citing(tree):
        for match in _CITED.finditer(text):
            if match.group() not in known:
                yield path, _line(text, match.start()), f"there is no rule {match.group()}"
            elif path.startswith("tests/") and path.endswith(("_test.cc", "_test.py")):
                cited_by_tests.add(match.group())
    for rule, path, line, text in defined:
        if rule in seen:
            yield path, line, f"{rule} is there twice"
        seen.add(rule)
        if not re.search(r"^Source: \S", text, re.MULTILINE):
            yield path, line, f'{rule} has no line "Source: ..."'
        if rule not in cited_by_tests:
            yield path, line, f"no test cites {rule}"


def unshipped(tree):
    for path, text in _citing(tree):
        for match in _UNSHIPPED.finditer(_flat(text)):
            yield path, _line(text, match.start()), f'"{match.group()}" does not ship; cite a source'


def letters(tree):
    listed = set(_LISTED_LETTER.findall(tree.files.get("docs/research/letters.md", "")))
    for path, text in _citing(tree):
        if path.startswith(_ALPHABET):
            continue
        for match in _LETTER.finditer(_flat(text)):
            subject = " ".join(match.group(1).split())
            if subject not in listed:
                yield (path, _line(text, match.start()),
                       f'"the {subject} letter" is not in docs/research/letters.md' if subject else
                       "name the letter by its subject in docs/research/letters.md")
