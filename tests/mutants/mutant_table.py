"""Reads the tables of mutants in this folder and applies them to the code.

Each *.toml file is about one subject. A mutant is a table whose key is its name:

    [negative-dentry-survives-change]
    invariant = "A negative dentry is trusted only while the change id of its directory matches."
    red = ["//tests/unit/nfsclient/nfs:revalidate_test", "NegativeDentry.AnotherChangeId*"]
    file = "nfsclient/nfs/revalidate.h"
    find = "if (dentry.verifier"
    replace = "if (inode != nullptr && dentry.verifier"

`red` is the test that fails and the filter that selects it. `rule` (optional) is an id of docs/rules/.
`find` is code, which occurs once in the file; comments and white space do not count. A mutant of several
edits has `edits`, an array of {file, find, replace}, in place of the last three keys.
"""

import re
import tomllib
from typing import NamedTuple

_COMMENT = re.compile(
    r'(?P<keep>R"(?P<tag>[^()\\\s]{0,16})\(.*?\)(?P=tag)"'
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+')"
    r"|//(?:\\\n|[^\n])*"
    r"|/\*.*?\*/",
    re.DOTALL)
_TOKEN = re.compile(r"\w+|[^\w\s]")
_EDIT_KEYS = {"file", "find", "replace"}


class Edit(NamedTuple):
    file: str
    find: str
    replace: str


class Mutant(NamedTuple):
    name: str
    invariant: str
    rule: str
    label: str
    test_filter: str
    edits: list


def parse(text):
    """The mutants of one table. Raises ValueError if it is malformed."""
    mutants = []
    for name, table in tomllib.loads(text).items():
        if not isinstance(table, dict):
            raise ValueError(f"{name}: is no table [name]")
        unknown = set(table) - {"invariant", "rule", "red", "edits"} - _EDIT_KEYS
        edits = table.get("edits", [{key: table[key] for key in _EDIT_KEYS & set(table)}])
        if unknown or any(set(edit) != _EDIT_KEYS for edit in edits):
            raise ValueError(f"{name}: needs file, find and replace, and knows no {sorted(unknown)}")
        label, test_filter = table.get("red", ("", ""))
        if not label.startswith("//") or not test_filter or not table.get("invariant"):
            raise ValueError(f'{name}: needs an invariant and red = ["//label", "filter"]')
        mutants.append(Mutant(name, table["invariant"], table.get("rule", ""), label, test_filter,
                              [Edit(**edit) for edit in edits]))
    return mutants


def _without_comments(code):
    """`code` with comments as blanks of the same length."""
    return _COMMENT.sub(lambda match: match["keep"] or re.sub(r"[^\n]", " ", match.group()), code)


def places(find, code):
    """[(begin, end)] of each occurrence of `find` in `code`."""
    tokens = _TOKEN.findall(find)
    pattern = ""
    for token, following in zip(tokens, tokens[1:] + [""]):
        both_words = re.match(r"\w", token) and re.match(r"\w", following)
        pattern += re.escape(token) + (r"\s+" if both_words else r"\s*" if following else "")
    if not pattern:
        return []
    begin = r"\b" if re.match(r"\w", tokens[0]) else ""
    end = r"\b" if re.match(r"\w", tokens[-1]) else ""
    return [match.span() for match in re.finditer(begin + pattern + end, _without_comments(code))]


def apply(edit, code):
    """`code` with the edit made. Raises ValueError unless `find` occurs once."""
    found = places(edit.find, code)
    if len(found) != 1:
        raise ValueError(f"occurs {len(found)} times in {edit.file}: {edit.find}")
    (begin, end), = found
    return code[:begin] + edit.replace + code[end:]
