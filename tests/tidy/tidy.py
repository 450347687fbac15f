"""Checks the checkout that this file lies in against rules.py; prints file:line: rule: message."""

import os
import sys

from rules import Tree, check

FOLDERS = ["rcu", "threads", "sunrpc_auth", "access_cache", "nfsclient", "tests", "bench", "docs", "third_party",
           ".ci"]
TEXT_ENDS = (".cc", ".h", ".py", ".sh", ".md", ".txt", ".bzl", "BUILD", ".BUILD", "WORKSPACE", "run",
             ".bazelrc", ".toml")


def paths_below(root):
    """Every file at the top of `root` and below its FOLDERS, as a path from `root`."""
    yield from (name for name in os.listdir(root) if os.path.isfile(os.path.join(root, name)))
    for folder in FOLDERS:
        for directory, below, names in os.walk(os.path.join(root, folder)):
            below[:] = [name for name in below if name != "__pycache__"]
            for name in names:
                yield os.path.relpath(os.path.join(directory, name), root)


def entries(text):
    """The lines of a list without blank ones and # comments."""
    lines = (line.split("#")[0].strip() for line in text.splitlines())
    return [line for line in lines if line]


def read_exceptions(text):
    """[(rule, path)] of limits.txt, where a reason must stand behind them."""
    exceptions = []
    for line in entries(text):
        words = line.split(maxsplit=2)
        if len(words) < 3:
            raise SystemExit(f'tests/tidy/limits.txt: "{line}" lacks a reason')
        exceptions.append((words[0], words[1]))
    return exceptions


def read_tree(root):
    files, others = {}, []
    for path in paths_below(root):
        if not path.endswith(TEXT_ENDS):
            others.append(path)
            continue
        with open(os.path.join(root, path), encoding="utf-8") as file:
            files[path] = file.read()
    return Tree(files, entries(files["tests/tidy/lockfree_files.txt"]), others)


def main():
    # The real path: what Bazel shows a test is a farm of links to some of the files.
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
    tree = read_tree(root)
    floor = 20
    if len(tree.cxx()) < floor:
        raise SystemExit(f"{root} holds {len(tree.cxx())} C++ files; is it the checkout?")
    violations = check(tree, read_exceptions(tree.files["tests/tidy/limits.txt"]))
    for violation in violations:
        print(violation)
    print(f"{len(tree.files)} files, {len(violations)} violations")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
